// From the schema of the effective configuration to the one that an API server enforces: no defaults (they would be written into the
// user's object), null where a user leaves a value empty, and the other spellings that are accepted.
import type { JsonSchema } from '@capstan/kube';

/** Other spellings of a field, as upstream or the file have them; the normal form is computed when the object is read. */
export const FIELD_ALIASES: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  'xdsServer.tls': { insecure: { type: 'boolean', description: 'Alias of xdsServer.insecure.' } },
  ingress: {
    classNames: { type: 'array', items: { type: 'string' }, description: 'Alias of className, as a list.' },
  },
  'envoy.listener': {
    'per-connection-buffer-limit-bytes': {
      type: 'integer',
      format: 'int64',
      description: 'Alias of perConnectionBufferLimitBytes.',
    },
  },
  'envoy.cluster': {
    'per-connection-buffer-limit-bytes': {
      type: 'integer',
      format: 'int64',
      description: 'Alias of perConnectionBufferLimitBytes.',
    },
  },
  'envoy.logging': {
    accessLogJSONFields: { type: 'array', items: { type: 'string' }, description: 'Alias of jsonFields.' },
  },
};

/** Fields that are a text here and an object upstream: both are accepted. */
const TEXT_OR_OBJECT = new Set(['rateLimitService.extensionService', 'tracing.extensionService']);

/** The schema for the CRD. */
export function crdSchema(schema: JsonSchema, path = ''): JsonSchema {
  const { default: _default, properties, items, additionalProperties, required: _required, ...rest } = schema;
  const { description } = schema;
  if (TEXT_OR_OBJECT.has(path))
    return { 'x-kubernetes-preserve-unknown-fields': true, nullable: true, ...(description && { description }) };
  const aliases = FIELD_ALIASES[path] ?? {};
  const fields = Object.entries({ ...properties, ...aliases }).map(
    ([name, field]) => [name, crdSchema(field, path === '' ? name : `${path}.${name}`)] as const,
  );
  return {
    ...rest,
    ...(path !== '' && { nullable: true }),
    ...(properties && { properties: Object.fromEntries(fields) }),
    // Items and values of maps are never null.
    ...(items && { items: withoutNull(crdSchema(items, `${path}[]`)) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties }),
  };
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const { nullable: _nullable, ...rest } = schema;
  return rest;
}
