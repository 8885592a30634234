import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateEmbeddedResources } from '../embedded-resource.ts';
import type { JsonSchema } from '../json-schema.ts';
import { validateListTypes } from './list-map.ts';

const set: JsonSchema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
const listMap = (...keys: string[]): JsonSchema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', properties: { tags: set } },
});

const CASES: [title: string, schema: JsonSchema, value: unknown, ...messages: string[]][] = [
  ['a repeated item of a set, once', set, ['a', 'b', 'a', 'a'], 'spec.x[2]: Duplicate value: "a"'],
  ['nothing when a number and a string look alike', set, ['1', 1]],
  [
    'a repeated object of a set',
    { ...set, items: { type: 'object' } },
    [
      { b: 1, a: 1 },
      { a: 1, b: 1 },
    ],
    'spec.x[1]: Duplicate value: {"a":1,"b":1}',
  ],
  [
    'a repeated key',
    listMap('name'),
    [{ name: 'a' }, { name: 'b' }, { name: 'a' }],
    'spec.x[2]: Duplicate value: {"name":"a"}',
  ],
  [
    'a repeated pair of keys',
    listMap('port', 'protocol'),
    [
      { port: 1, protocol: 'TCP' },
      { port: 1, protocol: 'UDP' },
      { protocol: 'TCP', port: 1 },
    ],
    'spec.x[2]: Duplicate value: {"port":1,"protocol":"TCP"}',
  ],
  ['a repeated absence of the key', listMap('name'), [{ a: 1 }, {}], 'spec.x[1]: Duplicate value: {}'],
  [
    'an item that is no object',
    listMap('name'),
    [{ name: 'a' }, 'b'],
    'spec.x[1]: Invalid value: "b": must be an object for an array of list-type map',
  ],
  [
    'a set inside an item',
    listMap('name'),
    [{ name: 'a', tags: ['x', 'x'] }],
    'spec.x[0].tags[1]: Duplicate value: "x"',
  ],
  [
    'a set inside a map, in brackets',
    { type: 'object', additionalProperties: set },
    { k: ['x', 'x'] },
    'spec.x[k][1]: Duplicate value: "x"',
  ],
];

for (const [title, schema, value, ...messages] of CASES) {
  test(`list types report ${title}`, () => {
    const root: JsonSchema = { type: 'object', properties: { spec: { type: 'object', properties: { x: schema } } } };
    assert.deepEqual(
      validateListTypes(root, { spec: { x: value } }).map(({ message }) => message),
      messages,
    );
  });
}

test('an embedded resource needs an apiVersion and a kind that could be one', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      template: {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      },
    },
  };
  const messages = (template: unknown) => validateEmbeddedResources(schema, { template }).map(({ message }) => message);
  assert.deepEqual(messages({ apiVersion: 'v1', kind: 'Pod', metadata: {} }), []);
  assert.deepEqual(messages({}), ['template.apiVersion: Required value', 'template.kind: Required value']);
  assert.deepEqual(messages({ apiVersion: 'a/b/c', kind: '' }), [
    'template.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    'template.kind: Invalid value: "": must not be empty',
  ]);
  assert.deepEqual(validateEmbeddedResources(schema, {}), []);
});
