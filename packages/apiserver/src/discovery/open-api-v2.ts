// OpenAPI v2 from the documents of v3: schemas that v2 cannot express are left out, so that old clients take their values for valid.
import { createHash } from 'node:crypto';
import type { ApiResponse } from '@capstan/kube';
import { isObject, type JsonObject } from '../json/copy.ts';
import { KUBERNETES_VERSION } from './about.ts';

/** The schemas of all documents in one. */
export function v2Answer(documents: readonly JsonObject[]): ApiResponse {
  const definitions: JsonObject = {};
  for (const { components } of documents) {
    const { schemas } = components as { schemas: JsonObject };
    for (const [name, schema] of Object.entries(schemas)) definitions[name] ??= rootInV2(schema as JsonObject);
  }
  const body = {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: `v${KUBERNETES_VERSION}` },
    paths: {},
    definitions,
  };
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex').toUpperCase();
  return { status: 200, headers: { 'content-type': 'application/json', etag: `"${hash}"` }, body };
}

/** Words of v3 alone, and values that no client of v2 fills in. */
const UNKNOWN = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'default']);

/** A kind that may have any field is an object about which nothing more is known. */
function rootInV2(schema: JsonObject): JsonObject {
  if (schema['x-kubernetes-preserve-unknown-fields'] !== true) return inV2(schema);
  const kinds = 'x-kubernetes-group-version-kind';
  return { type: 'object', [kinds]: schema[kinds] };
}

function inV2(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(schema)) {
    if (UNKNOWN.has(name)) continue;
    if (name === '$ref') result[name] = String(value).replace('#/components/schemas/', '#/definitions/');
    else if (name === 'properties' && isObject(value)) result[name] = mapped(value);
    else if ((name === 'items' || name === 'additionalProperties') && isObject(value)) result[name] = inV2(value);
    else if (name === 'allOf' && Array.isArray(value)) Object.assign(result, ...value.map(inV2));
    else result[name] = value;
  }
  // A value that may be null, or a number or a text, has no type there; nor has an object with fields that no schema names.
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema['nullable'] === true || isOpen) {
    for (const name of ['items', 'properties', 'additionalProperties']) delete result[name];
    if (schema['nullable'] === true) delete result['type'];
  }
  if (schema['x-kubernetes-int-or-string'] === true) delete result['type'];
  return result;
}

const mapped = (properties: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, isObject(one) ? inV2(one) : one]));
