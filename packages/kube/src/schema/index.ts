export type { KindAlias, ResolvedAlias } from './aliases.ts';
export * from './builder.ts';
export * from './builder-kubernetes.ts';
export { checkCrd } from './check-crd.ts';
export { checkNames } from './check-crd-names.ts';
export { type BreakingChange, type BreakingChangeType, compareCrds, compareSchemas } from './compare-schemas.ts';
export { type CrdVersion, type PrinterColumn, pluralOf } from './crd.ts';
export { applyDefaults, compileDefaults, type Defaulter } from './defaults.ts';
export * from './define-kind.ts';
export { describeKind } from './describe-kind.ts';
export { validateEmbeddedResources } from './embedded-resource.ts';
export { SchemaError, type SchemaErrorCode } from './errors.ts';
export * from './field-error.ts';
export { schemaAtPath } from './field-path.ts';
export { goRegExp } from './go-regexp.ts';
export {
  equalJson,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonType,
  schemaOfField,
} from './json-schema.ts';
export { correlateItems, validateListTypes } from './list-map.ts';
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
export { type CheckStructuralOptions, checkStructural } from './structural.ts';
export { type ObjectValidateOptions, type ObjectValidator, objectValidator } from './validate-object.ts';
export {
  compileValidator,
  type SchemaValidateOptions,
  type SchemaValidator,
  validateSchema,
} from './validate-schema.ts';
