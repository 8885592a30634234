export * from './diff.ts';
export * from './input.ts';
export * from './template-origin.ts';
export * from './writes.ts';
