import assert from 'node:assert/strict';
import { test } from 'node:test';
import { object, string } from '../schema/builder.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { compareCrds, compareSchemas } from './compare-schemas.ts';
import { defineKind } from './define-kind.ts';

const text: JsonSchema = { type: 'string' };
const withFields = (properties: Record<string, JsonSchema>, required?: string[]): JsonSchema => ({
  type: 'object',
  properties,
  ...(required && { required }),
});

const BREAKING: [title: string, released: JsonSchema, current: JsonSchema, type: string, message: string][] = [
  ['a removed field', withFields({ a: text }), withFields({}), 'FieldRemoved', 'spec.a: the field was removed'],
  [
    'a new required field',
    withFields({}),
    withFields({ a: text }, ['a']),
    'FieldRequired',
    'spec.a: the field is required now',
  ],
  [
    'an optional field that became required',
    withFields({ a: text }),
    withFields({ a: text }, ['a']),
    'FieldRequired',
    'spec.a: the field is required now',
  ],
  ['another type', text, { type: 'integer' }, 'TypeChanged', 'spec: the type changed from string to integer'],
  [
    'an int-or-string that is an integer now',
    { 'x-kubernetes-int-or-string': true },
    { type: 'integer' },
    'TypeChanged',
    'spec: the type changed from integer or string to integer',
  ],
  [
    'a removed value',
    { ...text, enum: ['a', 'b'] },
    { ...text, enum: ['a', 'c'] },
    'ValuesNarrowed',
    'spec: "b" not allowed any more',
  ],
  ['a new enum', text, { ...text, enum: ['a'] }, 'ValuesNarrowed', 'spec: only "a" are allowed now'],
  [
    'a raised minimum',
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 2 },
    'ValuesNarrowed',
    'spec: minimum rose from 1 to 2',
  ],
  [
    'a new minimum',
    { type: 'integer' },
    { type: 'integer', minimum: -5 },
    'ValuesNarrowed',
    'spec: minimum rose from none to -5',
  ],
  [
    'a lower maximum',
    { ...text, maxLength: 9 },
    { ...text, maxLength: 5 },
    'ValuesNarrowed',
    'spec: maxLength fell from 9 to 5',
  ],
  ['a new pattern', text, { ...text, pattern: 'a' }, 'ValuesNarrowed', 'spec: pattern was added: "a"'],
  [
    'another pattern',
    { ...text, pattern: 'a' },
    { ...text, pattern: 'b' },
    'ValuesNarrowed',
    'spec: pattern changed from "a": "b"',
  ],
  [
    'null not allowed any more',
    { ...text, nullable: true },
    text,
    'ValuesNarrowed',
    'spec: null is not allowed any more',
  ],
  [
    'pruning',
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    { type: 'object' },
    'ValuesNarrowed',
    'spec: unknown fields are dropped now',
  ],
  [
    'another default',
    { ...text, default: 'a' },
    { ...text, default: 'b' },
    'DefaultChanged',
    'spec: the default "a" changed to "b"',
  ],
  ['a removed default', { ...text, default: 'a' }, text, 'DefaultChanged', 'spec: the default "a" was removed'],
  [
    'a new rule',
    text,
    { ...text, 'x-kubernetes-validations': [{ rule: 'false' }] },
    'RuleAdded',
    'spec: there is a new rule: false',
  ],
  [
    'a list that became a set',
    { type: 'array', items: text },
    { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    'ListTypeChanged',
    'spec: x-kubernetes-list-type changed from atomic to set',
  ],
  [
    'narrower items',
    { type: 'array', items: text },
    { type: 'array', items: { ...text, minLength: 1 } },
    'ValuesNarrowed',
    'spec[]: minLength rose from none to 1',
  ],
  [
    'narrower values of a map',
    { type: 'object', additionalProperties: text },
    { type: 'object', additionalProperties: { ...text, maxLength: 1 } },
    'ValuesNarrowed',
    'spec.*: maxLength fell from none to 1',
  ],
  [
    'a map that has certain keys now',
    { type: 'object', additionalProperties: text },
    withFields({ a: text }),
    'FieldRemoved',
    'spec.*: keys of any name were removed',
  ],
];

for (const [title, released, current, type, message] of BREAKING) {
  test(`${title} is a breaking change`, () => {
    const changes = compareSchemas(withFields({ spec: released }), withFields({ spec: current }));
    assert.deepEqual(
      changes.map((change) => [change.type, change.message]),
      [[type, message]],
    );
  });
}

const COMPATIBLE: [title: string, released: JsonSchema, current: JsonSchema][] = [
  ['nothing', text, { ...text, description: 'new words' }],
  ['a new optional field', withFields({}), withFields({ a: text })],
  ['a new required field with a default', withFields({}), withFields({ a: { ...text, default: 'a' } }, ['a'])],
  ['a field that is not required any more', withFields({ a: text }, ['a']), withFields({ a: text })],
  ['more values', { ...text, enum: ['a'] }, { ...text, enum: ['a', 'b'] }],
  ['wider bounds', { type: 'integer', minimum: 1, maximum: 2 }, { type: 'integer', minimum: 0, maximum: 3 }],
  ['a bound that changes nothing', { type: 'array', items: text }, { type: 'array', items: text, minItems: 0 }],
  ['an integer that may be any number', { type: 'integer' }, { type: 'number' }],
  ['a string that may be an integer', text, { 'x-kubernetes-int-or-string': true }],
  ['a removed pattern', { ...text, pattern: 'a' }, text],
  [
    'fields that are kept as unknown ones',
    withFields({ a: text }),
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  ],
  ['fields that became keys of a map', withFields({ a: text }), { type: 'object', additionalProperties: text }],
];

for (const [title, released, current] of COMPATIBLE) {
  test(`${title} breaks nothing`, () => {
    assert.deepEqual(compareSchemas(withFields({ spec: released }), withFields({ spec: current })), []);
  });
}

test('names, scope, versions and subresources of a kind are part of its contract', () => {
  const base = {
    group: 'example.io',
    version: 'v1',
    kind: 'A',
    scope: 'Namespaced' as const,
    spec: object({ a: string({ optional: true }) }),
  };
  const status = object({ b: string({ optional: true }) });
  const released = defineKind({
    ...base,
    status,
    selectableFields: ['.spec.a'],
    versions: [{ name: 'v1beta1' }, { name: 'v1alpha1', served: false }],
  }).crd();
  const current = defineKind({ ...base, scope: 'Cluster', plural: 'aas', spec: object({}) }).crd();
  assert.deepEqual(compareCrds(released, released), []);
  assert.deepEqual(
    compareCrds(released, current).map(({ type, version, message }) => [type, version, message]),
    [
      ['NameChanged', undefined, 'the plural changed from as to aas'],
      ['ScopeChanged', undefined, 'the scope changed from Namespaced to Cluster'],
      ['SubresourceRemoved', 'v1', 'the status subresource was removed'],
      ['SelectableFieldRemoved', 'v1', 'lists cannot be filtered by .spec.a any more'],
      ['FieldRemoved', 'v1', 'spec.a: the field was removed'],
      ['FieldRemoved', 'v1', 'status: the field was removed'],
      ['VersionRemoved', 'v1beta1', 'version v1beta1 is not served any more'],
    ],
  );
});
