// How the parts of an object merge and who may own them: the view that server-side apply and strategic merge take of a
// schema. Built from the OpenAPI definitions of built-in kinds and from the structural schemas of CRDs alike, lazily,
// because definitions may contain themselves.

import { type GoFields, unsetValue } from '../defaults/go-fields.ts';

export type TypeSchema = ScalarType | AtomicType | DeducedType | MapType | ListMapType | SetType;

export interface ScalarType {
  readonly shape: 'scalar';
  /** The scalar type that may be applied there; undefined: any scalar. */
  readonly of?: 'string' | 'numeric' | 'boolean';
}

/** A list or map that is owned and replaced as a whole. */
export interface AtomicType {
  readonly shape: 'atomic';
  /** The types inside all the same, for strategic merge and for finding unknown fields. */
  readonly item?: () => TypeSchema;
  readonly inside?: MapType;
}

/** No schema: maps merge by key, lists are atomic. */
export interface DeducedType {
  readonly shape: 'deduced';
}

/** An object whose members merge one by one: known fields, then (in a map) any other key. */
export interface MapType {
  readonly shape: 'map';
  readonly field: (name: string) => FieldType | undefined;
  readonly names: readonly string[];
  /** The type of unknown keys; undefined if the schema permits none. */
  readonly element: TypeSchema | undefined;
}

export interface FieldType {
  readonly type: TypeSchema;
  /** The value that Kubernetes writes for an unset field (`{}`, null or a zero); undefined: none. It has no owner. */
  readonly unset: unknown;
  readonly default: unknown;
  /** For strategic merge. */
  readonly patchStrategy: string;
  readonly patchMergeKey: string | undefined;
}

/** A list of objects, distinguished by some of their fields. */
export interface ListMapType {
  readonly shape: 'list-map';
  readonly keys: readonly string[];
  readonly item: () => TypeSchema;
}

/** A list of scalars, each at most once. */
export interface SetType {
  readonly shape: 'set';
  readonly item: () => TypeSchema;
}

export const SCALAR: ScalarType = { shape: 'scalar' };
const ATOMIC: AtomicType = { shape: 'atomic' };
export const DEDUCED: DeducedType = { shape: 'deduced' };

/** The keywords that matter here, of both kinds of schema. */
export interface SchemaSource {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaSource>>;
  readonly items?: SchemaSource;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaSource | boolean;
  readonly default?: unknown;
  readonly oneOf?: readonly unknown[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
}

export interface TypeCompiler {
  /** The type of a schema; the same schema gives the same type. */
  compile(schema: SchemaSource): TypeSchema;
  /** The type of a definition by its name. */
  definition(name: string): TypeSchema;
}

/**
 * A compiler whose references are looked up among these definitions. `goFields`: the schemas describe Go types, which write
 * some fields even when they are not set.
 */
export function createTypeCompiler(
  definitions: ReadonlyMap<string, SchemaSource>,
  goFields: GoFields = new Map(),
): TypeCompiler {
  const known = new Map<SchemaSource, TypeSchema>();

  const resolve = (schema: SchemaSource): SchemaSource => {
    if (schema.$ref === undefined) return schema;
    const target = definitions.get(schema.$ref);
    if (!target) return {};
    const mapType = schema['x-kubernetes-map-type'];
    return mapType === undefined ? resolve(target) : { ...resolve(target), 'x-kubernetes-map-type': mapType };
  };

  const compile = (source: SchemaSource): TypeSchema => {
    const done = known.get(source);
    if (done) return done;
    const type = source.$ref?.endsWith('.RawExtension') ? ATOMIC : build(resolve(source), source.$ref ?? '');
    known.set(source, type);
    return type;
  };

  const build = (schema: SchemaSource, name: string): TypeSchema => {
    // Quantities say `oneOf` instead of a type; in a custom resource it only restricts the type that is there.
    const isEither = schema.oneOf !== undefined && schema.type === undefined;
    if (schema['x-kubernetes-int-or-string'] === true || isEither) return SCALAR;
    switch (schema.type) {
      case 'object':
        return buildMap(schema, name);
      case 'array':
        return buildList(schema);
      case 'string':
        return { shape: 'scalar', of: 'string' };
      case 'integer':
      case 'number':
        return { shape: 'scalar', of: 'numeric' };
      case 'boolean':
        return { shape: 'scalar', of: 'boolean' };
      default:
        return DEDUCED;
    }
  };

  const buildMap = (schema: SchemaSource, definition: string): TypeSchema => {
    const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
    const properties = isEmbedded ? { ...EMBEDDED, ...schema.properties } : (schema.properties ?? {});
    const fields = new Map<string, FieldType>();
    const field = (name: string) => {
      const known = fields.get(name);
      if (known) return known;
      const source = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (!source) return undefined;
      const made = fieldOf(source, unsetValue(goFields, definition, name, source));
      fields.set(name, made);
      return made;
    };
    const inside: MapType = { shape: 'map', field, names: Object.keys(properties), element: elementOf(schema) };
    return schema['x-kubernetes-map-type'] === 'atomic' ? { shape: 'atomic', inside } : inside;
  };

  const fieldOf = (source: SchemaSource, unset: unknown): FieldType => {
    let type: TypeSchema | undefined;
    return {
      get type() {
        type ??= compile(source);
        return type;
      },
      unset: unset === undefined && source.$ref !== undefined && isEmptyObject(source.default) ? {} : unset,
      default: source.default,
      patchStrategy: source['x-kubernetes-patch-strategy'] ?? '',
      patchMergeKey: source['x-kubernetes-patch-merge-key'],
    };
  };

  const elementOf = (schema: SchemaSource): TypeSchema | undefined => {
    if (typeof schema.additionalProperties === 'object') return compile(schema.additionalProperties);
    if (schema.additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] === true) return DEDUCED;
    if (schema['x-kubernetes-embedded-resource'] === true) return DEDUCED;
    return schema.properties === undefined ? DEDUCED : undefined;
  };

  const buildList = (schema: SchemaSource): TypeSchema => {
    const item = () => (schema.items ? compile(schema.items) : DEDUCED);
    const listType = schema['x-kubernetes-list-type'];
    const keys = schema['x-kubernetes-list-map-keys'];
    if (listType === 'map' && keys) return { shape: 'list-map', keys: [...keys].sort(), item };
    if (listType === 'set') return { shape: 'set', item };
    // Built-in lists from before list types existed say it by their patch strategy.
    if (listType === undefined && schema['x-kubernetes-patch-strategy']?.includes('merge') === true) {
      const key = schema['x-kubernetes-patch-merge-key'];
      return key === undefined ? { shape: 'set', item } : { shape: 'list-map', keys: [key], item };
    }
    return { shape: 'atomic', item };
  };

  return { compile, definition: (name) => compile({ $ref: name }) };
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** The fields of every embedded object, given or not. */
const EMBEDDED: Readonly<Record<string, SchemaSource>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { $ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', default: {} },
};
