import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '../builtin/index.ts';
import { checkStructural } from '../crd/structural.ts';
import {
  anyObject,
  anyValue,
  array,
  boolean,
  enumOf,
  exactlyOneOf,
  integer,
  intOrString,
  literal,
  map,
  nullable,
  number,
  object,
  optional,
  schemaOf,
  string,
} from './builder.ts';
import {
  conditions,
  duration,
  embeddedResource,
  keyReference,
  kindReference,
  labelSelector,
  localReference,
  namespacedReference,
  quantity,
  templateMetadata,
} from './builder-kubernetes.ts';
import type { InputOf, Schema, TypeOf } from './schema-type.ts';
import { validateSchema } from './validation/validate-schema.ts';

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Fails to compile unless both types are the same. */
function sameType<A, B>(_same: Equal<A, B>): void {}

test('fields are required without `required` unless they are optional or have a default', () => {
  const schema = object({
    a: string(),
    b: integer({ optional: true }),
    c: boolean({ default: false }),
    d: number({ optional: true, default: 1 }),
  });
  sameType<TypeOf<typeof schema>, { a: string; c: boolean; d: number; b?: number }>(true);
  sameType<InputOf<typeof schema>, { a: string; b?: number; c?: boolean; d?: number }>(true);
  assert.deepEqual(schema.json.required, ['a']);
});

test('exactly the named fields are required with `required`', () => {
  const schema = object(
    { a: string(), b: string({ optional: true }), c: string({ default: 'x' }) },
    { required: ['b'] },
  );
  sameType<TypeOf<typeof schema>, { b: string; c: string; a?: string }>(true);
  sameType<InputOf<typeof schema>, { b: string; a?: string; c?: string }>(true);
  assert.deepEqual(schema.json.required, ['b']);
  const none = object({ a: string() }, { required: [] });
  sameType<TypeOf<typeof none>, { a?: string }>(true);
  assert.equal(none.json.required, undefined);
});

test('the static types follow every construct', () => {
  const schema = object({
    mode: enumOf(['Zero', 'Keep']),
    kind: literal('A'),
    tags: array(string()),
    limits: map(quantity()),
    port: intOrString(),
    free: anyObject(),
    any: anyValue(),
    nothing: string({ nullable: true }),
    wrapped: nullable(array(object({ a: string({ default: '' }) }))),
    left: optional(string()),
    raw: schemaOf<Date>({ type: 'string' }),
    conditions: conditions(),
    wait: duration({ default: '5s' }),
  });
  sameType<
    TypeOf<typeof schema>,
    {
      mode: 'Zero' | 'Keep';
      kind: 'A';
      tags: string[];
      limits: Record<string, string | number>;
      port: string | number;
      free: Record<string, unknown>;
      any: unknown;
      nothing: string | null;
      wrapped: { a: string }[] | null;
      raw: Date;
      wait: string;
      left?: string;
      conditions?: Condition[];
    }
  >(true);
  sameType<InputOf<typeof schema>['wrapped'], { a?: string }[] | null>(true);
});

test('misspelt options and defaults of another type do not compile', () => {
  // @ts-expect-error: minLenght is no option
  string({ minLenght: 1 });
  // @ts-expect-error: the default of a string is a string
  string({ default: 1 });
  // @ts-expect-error: c is not one of the values
  enumOf(['a', 'b'], { default: 'c' });
  // @ts-expect-error: b is not a field
  object({ a: string() }, { required: ['b'] });
  // @ts-expect-error: the server refuses null for every enum
  enumOf(['a'], { nullable: true });
});

test('options become the keywords of the schema', () => {
  const rules = [{ rule: 'self.a != ""', message: 'a must not be empty' }];
  const schema = object(
    {
      a: string({ pattern: '^a', description: 'The a.' }),
      b: array(string(), { listType: 'set', maxItems: 3, optional: true }),
    },
    { rules, mapType: 'atomic', preserveUnknown: true, oneOf: exactlyOneOf('a', 'b') },
  );
  assert.deepEqual(schema.json, {
    type: 'object',
    properties: {
      a: { type: 'string', pattern: '^a', description: 'The a.' },
      b: { type: 'array', items: { type: 'string' }, maxItems: 3, 'x-kubernetes-list-type': 'set' },
    },
    required: ['a'],
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
    'x-kubernetes-map-type': 'atomic',
    'x-kubernetes-preserve-unknown-fields': true,
    'x-kubernetes-validations': rules,
  });
});

const PARTS: [name: string, schema: Schema, yes: unknown[], no: unknown[]][] = [
  ['quantity', quantity(), ['500m', '1Gi', 2, '1e3', '.5'], ['1 Gi', 'x', true, 1.5]],
  ['duration', duration(), ['0', '30s', '1h30m', '1.5h', '100ms'], ['', '30', '-1s', '1d']],
  ['int-or-string', intOrString(), [1, 'http'], [1.5, {}]],
  [
    'label selector',
    labelSelector(),
    [{}, { matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
    [{ matchExpressions: [{ key: 'a', operator: 'Is' }] }],
  ],
  ['local reference', localReference(), [{ name: 'a.b' }], [{}, { name: '' }, { name: 'A' }]],
  [
    'namespaced reference',
    namespacedReference(),
    [{ name: 'a', namespace: 'b' }, { name: 'a' }],
    [{ namespace: 'b' }, { name: 'a', namespace: 'b.c' }],
  ],
  ['key reference', keyReference(), [{ name: 'a', key: 'k' }], [{ name: 'a' }]],
  ['kind reference', kindReference(), [{ kind: 'Secret', name: 'a' }], [{ name: 'a' }]],
  ['template metadata', templateMetadata(), [{ labels: { a: 'b' } }], [{ labels: { a: 1 } }]],
  ['embedded resource', embeddedResource(), [{ apiVersion: 'v1', kind: 'Pod', spec: {} }], ['Pod']],
  [
    'conditions',
    conditions(),
    [
      [],
      [
        {
          type: 'a.io/Ready',
          status: 'True',
          reason: 'AllGood',
          message: '',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    ],
    [
      [{ type: 'Ready', status: 'Yes', reason: 'A', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
      [{ type: 'Ready' }],
    ],
  ],
];

for (const [name, schema, yes, no] of PARTS) {
  test(`the shared part "${name}" is structural and takes what it should`, () => {
    assert.deepEqual(checkStructural({ type: 'object', properties: { spec: schema.json } }), []);
    for (const value of yes) assert.deepEqual(validateSchema(schema.json, value), []);
    for (const value of no) assert.notDeepEqual(validateSchema(schema.json, value), [], JSON.stringify(value));
  });
}
