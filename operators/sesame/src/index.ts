export * from './configuration/index.ts';
export * from './kinds/index.ts';
export { createSesame, default } from './operator.ts';
export { DEFAULT_SETTINGS, FLAGS, type Settings } from './settings.ts';
