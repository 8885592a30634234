// The invariants of a structural schema: every value has a type, junctors only restrict fields that are specified outside of them, and
// metadata is Kubernetes' own.
import { type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts';
import { equalJson, type JsonSchema } from '../schema/json-schema.ts';
import { goRegExp } from '../schema/validation/go-regexp.ts';

type Level = 'root' | 'item' | 'field';

/** Errors sorted by message, as the server sorts them. */
export function checkInvariants(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  checkNode(schema, 'root', path, errors);
  checkCompleteness(schema, schema, path, path, errors);
  return errors.sort((a, b) => (a.message < b.message ? -1 : 1));
}

const MISSING_TYPE: Record<Level, string> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function checkNode(schema: JsonSchema, level: Level, path: string, errors: FieldError[]): void {
  const { type = '', items, properties = {}, additionalProperties } = schema;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true;

  if (type === 'array' && !items) errors.push(requiredField(`${path}.items`, 'must be specified'));
  if (items) checkNode(items, 'item', `${path}.items`, errors);
  for (const [name, property] of Object.entries(properties)) {
    checkNode(property, 'field', `${path}.properties[${name}]`, errors);
  }
  if (additionalProperties !== undefined) {
    const at = `${path}.additionalProperties`;
    if (level === 'root') errors.push(forbiddenField(at, 'must not be used at the root'));
    if (typeof additionalProperties === 'object') checkNode(additionalProperties, 'field', at, errors);
    if (isEmbedded) errors.push(forbiddenField(at, 'must not be used if x-kubernetes-embedded-resource is set'));
  }

  if (isIntOrString) {
    const detail = 'must be false if x-kubernetes-int-or-string is true';
    if (preserves) errors.push(invalidField(`${path}.x-kubernetes-preserve-unknown-fields`, true, detail));
    if (isEmbedded) errors.push(invalidField(`${path}.x-kubernetes-embedded-resource`, true, detail));
  }
  const skipAnyOf = equalJson(schema.anyOf, INT_OR_STRING);
  const skipFirstAllOf = equalJson(schema.allOf?.[0]?.anyOf, INT_OR_STRING);
  checkJunctors(schema, skipAnyOf, skipFirstAllOf, path, errors);

  if (isEmbedded && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? requiredField(`${path}.type`, detail) : invalidField(`${path}.type`, type, detail));
  } else if (type === '' && !isIntOrString && !preserves) {
    errors.push(requiredField(`${path}.type`, MISSING_TYPE[level]));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(invalidField(`${path}.type`, type, 'must be object at the root'));
  }
  checkMeta(schema, level, path, errors);
  if (isEmbedded && !preserves && Object.keys(properties).length === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(requiredField(`${path}.properties`, detail));
  }
}

// The two ways in which an int-or-string may spell its types out.
const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];

function checkMeta(schema: JsonSchema, level: Level, path: string, errors: FieldError[]): void {
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  const { apiVersion, kind, metadata } = schema.properties ?? {};
  for (const [name, property] of Object.entries({ kind, apiVersion })) {
    if (isResource && property && property.type !== 'string') {
      errors.push(invalidField(`${path}.properties[${name}].type`, property.type ?? '', 'must be string'));
    }
  }
  if (!metadata) return;
  const at = `${path}.properties[metadata]`;
  if (isResource && metadata.type !== 'object') {
    errors.push(invalidField(`${at}.type`, metadata.type ?? '', 'must be object'));
  }
  if (level !== 'root') return;
  const { type: _, default: __, properties, ...more } = metadata;
  const restrictsNamesOnly = Object.keys(properties ?? {}).every((name) => name === 'name' || name === 'generateName');
  if (!restrictsNamesOnly || Object.keys(more).length > 0) {
    const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    errors.push(forbiddenField(at, detail));
  }
}

function checkJunctors(
  schema: JsonSchema,
  skipAnyOf: boolean,
  skipFirstAllOf: boolean,
  path: string,
  errors: FieldError[],
): void {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern } = schema;
  if (!skipAnyOf)
    for (const [index, branch] of anyOf.entries()) checkNested(branch, false, `${path}.anyOf[${index}]`, errors);
  for (const [index, branch] of allOf.entries()) {
    checkNested(branch, skipFirstAllOf && index === 0, `${path}.allOf[${index}]`, errors);
  }
  for (const [index, branch] of oneOf.entries()) checkNested(branch, false, `${path}.oneOf[${index}]`, errors);
  if (not) checkNested(not, false, `${path}.not`, errors);
  if (pattern) {
    try {
      goRegExp(pattern);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      errors.push(invalidField(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${reason}`));
    }
  }
}

const FORBIDDEN_NESTED: readonly [keyword: keyof JsonSchema, detail: string][] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

function checkNested(schema: JsonSchema, skipAnyOf: boolean, path: string, errors: FieldError[]): void {
  checkJunctors(schema, skipAnyOf, false, path, errors);
  if (schema.items) checkNested(schema.items, false, `${path}.items`, errors);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checkNested(property, false, `${path}.properties[${name}]`, errors);
  }
  for (const [keyword, detail] of FORBIDDEN_NESTED) {
    const value = schema[keyword];
    const isEmpty =
      value === undefined || value === false || value === '' || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) errors.push(forbiddenField(`${path}.${keyword}`, detail));
  }
  if (schema.properties?.['metadata']) {
    errors.push(forbiddenField(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  }
}

// Fields that a junctor of the root restricts must also be specified outside of it.
function checkCompleteness(
  validation: JsonSchema,
  schema: JsonSchema,
  schemaPath: string,
  path: string,
  errors: FieldError[],
): void {
  const branches: [JsonSchema | undefined, string][] = [
    [validation.not, `${path}.not`],
    ...(['allOf', 'anyOf', 'oneOf'] as const).flatMap((junctor) =>
      (validation[junctor] ?? []).map((branch, index): [JsonSchema, string] => [
        branch,
        `${path}.${junctor}[${index}]`,
      ]),
    ),
  ];
  for (const [branch, at] of branches) if (branch) checkNestedCompleteness(branch, schema, schemaPath, at, errors);
}

function checkNestedCompleteness(
  nested: JsonSchema,
  schema: JsonSchema | undefined,
  schemaPath: string,
  path: string,
  errors: FieldError[],
): void {
  if (!schema) {
    errors.push(requiredField(schemaPath, `because it is defined in ${path}`));
    return;
  }
  checkCompleteness(nested, schema, schemaPath, path, errors);
  if (nested.items) checkNestedCompleteness(nested.items, schema.items, `${schemaPath}.items`, `${path}.items`, errors);
  for (const [name, property] of Object.entries(nested.properties ?? {})) {
    const step = `.properties[${name}]`;
    checkNestedCompleteness(property, schema.properties?.[name], schemaPath + step, path + step, errors);
  }
}
