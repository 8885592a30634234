export * from './kinds/index.ts';
export * from './policy/index.ts';
export * from './resolution/index.ts';
