export * from './cel/index.ts';
export * from './cluster.ts';
export * from './crd/index.ts';
export * from './regexp/index.ts';
export * from './schema/index.ts';
