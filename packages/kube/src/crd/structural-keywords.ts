// Checks the keywords of a structural schema: some are not supported by the server, and some extensions contradict each other or the type.
import type { JSONSchemaProps, ValidationRule } from '../builtin/index.ts';
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedValue,
} from '../schema/field-error.ts';
import { schemaAtPath } from '../schema/field-path.ts';
import type { JsonSchema } from '../schema/json-schema.ts';

/** The first keyword for which the server cannot even build a structural schema, as it words it. */
export function firstUnsupportedKeyword(schema: JSONSchemaProps): string | undefined {
  const keyword = UNSUPPORTED.find(([name]) => isSet(schema[name]));
  if (keyword) return `OpenAPIV3Schema '${keyword[1]}' is not supported`;
  if (Array.isArray(schema.items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  for (const [, child] of childrenOf(schema)) {
    const found = firstUnsupportedKeyword(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

const UNSUPPORTED: readonly [keyword: keyof JSONSchemaProps, name: string][] = [
  ['id', 'id'],
  ['$schema', 'schema'],
  ['$ref', '$ref'],
  ['patternProperties', 'patternProperties'],
  ['dependencies', 'dependencies'],
  ['additionalItems', 'additionalItems'],
  ['definitions', 'definitions'],
];

function isSet(value: unknown): boolean {
  if (value === undefined || value === '' || value === null) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Context that a node inherits. */
interface Context {
  isRoot: boolean;
  insideMeta: boolean;
  /** Why defaults are forbidden here, if they are. */
  noDefaults?: string;
}

export function checkKeywords(
  schema: JSONSchemaProps,
  path: string,
  context: Context = { isRoot: true, insideMeta: false },
): FieldError[] {
  const errors = [
    ...checkSupported(schema, path, context),
    ...checkProperties(schema, path),
    ...checkExtensions(schema, path),
    ...checkListMap(schema, path),
    ...checkSetAndMapItems(schema, path),
    ...(schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) =>
      checkRule(rule, schema, `${path}.x-kubernetes-validations[${index}]`),
    ),
  ];
  const isResource = context.isRoot || schema['x-kubernetes-embedded-resource'] === true;
  for (const [step, child, name] of childrenOf(schema)) {
    const below: Context = { ...context, isRoot: false };
    if (step === '.additionalProperties' && context.insideMeta) {
      below.noDefaults = 'inside additionalProperties applying to object metadata';
    }
    if (isResource && name !== undefined && ['metadata', 'kind', 'apiVersion'].includes(name)) {
      below.insideMeta = true;
      if (context.isRoot) below.noDefaults = `in top-level ${name}`;
    }
    errors.push(...checkKeywords(child, path + step, below));
  }
  return errors;
}

function childrenOf(schema: JSONSchemaProps): [step: string, child: JSONSchemaProps, property?: string][] {
  const children: [string, JSONSchemaProps, string?][] = [];
  const { additionalProperties, items, not } = schema;
  if (typeof additionalProperties === 'object') children.push(['.additionalProperties', additionalProperties]);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    children.push([`.properties[${name}]`, property, name]);
  }
  if (not) children.push(['.not', not]);
  for (const junctor of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [index, branch] of (schema[junctor] ?? []).entries()) children.push([`.${junctor}[${index}]`, branch]);
  }
  if (Array.isArray(items)) for (const [index, item] of items.entries()) children.push([`.items[${index}]`, item]);
  else if (items) children.push(['.items', items]);
  return children;
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function checkSupported(schema: JSONSchemaProps, path: string, context: Context): FieldError[] {
  const errors: FieldError[] = [];
  const { type } = schema;
  if (type && !TYPES.includes(type)) errors.push(unsupportedValue(`${path}.type`, type, TYPES));
  if (schema.default !== undefined && context.noDefaults !== undefined) {
    errors.push(forbiddenField(`${path}.default`, `must not be set ${context.noDefaults}`));
  }
  for (const keyword of [
    'id',
    'additionalItems',
    'patternProperties',
    'definitions',
    'dependencies',
    '$ref',
  ] as const) {
    if (isSet(schema[keyword])) errors.push(forbiddenField(`${path}.${keyword}`, `${keyword} is not supported`));
  }
  if (type === 'null') {
    errors.push(forbiddenField(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
  if (Array.isArray(schema.items)) {
    errors.push(forbiddenField(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (context.insideMeta && schema['x-kubernetes-embedded-resource']) {
    errors.push(forbiddenField(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  }
  return errors;
}

function checkProperties(schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.uniqueItems) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    errors.push(forbiddenField(`${path}.uniqueItems`, detail));
  }
  const { additionalProperties, properties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== true && isSet(properties)) {
    const detail = 'additionalProperties and properties are mutual exclusive';
    errors.push(forbiddenField(`${path}.additionalProperties`, detail));
  }
  return errors;
}

function checkExtensions(schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { type } = schema;
  const mapType = schema['x-kubernetes-map-type'];
  const listType = schema['x-kubernetes-list-type'];
  const mustBe = (expected: string, extension: string) => {
    const detail = `must be ${expected} if ${extension} is specified`;
    return type ? invalidField(`${path}.type`, type, detail) : requiredField(`${path}.type`, detail);
  };
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(invalidField(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  if (mapType !== undefined) {
    if (type !== 'object') errors.push(mustBe('object', 'x-kubernetes-map-type'));
    if (mapType !== 'atomic' && mapType !== 'granular') {
      errors.push(unsupportedValue(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
    }
  }
  if (listType !== undefined) {
    if (type !== 'array') errors.push(mustBe('array', 'x-kubernetes-list-type'));
    else if (listType === 'set') errors.push(...checkSetItems(schema, path));
    if (!['atomic', 'set', 'map'].includes(listType)) {
      errors.push(unsupportedValue(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']));
    }
  }
  return errors;
}

function checkSetItems(schema: JSONSchemaProps, path: string): FieldError[] {
  const { items } = schema;
  if (!items || Array.isArray(items)) return [];
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = items['x-kubernetes-list-type'];
  const mapType = items['x-kubernetes-map-type'];
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalidField(`${path}.items.x-kubernetes-list-type`, listType, detail)];
  }
  if (items.type === 'object' && mapType !== 'atomic') {
    // The server shows the list type here, which objects have none of.
    return [invalidField(`${path}.items.x-kubernetes-map-type`, listType ?? null, detail)];
  }
  return [];
}

function checkListMap(schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const at = `${path}.x-kubernetes-list-type`;
    errors.push(listType === undefined ? requiredField(at, detail) : invalidField(at, listType, detail));
  }
  if (listType !== 'map') return errors;
  const keysPath = `${path}.x-kubernetes-list-map-keys`;
  const { items } = schema;
  if (keys.length === 0) errors.push(requiredField(keysPath, 'must not be empty if x-kubernetes-list-type is map'));
  if (!items) errors.push(requiredField(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
  if (Array.isArray(items)) {
    const detail = 'must only have a single schema if x-kubernetes-list-type is map';
    errors.push(invalidField(`${path}.items`, items, detail));
  }
  if (!items || Array.isArray(items)) return errors;
  if (items.type !== 'object') {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.push(invalidField(`${path}.items.type`, items.type ?? '', detail));
    return errors;
  }
  for (const [index, key] of keys.entries()) {
    const property = items.properties?.[key];
    if (!property) errors.push(invalidField(keysPath, keys, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalidField(`${path}.items.properties[${key}].type`, items.type, detail));
    }
    if (keys.indexOf(key) < index) errors.push(invalidField(keysPath, keys, 'must not contain duplicate entries'));
  }
  return errors;
}

function checkSetAndMapItems(schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const listType = schema['x-kubernetes-list-type'];
  const { items } = schema;
  if (!items || Array.isArray(items) || (listType !== 'set' && listType !== 'map')) return errors;
  if (items.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.push(forbiddenField(`${path}.items.nullable`, detail));
  }
  if (listType !== 'map') return errors;
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = items.properties?.[key];
    if (!property) continue;
    const at = `${path}.items.properties[${key}]`;
    const because = 'this property is in x-kubernetes-list-map-keys, so it';
    if (!items.required?.includes(key) && property.default === undefined) {
      errors.push(requiredField(`${at}.default`, `${because} must have a default or be a required property`));
    }
    if (property.nullable) errors.push(forbiddenField(`${at}.nullable`, `${because} cannot be nullable`));
  }
  return errors;
}

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

function checkRule(rule: ValidationRule, schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { message = '', messageExpression = '', fieldPath = '', reason } = rule;
  const text = rule.rule.trim();
  const isBroken = (value: string) => /[\n\r]/.test(value);
  if (text === '') errors.push(requiredField(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '') {
    errors.push(invalidField(`${path}.message`, message, 'must be non-empty if specified'));
  } else if (isBroken(message.trim())) {
    errors.push(invalidField(`${path}.message`, message, 'must not contain line breaks'));
  } else if (isBroken(text) && message.trim() === '') {
    errors.push(requiredField(`${path}.message`, 'message must be specified if rule contains line breaks'));
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(requiredField(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    errors.push(unsupportedValue(`${path}.reason`, reason, REASONS));
  }
  if (fieldPath !== '' && fieldPath.trim() === '') {
    errors.push(invalidField(`${path}.fieldPath`, fieldPath, 'must be non-empty if specified'));
  }
  if (isBroken(fieldPath)) errors.push(invalidField(`${path}.fieldPath`, fieldPath, 'must not contain line breaks'));
  if (fieldPath !== '' && 'problem' in schemaAtPath(schema as JsonSchema, fieldPath)) {
    errors.push(invalidField(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
  }
  return errors;
}
