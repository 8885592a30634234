// Definitions of custom resources, and their kinds: each sequence has a group of its own.
import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe, subset } from './kind.ts';

const GROUP = '{ns}.example.com';

const GOOD: Readonly<Record<string, object>> = {
  size: { type: 'integer', minimum: 0 },
  mode: { type: 'string', enum: ['A', 'B'], default: 'A' },
  name: { type: 'string', maxLength: 8, pattern: '^[a-z]*$' },
  when: { type: 'string', format: 'date-time' },
  ports: {
    type: 'array',
    maxItems: 5,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 9 } } },
  },
  options: { type: 'object', additionalProperties: { type: 'string' } },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  either: { 'x-kubernetes-int-or-string': true },
  limits: {
    type: 'object',
    properties: { low: { type: 'integer', default: 1 }, high: { type: 'integer', default: 9 } },
    'x-kubernetes-validations': [{ rule: 'self.low <= self.high', message: 'low is above high' }],
  },
  choice: {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
  },
};

const BAD: Readonly<Record<string, object>> = {
  untyped: {},
  early: {
    type: 'object',
    default: {},
    properties: { low: { type: 'integer', default: 1 }, high: { type: 'integer', default: 9 } },
    'x-kubernetes-validations': [{ rule: 'self.low <= self.high', message: 'low is above high' }],
  },
  odd: { type: 'thing' },
  both: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
  bare: { type: 'array' },
  list: { type: 'array', items: [{ type: 'string' }] },
  wrong: { type: 'integer', default: 'x' },
  pruned: { type: 'object', default: { x: 1 }, properties: { y: { type: 'integer' } } },
  keyless: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    items: { type: 'object', properties: { name: { type: 'string' } } },
  },
  optional: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', properties: { name: { type: 'string' } } },
  },
  set: {
    type: 'array',
    'x-kubernetes-list-type': 'set',
    items: { type: 'object', properties: { a: { type: 'string' } } },
  },
  kind: { type: 'array', 'x-kubernetes-list-type': 'heap', items: { type: 'string' } },
  unique: { type: 'array', uniqueItems: true, items: { type: 'string' } },
  junction: { type: 'object', anyOf: [{ type: 'object', properties: { z: { type: 'string' } } }] },
  rule: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.foo == 1' }] },
  syntax: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self ==' }] },
  number: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self + 1' }] },
  empty: { type: 'string', 'x-kubernetes-validations': [{ rule: '' }] },
  message: { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', messageExpression: '1' }] },
  reason: { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', reason: 'Because' }] },
  place: { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', fieldPath: 'nowhere' }] },
  reference: { $ref: '#/definitions/x' },
  whole: { type: 'object', 'x-kubernetes-embedded-resource': true },
  format: { type: 'string', format: 'own' },
  dear: {
    type: 'array',
    items: { type: 'array', items: { type: 'string' } },
    'x-kubernetes-validations': [{ rule: 'self.all(a, a.all(b, self.all(c, c.all(d, d != b + d))))' }],
  },
  nullable: { type: 'object', nullable: true, default: null, properties: { a: { type: 'string' } } },
  map: { type: 'object', 'x-kubernetes-map-type': 'tree', properties: { a: { type: 'string' } } },
  regexp: { type: 'string', pattern: '(' },
};

function schema(random: SeededRandom): object {
  const chosen = subset(random, Object.keys(GOOD));
  const bad = random.chance(0.35) ? [random.pick(Object.keys(BAD))] : [];
  if (random.chance(0.1)) bad.push(random.pick(Object.keys(BAD)));
  const properties = Object.fromEntries([
    ...chosen.map((name) => [name, GOOD[name]]),
    ...bad.map((name) => [name, BAD[name]]),
  ]) as Record<string, object>;
  return {
    type: 'object',
    properties: {
      spec: { type: 'object', properties, ...maybe(random, 0.2, () => ({ required: ['size'] })) },
      ...maybe(random, 0.7, () => ({ status: { type: 'object', properties: { ready: { type: 'integer' } } } })),
      ...maybe(random, 0.05, () => ({
        metadata: random.pick<object>([
          { type: 'object', properties: { name: { type: 'string', maxLength: 5 } } },
          { type: 'object', properties: { labels: { type: 'object' } } },
        ]),
      })),
    },
    ...maybe(random, 0.04, () => ({ default: {} })),
  };
}

const COLUMNS = [
  { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: '', type: 'thing', jsonPath: 'spec' },
];

function version(random: SeededRandom, name: string, storage: boolean, openAPIV3Schema: object): object {
  return {
    name,
    served: random.chance(0.95),
    storage,
    ...maybe(random, 0.95, () => ({ schema: { openAPIV3Schema } })),
    ...maybe(random, 0.5, () => ({
      subresources: random.pick<object>([
        { status: {} },
        { status: {} },
        { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.ready' } },
        { scale: { specReplicasPath: 'spec.size', statusReplicasPath: '.spec.x' } },
        { scale: {} },
        {},
      ]),
    })),
    ...maybe(random, 0.3, () => ({ additionalPrinterColumns: subset(random, COLUMNS) })),
    // The real server does not survive selectable fields in a schema that is none.
    ...maybe(random, JSON.stringify(openAPIV3Schema).includes('$ref') ? 0 : 0.1, () => ({
      selectableFields: [{ jsonPath: random.pick(['.spec.mode', '.spec.nowhere', '.metadata.name']) }],
    })),
    ...maybe(random, 0.1, () => ({ deprecated: true })),
    ...maybe(random, 0.05, () => ({ deprecationWarning: 'old' })),
  };
}

function versions(random: SeededRandom): unknown[] {
  const first = schema(random);
  const one = version(random, 'v1', true, first);
  const names = random.pick([
    [],
    [],
    [],
    ['v1beta1'],
    ['v2'],
    ['v1'],
    ...(random.chance(0.1) ? [['Not A Version'], ['v3', 'v4']] : []),
  ]);
  const others = names.map((name) =>
    version(random, name, random.chance(0.1), random.chance(0.4) ? first : schema(random)),
  );
  return random.chance(0.02) ? [] : [one, ...others];
}

const names = (random: SeededRandom, plural: string) => ({
  plural: random.chance(0.97) ? plural : random.pick(['elsewhere', '', 'Things']),
  kind: random.chance(0.95) ? (plural === 'things' ? 'Thing' : 'Other') : random.pick(['Thing', '', 'no kind']),
  ...maybe(random, 0.3, () => ({ singular: random.pick(['thing', 'other', 'Bad One']) })),
  ...maybe(random, 0.3, () => ({ shortNames: random.pick([['th'], ['th', 'ti'], ['Bad'], []]) })),
  ...maybe(random, 0.2, () => ({ listKind: random.pick(['Things', 'Thing', 'thing list']) })),
  ...maybe(random, 0.2, () => ({ categories: ['all'] })),
});

const definition = (random: SeededRandom) => {
  const plural = 'things';
  return {
    spec: {
      ...maybe(random, 0.98, () => ({ group: random.chance(0.97) ? GROUP : random.pick(['nodot', 'Bad.Group']) })),
      ...maybe(random, 0.98, () => ({ names: names(random, plural) })),
      ...maybe(random, 0.98, () => ({ scope: random.pick(['Namespaced', 'Namespaced', 'Namespaced', 'Odd']) })),
      ...maybe(random, 0.98, () => ({ versions: versions(random) })),
      ...maybe(random, 0.1, () => ({
        conversion: random.pick<object>([{ strategy: 'None' }, { strategy: 'Odd' }, { strategy: '' }]),
      })),
      ...maybe(random, 0.05, () => ({ preserveUnknownFields: random.chance(0.5) })),
    },
  };
};

export const definitions: GeneratedKind = {
  collection: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  names: [`things.${GROUP}`],
  content: definition,
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { versions: versions(random) } },
      { spec: { versions: versions(random) } },
      { spec: { names: { shortNames: ['zz'] } } },
      { spec: { names: { categories: ['all'] } } },
      { spec: { names: { kind: 'Renamed' } } },
      { spec: { names: { plural: 'renamed' } } },
      { spec: { scope: 'Cluster' } },
      { spec: { group: 'other.example.com' } },
      { spec: { conversion: null } },
      { spec: null },
      { status: { storedVersions: ['v1'] } },
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'add', path: '/spec/names/shortNames', value: ['aa'] }],
      [{ op: 'remove', path: '/spec/versions/0' }],
      [{ op: 'replace', path: '/spec/versions/0/served', value: false }],
      [{ op: 'add', path: '/spec/versions/0/additionalPrinterColumns', value: [COLUMNS[0]] }],
      [{ op: 'remove', path: '/spec/versions/0/schema' }],
    ]),
  applied: (random) => ({
    spec: {
      group: GROUP,
      names: { plural: 'things', kind: 'Thing', ...maybe(random, 0.3, () => ({ shortNames: ['th'] })) },
      scope: 'Namespaced',
      versions: [version(random, 'v1', true, schema(random))],
    },
  }),
  status: (random) =>
    random.pick<Record<string, unknown>>([
      { storedVersions: ['v1'] },
      { conditions: [{ type: 'Own', status: 'True', reason: 'R', message: 'm' }] },
      { acceptedNames: { plural: 'x', kind: 'X' } },
    ]),
  fieldSelectors: [`metadata.name=things.${GROUP}`],
  settles: true,
};

/** The kinds that the definitions of the same sequence define, or none. */
export const things: GeneratedKind = {
  collection: `/apis/${GROUP}/v1/namespaces/{ns}/things`,
  apiVersion: `${GROUP}/v1`,
  kind: 'Thing',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.8, () => ({ size: random.pick<unknown>([1, 2, -1, 'x']) })),
      ...maybe(random, 0.3, () => ({ mode: random.pick(['A', 'B', 'C']) })),
      ...maybe(random, 0.3, () => ({ name: random.pick(['abc', 'ABC', 'abcdefghij']) })),
      ...maybe(random, 0.3, () => ({ ports: subset(random, [{ name: 'a' }, { name: 'b' }, { name: 'a' }]) })),
      ...maybe(random, 0.3, () => ({ limits: random.pick<unknown>([{}, { low: 20 }, null]) })),
      ...maybe(random, 0.2, () => ({ choice: random.pick<object>([{ a: 'x' }, { b: 'y' }, { a: 'x', b: 'y' }, {}]) })),
      ...maybe(random, 0.2, () => ({ free: { x: 1 }, either: random.pick<unknown>([1, 'x', true]) })),
      ...maybe(random, 0.2, () => ({ unknown: 1 })),
    },
    ...maybe(random, 0.2, () => ({ status: { ready: 1 } })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { size: 3 } },
      { spec: { mode: null } },
      { spec: { limits: { low: 30 } } },
      { status: { ready: 2 } },
      { spec: { unknown: 2 } },
    ]),
  operations: () => [{ op: 'add', path: '/spec/size', value: 4 }],
  applied: (random) => ({ spec: { size: random.pick([1, 2]), ...maybe(random, 0.3, () => ({ name: 'abc' })) } }),
  status: (random) => ({ ready: random.pick<unknown>([1, 2, 'x']) }),
  isCustom: true,
  hasScale: true,
  fieldSelectors: ['metadata.name=a', 'spec.mode=A'],
};
