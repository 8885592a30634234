// The entry point for programs that only read values: schemas of fields with defaults and types, durations, names, JSON. Kinds, rules and
// clients are not exported here, because a command that reads a file and ends starts in half the time without them.
export * from './client/back-off.ts';
export * from './clock.ts';
export * from './duration.ts';
export * from './errors.ts';
export * from './json/index.ts';
export * from './names.ts';
export { compileRegexp } from './regexp/index.ts';
export * from './schema/builder.ts';
export { applyDefaults } from './schema/defaults.ts';
export * from './schema/field-error.ts';
export { isJsonObject, type JsonObject, type JsonSchema } from './schema/json-schema.ts';
export type { InputOf, TypeOf } from './schema/schema-type.ts';
export { compileValidator } from './schema/validation/validate-schema.ts';
