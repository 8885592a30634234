export * from './diff.ts';
export * from './input.ts';
export * from './writes.ts';
