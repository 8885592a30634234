export * from './configuration/index.ts';
export * from './kinds/index.ts';
