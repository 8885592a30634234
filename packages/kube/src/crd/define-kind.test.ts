import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind, KindOf } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import { anyObject, array, enumOf, exactlyOneOf, integer, object, string } from '../schema/builder.ts';
import { conditions } from '../schema/builder-kubernetes.ts';
import type { EvaluateRule } from '../schema/rules.ts';
import { checkCrd } from './check-crd.ts';
import { pluralOf } from './crd.ts';
import { defineKind, type KindInputOf } from './define-kind.ts';

const Filter = defineKind({
  group: 'example.io',
  version: 'v1alpha1',
  kind: 'Filter',
  shortNames: ['fl'],
  categories: ['all'],
  scope: 'Namespaced',
  description: 'One filter of a proxy.',
  spec: object(
    {
      type: string({ minLength: 1 }),
      configTemplate: anyObject(),
      replicas: integer({ default: 1, minimum: 1 }),
      mode: enumOf(['Zero', 'Keep'], { optional: true }),
    },
    {
      required: ['type', 'configTemplate'],
      rules: [{ rule: 'self.replicas < 5', message: 'too many', fieldPath: '.replicas' }],
    },
  ),
  status: object({ conditions: conditions(), configHash: string({ optional: true }) }),
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type' }],
  selectableFields: ['.spec.type'],
  memory: object({ lastGood: string({ optional: true }) }),
  aliases: [
    {
      group: 'old.example.io',
      version: 'v1',
      kind: 'OldFilter',
      normalise: ({ config, ...rest }) => ({ ...rest, spec: config }),
    },
  ],
});
type Filter = KindOf<typeof Filter>;

const meta = { apiVersion: 'example.io/v1alpha1', kind: 'Filter', metadata: { name: 'a', namespace: 'b' } };

test('a kind is the static type of its objects', () => {
  const written: KindInputOf<typeof Filter> = { ...meta, spec: { type: 'a', configTemplate: {} } };
  const read: Filter = Filter.withDefaults(written);
  const replicas: number = read.spec.replicas;
  const mode: 'Zero' | 'Keep' | undefined = read.spec.mode;
  const hash: string | undefined = read.status?.configHash;
  const generation: number | undefined = read.status?.observedGeneration;
  const memory: string | undefined = read.status?.memory?.lastGood;
  assert.deepEqual([replicas, mode, hash, generation, memory], [1, undefined, undefined, undefined, undefined]);
  // @ts-expect-error: readers may rely on replicas, so it cannot be left out here
  const incomplete: Filter = { ...meta, spec: { type: 'a', configTemplate: {} } };
  assert.ok(incomplete);
  const kind: Kind = Filter;
  assert.equal(kind.hasStatus, true);
});

test('a kind gives the manifest that kubectl apply takes, in the same bytes each time', () => {
  const crd = Filter.crd();
  assert.deepEqual(checkCrd(crd), []);
  assert.equal(JSON.stringify(crd), JSON.stringify(Filter.crd()));
  assert.deepEqual(Object.keys(crd), ['apiVersion', 'kind', 'metadata', 'spec']);
  assert.equal(crd.metadata.name, 'filters.example.io');
  assert.deepEqual(crd.spec.names, {
    plural: 'filters',
    singular: 'filter',
    kind: 'Filter',
    listKind: 'FilterList',
    shortNames: ['fl'],
    categories: ['all'],
  });
  const [version] = crd.spec.versions;
  assert.deepEqual(
    { ...version, schema: undefined },
    {
      name: 'v1alpha1',
      served: true,
      storage: true,
      schema: undefined,
      subresources: { status: {} },
      additionalPrinterColumns: [
        { name: 'Type', type: 'string', jsonPath: '.spec.type' },
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      ],
      selectableFields: [{ jsonPath: '.spec.type' }],
    },
  );
  const schema = version?.schema?.openAPIV3Schema;
  assert.deepEqual(Object.keys(schema?.properties ?? {}), ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  assert.deepEqual(schema?.required, ['spec']);
  const status = Object.keys(schema?.properties?.['status']?.properties ?? {});
  assert.deepEqual(status, ['observedGeneration', 'conditions', 'configHash', 'memory']);
});

test('defaults are added for missing fields, and a complete object is returned unchanged', () => {
  const written = { ...meta, spec: { type: 'a', configTemplate: {} } };
  const read = Filter.withDefaults(written);
  assert.equal(read.spec.replicas, 1);
  assert.equal(read.metadata, written.metadata);
  assert.equal(Filter.withDefaults(read), read);
});

test('validation names the field, the value and the allowed values in the words of the server', () => {
  const messages = (object: unknown, old?: unknown) => Filter.validate(object, old).map(({ message }) => message);
  assert.deepEqual(messages({ ...meta, spec: { type: 'a', configTemplate: {}, replicas: 1 } }), []);
  assert.deepEqual(messages({ ...meta, spec: { type: '', replicas: 0, mode: 'Off' } }), [
    'spec.type: Invalid value: "": spec.type in body should be at least 1 chars long',
    'spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1',
    'spec.mode: Unsupported value: "Off": supported values: "Zero", "Keep"',
    'spec.configTemplate: Required value',
    '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ]);
  assert.deepEqual(messages({ ...meta, apiVersion: 'v1', kind: 'Pod', spec: { type: 'a', configTemplate: {} } }), [
    'kind: Invalid value: "Pod": must be Filter',
    'apiVersion: Invalid value: "v1": must be example.io/v1alpha1',
  ]);
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'A',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const twice = { ...meta, spec: { type: 'a', configTemplate: {} }, status: { conditions: [condition, condition] } };
  assert.deepEqual(messages(twice), ['status.conditions[1]: Duplicate value: {"type":"Ready"}']);
  assert.deepEqual(messages({ ...twice, status: { conditions: [condition, condition], configHash: 'x' } }, twice), []);
});

test('rules are evaluated by the given evaluator, on values that the schema accepts', () => {
  const seen: unknown[] = [];
  const evaluateRule: EvaluateRule = ({ self, oldSelf }) => {
    seen.push([self, oldSelf]);
    return { holds: false };
  };
  const spec = { type: 'a', configTemplate: {}, replicas: 7 };
  const old = { ...meta, spec: { ...spec, replicas: 6 } };
  const failed = Filter.validate({ ...meta, spec }, old, { evaluateRule });
  assert.deepEqual(
    failed.map(({ message }) => message),
    ['spec.replicas: Invalid value: too many'],
  );
  assert.deepEqual(seen, [[spec, old.spec]]);
  const blocked = Filter.validate({ ...meta, spec: { type: 'a' } }, undefined, { evaluateRule });
  assert.deepEqual(
    blocked.map(({ message }) => message),
    [
      'spec.configTemplate: Required value',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ],
  );
  assert.equal(seen.length, 1);
});

test('a kind evaluates its own rules', () => {
  const spec = { type: 'a', configTemplate: {}, replicas: 7 };
  const messages = (replicas: number) =>
    Filter.validate({ ...meta, spec: { ...spec, replicas } }).map(({ message }) => message);
  assert.deepEqual(messages(7), ['spec.replicas: Invalid value: too many']);
  assert.deepEqual(messages(3), []);
});

test('an alias is read as the kind, and its object is not changed', () => {
  const old = {
    apiVersion: 'old.example.io/v1',
    kind: 'OldFilter',
    metadata: { name: 'a' },
    config: { type: 't', configTemplate: {} },
  };
  const before = structuredClone(old);
  assert.deepEqual(Filter.viewOf(old), {
    apiVersion: 'example.io/v1alpha1',
    kind: 'Filter',
    metadata: { name: 'a' },
    spec: { type: 't', configTemplate: {}, replicas: 1 },
  });
  assert.deepEqual(old, before);
  const own = { ...meta, spec: { type: 't', configTemplate: {}, replicas: 1 } };
  assert.equal(Filter.viewOf(own), own);
  assert.deepEqual(
    Filter.aliases.map(({ kind }) => kind.plural),
    ['oldfilters'],
  );
  assert.throws(() => Filter.viewOf({ ...meta, kind: 'Other' }), {
    name: 'SchemaError',
    message:
      'cannot view Other of example.io/v1alpha1 as Filter: it is neither that kind nor an alias of it; use one of Filter of example.io/v1alpha1, OldFilter of old.example.io/v1',
  });
});

test('misplaced fields are read in their place', () => {
  const Config = defineKind({
    group: 'example.io',
    version: 'v1',
    kind: 'Config',
    scope: 'Namespaced',
    spec: object({ configuration: anyObject({ optional: true }), confguration: anyObject({ optional: true }) }),
    normalise(object) {
      const { confguration, ...spec } = object['spec'] as Record<string, unknown>;
      return confguration === undefined ? object : { ...object, spec: { configuration: confguration, ...spec } };
    },
  });
  const written = { apiVersion: 'example.io/v1', kind: 'Config', metadata: {}, spec: { confguration: { a: 1 } } };
  assert.deepEqual(Config.viewOf(written).spec, { configuration: { a: 1 } });
});

test('several versions are served, one is stored, and a deprecated one has a warning', () => {
  const spec = object({ a: string({ optional: true }) });
  const kind = defineKind({
    group: 'example.io',
    version: 'v1',
    kind: 'Gateway',
    scope: 'Cluster',
    spec,
    versions: [
      { name: 'v1beta1', deprecated: true, deprecationWarning: 'use v1' },
      { name: 'v1alpha1', served: false, spec: object({ b: string({ default: 'x', maxLength: 1 }) }) },
    ],
    storageVersion: 'v1beta1',
  });
  const versions = kind.crd().spec.versions;
  assert.deepEqual(
    versions.map(({ name, served, storage, deprecated, deprecationWarning }) => [
      name,
      served,
      storage,
      deprecated,
      deprecationWarning,
    ]),
    [
      ['v1', true, false, undefined, undefined],
      ['v1beta1', true, true, true, 'use v1'],
      ['v1alpha1', false, false, undefined, undefined],
    ],
  );
  const fields = versions.map(({ schema }) =>
    Object.keys(schema?.openAPIV3Schema?.properties?.['spec']?.properties ?? {}),
  );
  assert.deepEqual(fields, [['a'], ['a'], ['b']]);
  const old = { apiVersion: 'example.io/v1alpha1', kind: 'Gateway', metadata: {}, spec: {} };
  assert.deepEqual(kind.withDefaults(old).spec, { b: 'x' });
  assert.deepEqual(
    kind.validate({ ...old, spec: { b: 'xx' } }).map(({ message }) => message),
    ['spec.b: Too long: may not be more than 1 byte'],
  );
  assert.equal(kind.viewOf(old).apiVersion, 'example.io/v1');
});

test('a kind without spec and status has the top-level fields of its schema', () => {
  const Binding = defineKind({
    group: 'example.io',
    version: 'v1',
    kind: 'Binding',
    scope: 'Cluster',
    schema: object(
      { target: string(), subjects: array(string(), { optional: true }) },
      { oneOf: exactlyOneOf('target') },
    ),
  });
  const object1: KindOf<typeof Binding> = { apiVersion: 'example.io/v1', kind: 'Binding', metadata: {}, target: 'x' };
  assert.deepEqual(Binding.validate(object1), []);
  assert.deepEqual(Binding.schema.required, ['target']);
  assert.equal(Binding.hasStatus, false);
  const plain: KubeObject = object1;
  assert.ok(plain);
});

test('a kind that no server would accept cannot be defined', () => {
  assert.throws(
    () =>
      defineKind({
        group: 'example',
        version: 'v1',
        kind: 'Bad',
        scope: 'Cluster',
        spec: object({ a: integer({ default: 0, minimum: 1 }) }),
      }),
    {
      code: 'InvalidKind',
      message:
        'cannot define kind Bad: no API server would accept its CustomResourceDefinition. Correct its definition: ' +
        'spec.group: Invalid value: "example": should be a domain with at least one dot; ' +
        'spec.validation.openAPIV3Schema.properties[spec].properties[a].default: Invalid value: 0:  in body should be greater than or equal to 1',
    },
  );
});

test('plurals are derived by the rules of English', () => {
  const cases: [string, string][] = [
    ['KafkaProxy', 'kafkaproxies'],
    ['KafkaProxyIngress', 'kafkaproxyingresses'],
    ['Gateway', 'gateways'],
    ['Broker', 'brokers'],
    ['Mailbox', 'mailboxes'],
    ['Switch', 'switches'],
  ];
  for (const [kind, plural] of cases) assert.equal(pluralOf(kind), plural);
});
