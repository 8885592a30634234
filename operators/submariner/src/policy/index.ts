export * from './driver-names.ts';
export { validateOptions } from './driver-options.ts';
export * from './read-policy.ts';
export * from './read-yaml.ts';
export { optionsOfConfigMap } from './rule-options.ts';
export { formatSelector, parseSelectorText } from './selector.ts';
