import type { Kind } from '../kind.ts';
import { hasEmbeddedResources, validateEmbeddedResources } from './embedded-resource.ts';
import { type FieldError, invalidField, NO_FIELD } from './field-error.ts';
import { isJsonObject, type JsonSchema } from './json-schema.ts';
import { type EvaluateRule, hasRules, validateRules } from './rules.ts';
import { compileListTypes } from './validation/list-map.ts';
import { compileValidator } from './validation/validate-schema.ts';

export interface ObjectValidateOptions {
  /** Evaluates CEL rules. Without it objectValidator leaves them to the API server; a defined kind has its own evaluator. */
  evaluateRule?: EvaluateRule;
  /** The errors that the caller found in the metadata, which may prevent the check of rules. Default: none. */
  found?: readonly { readonly type: string }[];
  /** Other errors that the caller found. They come before the rules and may prevent their check. Default: none. */
  besides?: readonly FieldError[];
}

export type ObjectValidator = (object: unknown, old?: unknown, options?: ObjectValidateOptions) => FieldError[];

/**
 * Checks a custom object without its metadata in the order of an API server: type, schema, embedded resources, list types, rules. On
 * updates, errors in unchanged values are accepted.
 */
export function objectValidator(schema: JsonSchema, kind?: Pick<Kind, 'apiVersion' | 'kind'>): ObjectValidator {
  const validate = compileValidator(schema);
  const embedded = hasEmbeddedResources(schema);
  const listTypes = compileListTypes(schema);
  const rules = hasRules(schema);

  return (object, old, options) => {
    const errors = validate(object, old === undefined ? undefined : { old });
    if (kind) errors.unshift(...checkType(kind, object));
    if (embedded) for (const error of validateEmbeddedResources(schema, object)) errors.push(error);
    if (listTypes) {
      const before: FieldError[] = [];
      if (old !== undefined) listTypes(old, '', before);
      if (before.length === 0) listTypes(object, '', errors);
    }
    for (const error of options?.besides ?? []) errors.push(error);
    if (rules && options?.evaluateRule) {
      const all: readonly { readonly type: string }[] = [...(options.found ?? []), ...errors];
      if (all.some(({ type }) => BLOCKS_RULES.includes(type))) errors.push(RULES_NOT_CHECKED);
      else for (const error of validateRules(schema, object, options.evaluateRule, old)) errors.push(error);
    }
    return errors;
  };
}

// A rule may rely on its values having the right types and sizes.
const BLOCKS_RULES: readonly string[] = [
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
];

const RULES_NOT_CHECKED = invalidField(
  NO_FIELD,
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);

function checkType(kind: Pick<Kind, 'apiVersion' | 'kind'>, object: unknown): FieldError[] {
  if (!isJsonObject(object)) return [];
  const errors: FieldError[] = [];
  if (object['kind'] !== kind.kind) errors.push(invalidField('kind', object['kind'] ?? '', `must be ${kind.kind}`));
  if (object['apiVersion'] !== kind.apiVersion) {
    errors.push(invalidField('apiVersion', object['apiVersion'] ?? '', `must be ${kind.apiVersion}`));
  }
  return errors;
}
