export * from './canonical.ts';
export * from './diff.ts';
export * from './equal.ts';
export * from './share.ts';
