export * from './builder.ts';
export * from './builder-kubernetes.ts';
export { applyDefaults, compileDefaults, type Defaulter } from './defaults.ts';
export { validateEmbeddedResources } from './embedded-resource.ts';
export { SchemaError, type SchemaErrorCode } from './errors.ts';
export * from './field-error.ts';
export { schemaAtPath } from './field-path.ts';
export {
  equalJson,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonType,
  schemaOfField,
} from './json-schema.ts';
export { type Pruned, type PruneOptions, prune } from './prune.ts';
export {
  type EvaluateRule,
  hasRules,
  type RuleBudget,
  type RuleInput,
  type RuleOutcome,
  validateRules,
} from './rules.ts';
export type { InputOf, Presence, Schema, SchemaOptions, TypeOf } from './schema-type.ts';
export { type ObjectValidateOptions, type ObjectValidator, objectValidator } from './validate-object.ts';
export { goRegExp } from './validation/go-regexp.ts';
export { correlateItems, validateListTypes } from './validation/list-map.ts';
export {
  compileValidator,
  type SchemaValidateOptions,
  type SchemaValidator,
  validateSchema,
} from './validation/validate-schema.ts';
