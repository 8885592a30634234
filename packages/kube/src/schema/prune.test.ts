import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from './json-schema.ts';
import { prune } from './prune.ts';

const port: JsonSchema = { type: 'object', properties: { name: { type: 'string' } } };

const CASES: [title: string, schema: JsonSchema, value: unknown, result: unknown, dropped: string[]][] = [
  ['an unknown field', port, { name: 'a', nme: 'b' }, { name: 'a' }, ['nme']],
  [
    'an unknown field in a list',
    { type: 'object', properties: { ports: { type: 'array', items: port } } },
    { ports: [{}, { nme: 1 }] },
    { ports: [{}, {}] },
    ['ports[1].nme'],
  ],
  [
    'an unknown field in a map',
    { type: 'object', additionalProperties: port },
    { a: { nme: 1 } },
    { a: {} },
    ['a.nme'],
  ],
  [
    'everything below values of any type',
    { type: 'object', additionalProperties: true },
    { a: { b: 1 }, c: 1 },
    { a: {}, c: 1 },
    ['a.b'],
  ],
  [
    'nothing where unknown fields are preserved',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    { a: { b: [{ c: 1 }] } },
    { a: { b: [{ c: 1 }] } },
    [],
  ],
  [
    'what is specified again below a part that preserves unknown fields',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { port } },
    { other: { a: 1 }, port: { nme: 1 } },
    { other: { a: 1 }, port: {} },
    ['port.nme'],
  ],
  [
    'all but the metadata of an embedded resource',
    { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: port } },
    { apiVersion: 'v1', kind: 'Pod', metadata: { labels: {} }, spec: { a: 1 }, extra: 1 },
    { apiVersion: 'v1', kind: 'Pod', metadata: { labels: {} }, spec: {} },
    ['extra', 'spec.a'],
  ],
  ['nothing of a value of the wrong type', port, 'text', 'text', []],
];

for (const [title, schema, value, result, dropped] of CASES) {
  test(`pruning drops ${title}`, () => {
    assert.deepEqual(prune(schema, value), { value: result, dropped });
  });
}

test('pruning a whole object keeps its apiVersion, kind and metadata', () => {
  const schema: JsonSchema = { type: 'object', properties: { spec: port } };
  const object = { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'x' }, spec: { name: 'n' }, extra: true };
  const pruned = prune(schema, object, { isResource: true });
  assert.deepEqual(pruned.dropped, ['extra']);
  assert.equal(pruned.value.metadata, object.metadata);
  assert.equal(pruned.value.spec, object.spec);
});

test('pruning what has nothing to drop gives the same reference', () => {
  const value = { name: 'a' };
  assert.equal(prune(port, value).value, value);
});
