// The builder of schemas: each function gives a JsonSchema and, by inference, the TypeScript type of the values that it describes.
//
// Which fields of an object are there: with `required: [...]` exactly those are required; without it every field is required that is
// neither `optional: true` nor has a `default`. A field with a default is always there after defaulting, so it is present in the type
// that readers see (TypeOf), may be left out in the one that writers use (InputOf), and is not in the CRD's `required`.

import type { JsonObject, JsonSchema } from './json-schema.ts';
import {
  type AnyOptions,
  type Exactly,
  type InputOf,
  make,
  type Nullable,
  type Plain,
  type Presence,
  type PresenceOf,
  type Schema,
  type SchemaOptions,
  type TypeOf,
} from './schema-type.ts';

export interface StringOptions extends SchemaOptions {
  default?: string;
  minLength?: number;
  maxLength?: number;
  /** RE2 syntax; matches anywhere unless anchored. */
  pattern?: string;
  /** Checked by the server: date-time, date, duration, uri, hostname, ipv4, ipv6, cidr, mac, uuid, email, byte, … */
  format?: string;
}

export interface NumberOptions extends SchemaOptions {
  default?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  /** Integers: int32 or int64; numbers: float or double. */
  format?: 'int32' | 'int64' | 'float' | 'double';
}

export interface BooleanOptions extends SchemaOptions {
  default?: boolean;
}

export interface EnumOptions<Value> extends Omit<SchemaOptions, 'nullable'> {
  default?: Value;
}

export interface ArrayOptions extends SchemaOptions {
  default?: unknown[];
  minItems?: number;
  maxItems?: number;
  /** Default atomic; map when listMapKeys are given. */
  listType?: 'atomic' | 'set' | 'map';
  /** The fields that identify an item; each must be required or have a default. */
  listMapKeys?: string[];
}

export interface MapOptions extends SchemaOptions {
  default?: JsonObject;
  minProperties?: number;
  maxProperties?: number;
  mapType?: 'atomic' | 'granular';
}

export interface ObjectOptions<Field extends string> extends MapOptions {
  required?: readonly Field[];
  /** Keeps fields that are not specified here. Default false. */
  preserveUnknown?: boolean;
}

export function string<O extends StringOptions>(options?: Exactly<O, StringOptions>): Plain<string, O> {
  return make({ type: 'string' }, options);
}

/** A whole number; 64 bits unless the format is int32. */
export function integer<O extends NumberOptions>(options?: Exactly<O, NumberOptions>): Plain<number, O> {
  return make({ type: 'integer' }, options);
}

export function number<O extends NumberOptions>(options?: Exactly<O, NumberOptions>): Plain<number, O> {
  return make({ type: 'number' }, options);
}

export function boolean<O extends BooleanOptions>(options?: Exactly<O, BooleanOptions>): Plain<boolean, O> {
  return make({ type: 'boolean' }, options);
}

/** One of these strings. Never nullable: the server refuses a null for any enum. */
export function enumOf<const Value extends string, O extends EnumOptions<Value>>(
  values: readonly Value[],
  options?: Exactly<O, EnumOptions<Value>>,
): Plain<Value, O> {
  return make({ type: 'string', enum: [...values] }, options);
}

/** Exactly this string. */
export function literal<const Value extends string, O extends EnumOptions<Value>>(
  value: Value,
  options?: Exactly<O, EnumOptions<Value>>,
): Plain<Value, O> {
  return make({ type: 'string', enum: [value] }, options);
}

export function array<Item extends Schema, O extends ArrayOptions>(
  items: Item,
  options?: Exactly<O, ArrayOptions>,
): Schema<Nullable<TypeOf<Item>[], O>, Nullable<InputOf<Item>[], O>, PresenceOf<O>> {
  return make({ type: 'array', items: items.json }, options);
}

/** An object with any keys, whose values have one schema. */
export function map<Value extends Schema, O extends MapOptions>(
  values: Value,
  options?: Exactly<O, MapOptions>,
): Schema<Nullable<Record<string, TypeOf<Value>>, O>, Nullable<Record<string, InputOf<Value>>, O>, PresenceOf<O>> {
  return make({ type: 'object', additionalProperties: values.json }, options);
}

export type Fields = Record<string, Schema>;

type IsPresent<S, Name, O> =
  S extends Schema<unknown, unknown, 'defaulted'>
    ? true
    : O extends { required: readonly (infer Field)[] }
      ? Name extends Field
        ? true
        : false
      : S extends Schema<unknown, unknown, 'optional'>
        ? false
        : true;
type PresentIn<F, O> = { [Name in keyof F]: IsPresent<F[Name], Name, O> extends true ? Name : never }[keyof F];
type MustGive<F, O> = {
  [Name in PresentIn<F, O>]: F[Name] extends Schema<unknown, unknown, 'defaulted'> ? never : Name;
}[PresentIn<F, O>];
type Flat<T> = { [Key in keyof T]: T[Key] };

export type ObjectType<F, O> = Flat<
  { [Name in PresentIn<F, O>]: TypeOf<F[Name]> } & { [Name in Exclude<keyof F, PresentIn<F, O>>]?: TypeOf<F[Name]> }
>;
export type ObjectInput<F, O> = Flat<
  { [Name in MustGive<F, O>]: InputOf<F[Name]> } & { [Name in Exclude<keyof F, MustGive<F, O>>]?: InputOf<F[Name]> }
>;

export function object<F extends Fields, O extends ObjectOptions<keyof F & string>>(
  fields: F,
  options?: Exactly<O, ObjectOptions<keyof F & string>>,
): Schema<Nullable<ObjectType<F, O>, O>, Nullable<ObjectInput<F, O>, O>, PresenceOf<O>> {
  const entries = Object.entries(fields);
  const implied = entries.filter(([, field]) => field.presence === 'required').map(([name]) => name);
  const required = options?.required ? [...options.required] : implied;
  const properties = Object.fromEntries(entries.map(([name, field]) => [name, field.json]));
  return make({ type: 'object', properties, ...(required.length > 0 && { required }) }, options);
}

/** An object whose fields nothing knows here; all of them are kept. */
export function anyObject<O extends AnyOptions>(options?: Exactly<O, AnyOptions>): Plain<JsonObject, O> {
  return make({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, options);
}

/** Any JSON value. */
export function anyValue<O extends AnyOptions>(options?: Exactly<O, AnyOptions>): Plain<unknown, O> {
  return make({ 'x-kubernetes-preserve-unknown-fields': true }, options);
}

/** A port or percentage: 8080, "http", "25%". */
export function intOrString<O extends AnyOptions & { pattern?: string }>(
  options?: Exactly<O, AnyOptions & { pattern?: string }>,
): Plain<number | string, O> {
  return make({ anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true }, options);
}

/** A schema written out by hand, for values whose type is known from elsewhere (a pod template, say). */
export function schemaOf<T>(json: JsonSchema): Schema<T, T, 'required'> {
  return { json, presence: 'required' };
}

/** The same schema, for a field that may be absent. */
export function optional<Out, In>(schema: Schema<Out, In>): Schema<Out, In, 'optional'> {
  return { json: schema.json, presence: 'optional' };
}

/** The same schema, for a field that may be null. */
export function nullable<Out, In, P extends Presence>(schema: Schema<Out, In, P>): Schema<Out | null, In | null, P> {
  return { json: { ...schema.json, nullable: true }, presence: schema.presence };
}

/** For `oneOf`: exactly one of these fields is given. */
export function exactlyOneOf(...fields: string[]): JsonSchema[] {
  return fields.map((field) => ({ required: [field] }));
}
