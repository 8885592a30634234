export * from './kinds/index.ts';
export { createSubmariner, default } from './operator.ts';
export * from './policy/index.ts';
export * from './resolution/index.ts';
export { DEFAULT_SETTINGS, type Settings } from './settings.ts';
