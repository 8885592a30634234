export * from './kinds/index.ts';
export * from './maintenance/index.ts';
export { createGimbal, default, type GimbalOptions } from './operator.ts';
