export { FLAGS } from './commands/flags.ts';
export { validateConfiguration } from './configuration/validate.ts';
export * from './kinds/index.ts';
export { createKroxylicious, default } from './operator.ts';
export { DEFAULT_SETTINGS, type Settings } from './settings.ts';
