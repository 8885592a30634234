export * from './derivation.ts';
export * from './fact.ts';
export * from './fold.ts';
export * from './kind-index.ts';
export * from './reader.ts';
export * from './source.ts';
