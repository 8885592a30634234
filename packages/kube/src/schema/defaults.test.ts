import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults } from './defaults.ts';
import type { JsonSchema } from './json-schema.ts';

const replicas: JsonSchema = { type: 'object', properties: { replicas: { type: 'integer', default: 1 } } };

const CASES: [title: string, schema: JsonSchema, value: unknown, result: unknown][] = [
  ['an absent field is filled in', replicas, {}, { replicas: 1 }],
  ['a given field stays', replicas, { replicas: 0 }, { replicas: 0 }],
  ['an absent parent is not made', { type: 'object', properties: { spec: replicas } }, {}, {}],
  [
    'a present parent is filled in',
    { type: 'object', properties: { spec: replicas } },
    { spec: {} },
    { spec: { replicas: 1 } },
  ],
  [
    'a parent with a default is made and filled in',
    { type: 'object', properties: { spec: { ...replicas, default: {} } } },
    {},
    { spec: { replicas: 1 } },
  ],
  ['a null that is not allowed takes the default', replicas, { replicas: null }, { replicas: 1 }],
  [
    'a null that is not allowed goes when there is no default',
    { type: 'object', properties: { a: { type: 'string' } } },
    { a: null },
    {},
  ],
  [
    'a null that is allowed stays',
    { type: 'object', properties: { a: { type: 'string', nullable: true, default: 'x' } } },
    { a: null },
    { a: null },
  ],
  [
    'items are filled in',
    { type: 'array', items: replicas },
    [{}, { replicas: 2 }],
    [{ replicas: 1 }, { replicas: 2 }],
  ],
  ['a null item without a default stays', { type: 'array', items: { type: 'string' } }, ['a', null], ['a', null]],
  [
    'values of maps are filled in',
    { type: 'object', additionalProperties: replicas },
    { a: {} },
    { a: { replicas: 1 } },
  ],
  [
    'a null value of a map goes',
    { type: 'object', additionalProperties: { type: 'string' } },
    { a: null, b: 'x' },
    { b: 'x' },
  ],
  ['unknown fields stay', replicas, { other: null }, { other: null, replicas: 1 }],
  ['a value of the wrong type stays', replicas, 'text', 'text'],
];

for (const [title, schema, value, result] of CASES) {
  test(`defaults: ${title}`, () => {
    const before = structuredClone(value);
    assert.deepEqual(applyDefaults(schema, value), result);
    assert.deepEqual(value, before, 'the input is never changed');
  });
}

test('defaulting copies only the way to what changed', () => {
  const schema: JsonSchema = { type: 'object', properties: { a: replicas, b: replicas } };
  const value: Record<string, object> = { a: {}, b: { replicas: 3 }, c: {} };
  const result = applyDefaults(schema, value);
  assert.notEqual(result, value);
  assert.equal(result['b'], value['b']);
  assert.equal(result['c'], value['c']);
});

test('defaulting what misses nothing gives the same reference', () => {
  const value = { replicas: 1 };
  assert.equal(applyDefaults(replicas, value), value);
});

test('a default that a user changes in place does not reach the next object', () => {
  const schema: JsonSchema = { type: 'object', properties: { labels: { type: 'object', default: { a: 'b' } } } };
  const result = applyDefaults<{ labels?: Record<string, string> }>(schema, {});
  assert.throws(() => Object.assign(result.labels ?? {}, { a: 'c' }), TypeError);
});
