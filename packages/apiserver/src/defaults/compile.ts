// Defaults of built-in kinds. They belong to types (a Container has them in every place), so they are applied from the inside out along the
// schema, together with the additions of Go itself: a struct that is no pointer is always written, at least as `{}`, and so are some zeros
// and nulls, while other fields are left out when they are zero or empty (go-fields.ts).
import { type BuiltinSchema, storedQuantity } from '@capstan/kube';
import { isObject, type JsonObject } from '../json/copy.ts';
import type { Defaults } from './fill.ts';
import { cleanerOf, type GoFields, writtenZero } from './go-fields.ts';

type Schemas = ReadonlyMap<string, BuiltinSchema>;

/**
 * Returns a function from definitions to the functions that fill in their defaults; undefined where there is nothing to fill in.
 * `isStored`: values that have been to the storage and back.
 */
export function createDefaulter(
  schemas: Schemas,
  typeDefaults: Readonly<Record<string, Defaults>>,
  goFields: GoFields,
  isStored = false,
): (definition: string) => Defaults | undefined {
  const made = new Map<string, Compiled>();

  const ofDefinition = (name: string): Compiled => {
    const known = made.get(name);
    if (known) return known;
    const compiled: Compiled = { fill: (value) => value, isIdle: false };
    // A type that contains itself finds itself here.
    made.set(name, compiled);
    const schema = schemas.get(name);
    const own = typeDefaults[name];
    const fields = Object.entries(schema?.properties ?? {}).flatMap(([field, part]) => {
      const step = fieldOf(field, part, writtenZero(goFields, name, field, part));
      return step ? [step] : [];
    });
    const clean = cleanerOf(goFields, name, isStored);
    compiled.isIdle = fields.length === 0 && own === undefined && clean === undefined;
    compiled.fill = (value) => {
      let result = value;
      for (const { name: field, fill } of fields) {
        const before = result[field];
        const after = fill(before);
        if (after !== before) result = { ...result, [field]: after };
      }
      if (own) result = own(result);
      const cleaned = clean ? clean(result) : result;
      const kept = isStored ? undefined : KEPT_EMPTY[name]?.(value);
      return kept === undefined ? cleaned : { ...cleaned, [kept]: [] };
    };
    return compiled;
  };

  const fieldOf = (name: string, schema: BuiltinSchema, zero: unknown): Field | undefined => {
    const inside = valueFill(schema);
    if (zero === undefined && inside === undefined) return undefined;
    return {
      name,
      fill: (value) => {
        const present = value ?? zero;
        return present === undefined || inside === undefined ? present : inside(present);
      },
    };
  };

  // Undefined where nothing below has defaults.
  const valueFill = (schema: BuiltinSchema): ((value: unknown) => unknown) | undefined => {
    if (schema.$ref === QUANTITY) return quantity;
    if (schema.$ref !== undefined) {
      const compiled = ofDefinition(schema.$ref);
      return compiled.isIdle ? undefined : (value) => (isObject(value) ? compiled.fill(value) : value);
    }
    const item = schema.items && valueFill(schema.items);
    if (item) return (value) => (Array.isArray(value) ? sameOr(value, value.map(item)) : value);
    const element = schema.additionalProperties && valueFill(schema.additionalProperties);
    if (!element) return undefined;
    return (value) => {
      if (!isObject(value)) return value;
      const keys = Object.keys(value);
      const filled = keys.map((key) => element(value[key]));
      if (filled.every((one, index) => one === value[keys[index] ?? ''])) return value;
      return Object.fromEntries(keys.map((key, index) => [key, filled[index]]));
    };
  };

  return (definition) => {
    const compiled = ofDefinition(definition);
    return compiled.isIdle ? undefined : compiled.fill;
  };
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

/** Lists that must not be empty stay so until they have been refused, because the refusal shows them. */
const KEPT_EMPTY: Readonly<Record<string, (value: JsonObject) => string | undefined>> = {
  'io.k8s.api.networking.v1.IngressSpec': ({ rules, defaultBackend }) =>
    isEmptyList(rules) && defaultBackend === undefined ? 'rules' : undefined,
  'io.k8s.api.autoscaling.v2.HPAScalingRules': ({ policies }) => (isEmptyList(policies) ? 'policies' : undefined),
};

interface Compiled {
  fill: Defaults;
  isIdle: boolean;
}

interface Field {
  name: string;
  fill: (value: unknown) => unknown;
}

function sameOr(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((one, index) => one === before[index]) ? before : after;
}

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

/** Quantities are written in one form; validation reports invalid ones. */
function quantity(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  try {
    return storedQuantity(value);
  } catch {
    return value;
  }
}
