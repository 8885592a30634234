import type { ValidationRule } from '../builtin/index.ts';
import type { JsonSchema } from './json-schema.ts';

declare const output: unique symbol;
declare const input: unique symbol;

/** Whether a field with this schema must be given, may be, or is filled in. */
export type Presence = 'required' | 'optional' | 'defaulted';

export interface Schema<Out = unknown, In = Out, P extends Presence = Presence> {
  readonly json: JsonSchema;
  readonly presence: P;
  /** Never present: they carry the static types. */
  readonly [output]?: Out;
  readonly [input]?: In;
}

/** The values of a schema after defaulting, as reconcilers read them. */
export type TypeOf<S> = S extends Schema<infer Out, unknown> ? Out : never;
/** The values of a schema as they may be written: fields with defaults can be left out. */
export type InputOf<S> = S extends Schema<unknown, infer In> ? In : never;

export interface SchemaOptions {
  description?: string;
  title?: string;
  example?: unknown;
  /** The field may be absent. Default false. */
  optional?: boolean;
  /** Null is a value of its own, and is kept. Default false: a null counts as absent. */
  nullable?: boolean;
  /** CEL expressions over `self` (and `oldSelf` on updates). */
  rules?: ValidationRule[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  not?: JsonSchema;
}

export interface AnyOptions extends SchemaOptions {
  default?: unknown;
}

// The type of the options as they were written, without room for misspelt names.
export type Exactly<O, Allowed> = O & { [Unknown in Exclude<keyof O, keyof Allowed>]: never };
// A default wins over `optional`: with one the field is always there.
export type PresenceOf<O> = O extends { default: {} }
  ? 'defaulted'
  : O extends { optional: true }
    ? 'optional'
    : 'required';
export type Nullable<T, O> = O extends { nullable: true } ? T | null : T;
export type Plain<T, O> = Schema<Nullable<T, O>, Nullable<T, O>, PresenceOf<O>>;

interface AllOptions extends AnyOptions {
  listType?: 'atomic' | 'set' | 'map';
  listMapKeys?: string[];
  mapType?: 'atomic' | 'granular';
  preserveUnknown?: boolean;
  required?: readonly string[];
}

// The signature of each builder infers its type from the options. The compiler cannot check here that the result has this type.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function make<S>(base: JsonSchema, options: AllOptions = {}): S {
  const {
    optional: isOptional,
    rules,
    listType,
    listMapKeys,
    mapType,
    preserveUnknown,
    required: _,
    ...plain
  } = options;
  const json: JsonSchema = {
    ...base,
    ...plain,
    // An int-or-string has an anyOf of its own.
    ...(base.anyOf && plain.anyOf && { anyOf: base.anyOf, allOf: [{ anyOf: plain.anyOf }, ...(plain.allOf ?? [])] }),
    ...((listType ?? listMapKeys) && { 'x-kubernetes-list-type': listType ?? 'map' }),
    ...(listMapKeys && { 'x-kubernetes-list-map-keys': [...listMapKeys] }),
    ...(mapType && { 'x-kubernetes-map-type': mapType }),
    ...(preserveUnknown && { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(rules && { 'x-kubernetes-validations': rules }),
  };
  const hasDefault = json.default !== undefined && json.default !== null;
  const presence: Presence = hasDefault ? 'defaulted' : isOptional ? 'optional' : 'required';
  return { json, presence } satisfies Schema as S;
}
