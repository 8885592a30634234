export * from './configuration/index.ts';
export * from './kinds/index.ts';
export { createSesame, default } from './operator.ts';
export { DEFAULT_ENVOY_IMAGE, DEFAULT_IMAGE, defaultSettings, type Settings, settingsFromFlags } from './settings.ts';
