// Schemas of the parts that many kinds share.
import type { Condition, LabelSelector } from '../builtin/index.ts';
import type { UnknownObject } from '../object.ts';
import { array, enumOf, integer, map, object, optional, string } from './builder.ts';
import { type AnyOptions, type Exactly, make, type Plain, type Schema, type SchemaOptions } from './schema-type.ts';

/** How a resource.Quantity is written: 500m, 1Gi, 1e3. */
const QUANTITY =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';
/** A duration of Go's, not negative: 0, 30s, 1h30m, 1.5h. */
const DURATION = '^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$';
const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

export interface TextOptions extends SchemaOptions {
  default?: string;
}

export interface QuantityOptions extends SchemaOptions {
  default?: string | number;
}

/** An amount of a resource. */
export function quantity<O extends QuantityOptions>(options?: Exactly<O, QuantityOptions>): Plain<string | number, O> {
  const anyOf = [{ type: 'integer' as const }, { type: 'string' as const }];
  return make({ anyOf, pattern: QUANTITY, 'x-kubernetes-int-or-string': true }, options);
}

/** A length of time as Go writes it (30s, 1h30m), zero or more. */
export function duration<O extends TextOptions>(options?: Exactly<O, TextOptions>): Plain<string, O> {
  return make({ type: 'string', pattern: DURATION }, options);
}

/** An instant: 2026-01-31T08:00:00Z. */
export function time<O extends TextOptions>(options?: Exactly<O, TextOptions>): Plain<string, O> {
  return make({ type: 'string', format: 'date-time' }, options);
}

/** The name of an object: a DNS subdomain. */
export function objectName<O extends TextOptions>(options?: Exactly<O, TextOptions>): Plain<string, O> {
  return make({ type: 'string', minLength: 1, maxLength: 253, pattern: `^${LABEL}(\\.${LABEL})*$` }, options);
}

/** The name of a namespace: a DNS label. */
export function namespaceName<O extends TextOptions>(options?: Exactly<O, TextOptions>): Plain<string, O> {
  return make({ type: 'string', minLength: 1, maxLength: 63, pattern: `^${LABEL}$` }, options);
}

const MESSAGE = 'Why, and what to do, for people.';

/** The list of conditions of a status, one of each type. Always optional: a status may be written before the first condition is known. */
export function conditions(options?: {
  description?: string;
  /** Conditions of others that have none are taken, with an empty one. Default: false, as Kubernetes has it. */
  isMessageOptional?: boolean;
}): Schema<Condition[], Condition[], 'optional'> {
  const condition = object({
    type: string({
      maxLength: 316,
      pattern: `^(${LABEL}(\\.${LABEL})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
      description: 'What the condition is about.',
    }),
    status: enumOf(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
    observedGeneration: integer({
      optional: true,
      format: 'int64',
      minimum: 0,
      description: 'The metadata.generation that the condition describes.',
    }),
    lastTransitionTime: time({ description: 'When the status last changed.' }),
    reason: string({
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      description: 'Why, in one word for programs.',
    }),
    message: options?.isMessageOptional
      ? string({ maxLength: 32_768, default: '', description: MESSAGE })
      : string({ maxLength: 32_768, description: MESSAGE }),
  });
  const description =
    options?.description ?? 'What is known about the state of the object, one condition of each type.';
  return array(condition, { optional: true, listMapKeys: ['type'], description });
}

export interface TemplateMetadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** Metadata of something that is built from this object: labels and annotations. */
export function templateMetadata<O extends AnyOptions>(options?: Exactly<O, AnyOptions>): Plain<TemplateMetadata, O> {
  const { json } = object({
    labels: map(string(), { optional: true }),
    annotations: map(string(), { optional: true }),
  });
  return make(json, options);
}

/** A whole Kubernetes object inside this one, of any kind: its apiVersion and kind are required, the rest is kept as it is. */
export function embeddedResource<O extends SchemaOptions>(
  options?: Exactly<O, SchemaOptions>,
): Plain<UnknownObject, O> {
  const embedded = { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
  return make({ type: 'object', ...embedded }, options);
}

/** Which objects, by their labels. */
export function labelSelector<O extends AnyOptions>(options?: Exactly<O, AnyOptions>): Plain<LabelSelector, O> {
  const requirement = object({
    key: string({ description: 'The label.' }),
    operator: enumOf(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: array(string(), { optional: true, listType: 'atomic' }),
  });
  const fields = {
    matchLabels: map(string(), { optional: true, description: 'Labels with exactly these values.' }),
    matchExpressions: array(requirement, { optional: true, listType: 'atomic', description: 'All of these hold.' }),
  };
  return make(object(fields, { mapType: 'atomic' }).json, options);
}

export interface LocalReference {
  name: string;
}

/** The name of an object in the same namespace (or of a cluster-scoped one). */
export function localReference<O extends SchemaOptions>(options?: Exactly<O, SchemaOptions>): Plain<LocalReference, O> {
  return make(object({ name: objectName() }).json, options);
}

export interface NamespacedReference {
  name: string;
  namespace?: string;
}

/** An object by name, in its own namespace when one is given. */
export function namespacedReference<O extends SchemaOptions>(
  options?: Exactly<O, SchemaOptions>,
): Plain<NamespacedReference, O> {
  return make(object({ name: objectName(), namespace: optional(namespaceName()) }).json, options);
}

export interface KeyReference {
  name: string;
  key: string;
}

/** One key of a Secret or ConfigMap in the same namespace. */
export function keyReference<O extends SchemaOptions>(options?: Exactly<O, SchemaOptions>): Plain<KeyReference, O> {
  const key = string({ minLength: 1, description: 'The key in its data.' });
  return make(object({ name: objectName(), key }).json, options);
}

export interface KindReference {
  group?: string;
  kind: string;
  name: string;
  namespace?: string;
}

/** An object of any kind by group, kind and name. */
export function kindReference<O extends SchemaOptions>(options?: Exactly<O, SchemaOptions>): Plain<KindReference, O> {
  const { json } = object({
    group: string({ optional: true, maxLength: 253, description: 'The API group; empty for the core group.' }),
    kind: string({ minLength: 1, maxLength: 63 }),
    name: objectName(),
    namespace: optional(namespaceName()),
  });
  return make(json, options);
}
