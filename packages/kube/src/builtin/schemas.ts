// The schemas of the built-in kinds as data, for server-side apply, strategic merge, field validation and `explain`. They are Kubernetes'
// own OpenAPI v3 schemas without descriptions. Two differences make them easier to walk: a reference is the bare name of a definition, and
// it may have siblings (`{"$ref": name, "default": {}}`). publishedSchema() converts them to the form that clients expect.
import { readFileSync } from 'node:fs';

export interface BuiltinSchema {
  /** The name of another definition. Siblings such as `default` also apply. */
  readonly $ref?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly properties?: Readonly<Record<string, BuiltinSchema>>;
  readonly items?: BuiltinSchema;
  readonly additionalProperties?: BuiltinSchema;
  readonly required?: readonly string[];
  /**
   * A default has two meanings, as in Kubernetes. It is a real default (`"TCP"`), or the zero value of a Go field that is always written
   * (`{}`, `""`, `0`, `false`). A zero value means that the field is not a pointer, not that a server sets it.
   */
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly oneOf?: readonly BuiltinSchema[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  /** `merge`, `retainKeys`, or both with a comma. */
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
  readonly 'x-kubernetes-unions'?: readonly {
    discriminator?: string;
    'fields-to-discriminateBy': Readonly<Record<string, string>>;
  }[];
}

/** Reads the definitions by name (`io.k8s.api.core.v1.Pod`). Each call returns a new copy, so callers load it once and keep it. */
export function loadBuiltinSchemas(): ReadonlyMap<string, BuiltinSchema> {
  const text = readFileSync(new URL('./gen/schemas.json', import.meta.url), 'utf8');
  // The cast is safe: the generator writes the file, and a test checks its shape.
  const { definitions } = JSON.parse(text) as { definitions: Record<string, BuiltinSchema> };
  return new Map(Object.entries(definitions));
}

/** Returns the definition that is served only as this group, version and kind. */
export function definitionOf(
  schemas: ReadonlyMap<string, BuiltinSchema>,
  kind: { group: string; version: string; kind: string },
): string | undefined {
  for (const [name, schema] of schemas) {
    const [served, ...more] = schema['x-kubernetes-group-version-kind'] ?? [];
    if (more.length > 0 || served?.kind !== kind.kind) continue;
    if (served.group === kind.group && served.version === kind.version) return name;
  }
  return undefined;
}

/** Returns the schema as in an OpenAPI 3.0 document: with full references, inside `allOf` if they have siblings. */
export function publishedSchema(schema: BuiltinSchema): Record<string, unknown> {
  const { $ref, properties, items, additionalProperties, ...rest } = schema;
  const reference = $ref === undefined ? undefined : { $ref: `#/components/schemas/${$ref}` };
  if (reference && Object.keys(schema).length === 1) return reference;
  return {
    ...(reference && { allOf: [reference] }),
    ...rest,
    ...(items && { items: publishedSchema(items) }),
    ...(additionalProperties && { additionalProperties: publishedSchema(additionalProperties) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, publishedSchema(value)])),
    }),
  };
}
