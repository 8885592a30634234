import type { JSONSchemaProps } from '../builtin/index.ts';
import { type FieldError, forbiddenField, invalidField, invalidStruct } from '../schema/field-error.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { EvaluateRule } from '../schema/rules.ts';
import { atOnce, type Steps } from '../schema/steps.ts';
import { goSchema } from './go-definition.ts';
import { defaultsInSteps } from './structural-defaults.ts';
import { checkInvariants } from './structural-invariants.ts';
import { checkKeywords, firstUnsupportedKeyword } from './structural-keywords.ts';

export interface CheckStructuralOptions {
  /** Where the schema lies in the manifest. Default `spec.validation.openAPIV3Schema`. */
  path?: string;
  /** With a status subresource some keywords are not allowed at the root. Default false. */
  hasStatusSubresource?: boolean;
  /** Checks defaults against the rules too. Default: they are not checked. */
  evaluateRule?: EvaluateRule;
}

/**
 * Returns the errors for which a schema is refused as the root of a CustomResourceDefinition's version: structure, keywords, extensions,
 * and defaults that would not survive pruning and validation. The list is empty for a valid JsonSchema. Rules are not compiled.
 */
export function checkStructural(schema: JSONSchemaProps, options: CheckStructuralOptions = {}): FieldError[] {
  return atOnce(structuralInSteps(schema, options));
}

/** Checks a schema as `checkStructural` does, and yields between its walks and defaults. */
export function* structuralInSteps(schema: JSONSchemaProps, options: CheckStructuralOptions = {}): Steps<FieldError[]> {
  const path = options.path ?? 'spec.validation.openAPIV3Schema';
  const errors: FieldError[] = [];
  if (options.hasStatusSubresource) errors.push(...checkRootKeywords(schema, path));
  if (schema.nullable) errors.push(forbiddenField(`${path}.nullable`, 'nullable cannot be true at the root'));

  const unsupported = firstUnsupportedKeyword(schema);
  if (unsupported === undefined) {
    const invariants = checkInvariants(schema as JsonSchema, path);
    yield;
    // Defaults are checked only where the structure holds, as everywhere in the server: errors in both would confuse.
    const { evaluateRule } = options;
    const isValid = invariants.length === 0;
    errors.push(...(isValid ? yield* defaultsInSteps(schema as JsonSchema, path, evaluateRule, true) : invariants));
    yield;
  }
  errors.push(...checkKeywords(schema, path));
  if (errors.length === 0 && unsupported !== undefined) errors.push(invalidField(path, '', unsupported));
  return errors;
}

/** Reports whether the structure of a schema and its defaults are valid. Other errors do not count. */
export function* structureInSteps(schema: JSONSchemaProps, evaluateRule?: EvaluateRule): Steps<boolean> {
  if (firstUnsupportedKeyword(schema) !== undefined) return false;
  const root = schema as JsonSchema;
  return checkInvariants(root, '').length === 0 && (yield* defaultsInSteps(root, '', evaluateRule, true)).length === 0;
}

// In the order and spelling of the server's message, which names Go fields.
const ALLOWED_AT_ROOT = (
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems ' +
  'UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations'
).split(' ');

function checkRootKeywords(schema: JSONSchemaProps, path: string): FieldError[] {
  if (schema.type !== undefined && schema.type !== 'object') {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalidField(`${path}.type`, schema.type, detail)];
  }
  const isAllowed = (keyword: string) => {
    const name = keyword
      .replace(/^x-kubernetes-/, 'x-')
      .replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
    return ALLOWED_AT_ROOT.includes(name);
  };
  if (Object.keys(schema).every(isAllowed)) return [];
  const detail = `only [${ALLOWED_AT_ROOT.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalidStruct(path, goSchema(schema as Record<string, unknown>), detail)];
}
