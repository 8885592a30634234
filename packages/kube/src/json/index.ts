export * from './canonical.ts';
export * from './diff.ts';
export * from './equal.ts';
export * from './is-record.ts';
export * from './json-patch.ts';
export * from './json-pointer.ts';
export * from './merge-patch.ts';
export * from './share.ts';
