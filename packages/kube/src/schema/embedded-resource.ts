import { validateLabelValue, validateQualifiedName } from '../names.ts';
import { type FieldError, invalidField, requiredField } from './field-error.ts';
import { isJsonArray, isJsonObject, type JsonObject, type JsonSchema, schemaOfField } from './json-schema.ts';

/** Checks apiVersion, kind and metadata of the objects that a schema marks with x-kubernetes-embedded-resource. */
export function validateEmbeddedResources(schema: JsonSchema, value: unknown, path = ''): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, value, path, errors);
  return errors;
}

/** Whether a schema has an embedded resource anywhere. */
export function hasEmbeddedResources(schema: JsonSchema): boolean {
  if (schema['x-kubernetes-embedded-resource']) return true;
  const { items, properties, additionalProperties } = schema;
  if (items && hasEmbeddedResources(items)) return true;
  if (typeof additionalProperties === 'object' && hasEmbeddedResources(additionalProperties)) return true;
  return Object.values(properties ?? {}).some(hasEmbeddedResources);
}

function visit(schema: JsonSchema, value: unknown, path: string, errors: FieldError[]): void {
  if (isJsonArray(value)) {
    if (!schema.items) return;
    for (const [index, item] of value.entries()) visit(schema.items, item, `${path}[${index}]`, errors);
  } else if (isJsonObject(value)) {
    if (schema['x-kubernetes-embedded-resource']) validateTypeAndMetadata(value, path, errors);
    for (const [field, part] of Object.entries(value)) {
      const below = schemaOfField(schema, field);
      if (!below) continue;
      const isProperty = schema.properties !== undefined && Object.hasOwn(schema.properties, field);
      visit(below, part, isProperty ? child(path, field) : `${path}[${field}]`, errors);
    }
  }
}

function validateTypeAndMetadata(object: JsonObject, path: string, errors: FieldError[]): void {
  const { apiVersion, kind, metadata } = object;
  const at = (field: string) => child(path, field);
  if (apiVersion === undefined) errors.push(requiredField(at('apiVersion')));
  else if (typeof apiVersion !== 'string') errors.push(invalidField(at('apiVersion'), apiVersion, 'must be a string'));
  else if (apiVersion === '') errors.push(invalidField(at('apiVersion'), apiVersion, 'must not be empty'));
  else if (apiVersion.split('/').length > 2) {
    errors.push(invalidField(at('apiVersion'), apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  }
  if (kind === undefined) errors.push(requiredField(at('kind')));
  else if (typeof kind !== 'string') errors.push(invalidField(at('kind'), kind, 'must be a string'));
  else if (kind === '') errors.push(invalidField(at('kind'), kind, 'must not be empty'));
  else if (!isDns1035Label(kind.toLowerCase())) {
    errors.push(invalidField(at('kind'), kind, `may have mixed case, but should otherwise match: ${DNS_1035_MESSAGE}`));
  }
  if (metadata !== undefined && !isJsonObject(metadata)) {
    errors.push(invalidField(at('metadata'), metadata, 'must be an object'));
  } else if (isJsonObject(metadata) && isJsonObject(metadata['labels'])) {
    const labels = at('metadata.labels');
    for (const [key, value] of Object.entries(metadata['labels'])) {
      for (const problem of validateQualifiedName(key)) errors.push(invalidField(labels, key, problem));
      if (typeof value !== 'string') continue;
      for (const problem of validateLabelValue(value)) errors.push(invalidField(labels, value, problem));
    }
  }
}

function child(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`;
}

export function isDns1035Label(name: string): boolean {
  return name.length <= 63 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name);
}

export const DNS_1035_MESSAGE =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an " +
  "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
