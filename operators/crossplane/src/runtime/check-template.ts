// Compares a value with one of Kubernetes' own schemas, as far as a partial template can be: unknown fields
// and values of a wrong type are found, missing required fields are accepted. A typo is reported with its path.
import { type BuiltinSchema, equal, isJsonObject, joinPath, parseQuantity } from '@capstan/kube';
import { type Finding, finding } from './finding.ts';

export type BuiltinSchemas = ReadonlyMap<string, BuiltinSchema>;

export const DEPLOYMENT_SPEC = 'io.k8s.api.apps.v1.DeploymentSpec';
export const POD_SPEC = 'io.k8s.api.core.v1.PodSpec';
export const CONTAINER = 'io.k8s.api.core.v1.Container';

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';

export interface CheckedTemplate {
  /** The value without unknown fields and nulls. */
  readonly value: unknown;
  /** Fields that there are none of, and items that are there twice; they are left out. */
  readonly unknown: readonly Finding[];
  /** Values that cannot be used. */
  readonly wrong: readonly Finding[];
}

/** Looks through the value by the definition of that name. */
export function checkTemplate(
  value: unknown,
  definition: string,
  path: string,
  schemas: BuiltinSchemas,
): CheckedTemplate {
  const unknown: Finding[] = [];
  const wrong: Finding[] = [];
  const clean = walk(value, { $ref: definition }, path);
  return { value: clean, unknown, wrong };

  function walk(part: unknown, schema: BuiltinSchema, at: string): unknown {
    const { properties, items, additionalProperties, type, oneOf } = resolved(schema, schemas);
    if (properties !== undefined || additionalProperties !== undefined || type === 'object') {
      if (!isJsonObject(part)) return refused(part, 'an object', at);
      // Objects without a schema of their own (FieldsV1, for one) are kept as they are.
      if (properties === undefined && additionalProperties === undefined) return part;
      const kept: Record<string, unknown> = {};
      for (const [field, content] of Object.entries(part)) {
        if (content === null || content === undefined) continue;
        const known = properties?.[field] ?? additionalProperties;
        const below = joinPath(at, field);
        if (known === undefined)
          unknown.push(finding(below, 'is not a field', 'correct or remove it: it has no effect'));
        else kept[field] = walk(content, known, below);
        if (PORTS.has(field) && Number.isSafeInteger(content) && !isPort(content as number))
          wrong.push(finding(below, `cannot be ${JSON.stringify(content)}`, 'write a port from 1 to 65535'));
      }
      return kept;
    }
    if (type === 'array') {
      if (!Array.isArray(part)) return refused(part, 'a list', at);
      return withoutTwins(part, resolved(schema, schemas), at).map((item: unknown, index) =>
        walk(item, items ?? {}, `${at}[${index}]`),
      );
    }
    const types = type === undefined ? (oneOf ?? []).flatMap((one) => one.type ?? []) : [type];
    if (types.length > 0 && !types.some((one) => isOfType(part, one)))
      return refused(part, NAMES[types[0] ?? ''] ?? 'another type', at);
    // The server refuses it without saying where it stands.
    if (schema.$ref === QUANTITY && !isQuantity(part))
      wrong.push(finding(at, `cannot be ${JSON.stringify(part)}`, 'write a quantity such as 500m or 1Gi'));
    return part;
  }

  /**
   * Returns the list with each key once. Equal items become one; of variables the last counts, as in a container. The server would refuse
   * other duplicates together with the whole object, and not always with a clear message.
   */
  function withoutTwins(list: readonly unknown[], schema: BuiltinSchema, at: string): readonly unknown[] {
    const keys = schema['x-kubernetes-list-map-keys'];
    if (schema['x-kubernetes-list-type'] !== 'map' || keys === undefined) return list;
    const fields = resolved(schema.items ?? {}, schemas).properties ?? {};
    const isLast = at.endsWith('.env');
    const seen = new Map<string, { index: number; item: unknown }>();
    for (const [index, item] of list.entries()) {
      const key = isJsonObject(item) ? keys.map((name) => item[name] ?? fields[name]?.default) : [index];
      const text = JSON.stringify(key);
      const first = seen.get(text);
      if (first === undefined || isLast) seen.set(text, { index, item });
      if (first === undefined) continue;
      const problem = `has the ${keys.join(' and ')} of ${at}[${first.index}] (${key.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(', ')})`;
      const isContainer = /\.(?:containers|initContainers)$/.test(at);
      if (isLast || (equal(first.item, item) && !isContainer))
        unknown.push(finding(`${at}[${index}]`, problem, 'remove one: the last of them counts'));
      else wrong.push(finding(`${at}[${index}]`, problem, 'keep one'));
    }
    // At the place of the first, which others may refer to.
    return [...seen.values()].map(({ item }) => item);
  }

  function refused(part: unknown, wanted: string, at: string): unknown {
    wrong.push(finding(at, `must be ${wanted} and is ${typeName(part)}`, 'correct it'));
    return part;
  }
}

/** The names of the fields of a definition. */
export function fieldsOf(definition: string, schemas: BuiltinSchemas): ReadonlySet<string> {
  return new Set(Object.keys(schemas.get(definition)?.properties ?? {}));
}

function resolved(schema: BuiltinSchema, schemas: BuiltinSchemas): BuiltinSchema {
  return schema.$ref === undefined ? schema : (schemas.get(schema.$ref) ?? {});
}

/** Fields that are numbers of ports. */
const PORTS: ReadonlySet<string> = new Set(['containerPort', 'hostPort']);
const isPort = (value: number) => value >= 1 && value <= 65_535;

const NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function isQuantity(value: unknown): boolean {
  try {
    parseQuantity(value as string | number);
    return true;
  } catch {
    return false;
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return true;
  }
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a text' : JSON.stringify(value);
}
