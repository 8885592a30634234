// Schemas of the parts that many kinds share.
import type { Condition, LabelSelector } from '../builtin/index.ts';
import type { UnknownObject } from '../object.ts';
import {
  array,
  enumOf,
  integer,
  intOrString,
  map,
  object,
  optional,
  type Schema,
  type SchemaOptions,
  string,
} from './builder.ts';

interface Described {
  description?: string;
}

/** How a resource.Quantity is written: 500m, 1Gi, 1e3. */
const QUANTITY =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';
/** A duration of Go's, not negative: 0, 30s, 1h30m, 1.5h. */
const DURATION = '^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$';
const NAME = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';

type Has<O, Key extends string> = O extends { [K in Key]: {} } ? true : false;
type PresenceOf<O> = O extends { optional: true }
  ? 'optional'
  : Has<O, 'default'> extends true
    ? 'defaulted'
    : 'required';

/** An amount of a resource. */
export function quantity<O extends SchemaOptions & { default?: string | number }>(
  options?: O,
): Schema<string | number, string | number, PresenceOf<O>> {
  return intOrString({ ...options, pattern: QUANTITY }) as Schema<string | number, string | number, PresenceOf<O>>;
}

/** A length of time as Go writes it (30s, 1h30m), zero or more. */
export function duration<O extends SchemaOptions & { default?: string }>(
  options?: O,
): Schema<string, string, PresenceOf<O>> {
  return string({ ...options, pattern: DURATION }) as Schema<string, string, PresenceOf<O>>;
}

/** An instant: 2026-01-31T08:00:00Z. */
export function time<O extends SchemaOptions>(options?: O): Schema<string, string, PresenceOf<O>> {
  return string({ ...options, format: 'date-time' }) as Schema<string, string, PresenceOf<O>>;
}

/** The list of conditions of a status, one of each type. Always optional: a status may be written before the first condition is known. */
export function conditions(options?: Described): Schema<Condition[], Condition[], 'optional'> {
  const condition = object({
    type: string({
      maxLength: 316,
      pattern:
        '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
      description: 'What the condition is about.',
    }),
    status: enumOf(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
    observedGeneration: integer({
      optional: true,
      format: 'int64',
      minimum: 0,
      description: 'The metadata.generation that the condition was made from.',
    }),
    lastTransitionTime: time({ description: 'When the status last changed.' }),
    reason: string({
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      description: 'Why, in one word for programs.',
    }),
    message: string({ maxLength: 32_768, description: 'Why, and what to do, for people.' }),
  });
  const description =
    options?.description ?? 'What is known about the state of the object, one condition of each type.';
  return array(condition, { optional: true, listMapKeys: ['type'], description });
}

/** Metadata of something that is made from this object: labels and annotations. */
export function templateMetadata<O extends SchemaOptions & { default?: {} }>(
  options?: O,
): Schema<TemplateMetadata, TemplateMetadata, PresenceOf<O>> {
  const fields = {
    labels: map(string(), { optional: true }),
    annotations: map(string(), { optional: true }),
  };
  return object(fields, { ...options }) as Schema<TemplateMetadata, TemplateMetadata, PresenceOf<O>>;
}

export interface TemplateMetadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** A whole Kubernetes object inside this one, of any kind: its apiVersion and kind are required, the rest is kept as it is. */
export function embeddedResource<O extends SchemaOptions>(
  options?: O,
): Schema<UnknownObject, UnknownObject, PresenceOf<O>> {
  const { optional: isOptional, rules, ...plain } = options ?? {};
  const json = {
    type: 'object' as const,
    ...plain,
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
    ...(rules && { 'x-kubernetes-validations': rules }),
  };
  const presence = (isOptional ? 'optional' : 'required') as PresenceOf<O>;
  return { json, presence };
}

/** Which objects, by their labels. */
export function labelSelector<O extends SchemaOptions & { default?: {} }>(
  options?: O,
): Schema<LabelSelector, LabelSelector, PresenceOf<O>> {
  const requirement = object({
    key: string({ description: 'The label.' }),
    operator: enumOf(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: array(string(), { optional: true, listType: 'atomic' }),
  });
  const fields = {
    matchLabels: map(string(), { optional: true, description: 'Labels with exactly these values.' }),
    matchExpressions: array(requirement, { optional: true, listType: 'atomic', description: 'All of these hold.' }),
  };
  return object(fields, { ...options, mapType: 'atomic' as const }) as Schema<
    LabelSelector,
    LabelSelector,
    PresenceOf<O>
  >;
}

/** The name of an object in the same namespace (or of a cluster-scoped one). */
export function localReference<O extends SchemaOptions>(
  options?: O,
): Schema<LocalReference, LocalReference, PresenceOf<O>> {
  return object({ name: objectName() }, { ...options }) as Schema<LocalReference, LocalReference, PresenceOf<O>>;
}

export interface LocalReference {
  name: string;
}

/** An object by name, in its own namespace when one is given. */
export function namespacedReference<O extends SchemaOptions>(
  options?: O,
): Schema<NamespacedReference, NamespacedReference, PresenceOf<O>> {
  const fields = { name: objectName(), namespace: optional(namespaceName()) };
  return object(fields, { ...options }) as Schema<NamespacedReference, NamespacedReference, PresenceOf<O>>;
}

export interface NamespacedReference {
  name: string;
  namespace?: string;
}

/** One key of a Secret or ConfigMap in the same namespace. */
export function keyReference<O extends SchemaOptions>(options?: O): Schema<KeyReference, KeyReference, PresenceOf<O>> {
  const fields = { name: objectName(), key: string({ minLength: 1, description: 'The key in its data.' }) };
  return object(fields, { ...options }) as Schema<KeyReference, KeyReference, PresenceOf<O>>;
}

export interface KeyReference {
  name: string;
  key: string;
}

/** An object of any kind by group, kind and name. */
export function kindReference<O extends SchemaOptions>(
  options?: O,
): Schema<KindReference, KindReference, PresenceOf<O>> {
  const fields = {
    group: string({ optional: true, maxLength: 253, description: 'The API group; empty for the core group.' }),
    kind: string({ minLength: 1, maxLength: 63 }),
    name: objectName(),
    namespace: optional(namespaceName()),
  };
  return object(fields, { ...options }) as Schema<KindReference, KindReference, PresenceOf<O>>;
}

export interface KindReference {
  group?: string;
  kind: string;
  name: string;
  namespace?: string;
}

/** The name of an object: a DNS subdomain. */
export function objectName<O extends SchemaOptions>(options?: O): Schema<string, string, PresenceOf<O>> {
  return string({ ...options, minLength: 1, maxLength: 253, pattern: NAME }) as Schema<string, string, PresenceOf<O>>;
}

/** The name of a namespace: a DNS label. */
export function namespaceName<O extends SchemaOptions>(options?: O): Schema<string, string, PresenceOf<O>> {
  const pattern = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
  return string({ ...options, minLength: 1, maxLength: 63, pattern }) as Schema<string, string, PresenceOf<O>>;
}
