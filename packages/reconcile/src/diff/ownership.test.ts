import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject, ManagedFieldsEntry } from '@capstan/kube';
import { appliedEntry } from '../ownership/index.ts';
import { takenFields } from './ownership.ts';

const entry = (fieldsV1: Record<string, unknown>): ManagedFieldsEntry => ({
  manager: 'us',
  operation: 'Apply',
  fieldsType: 'FieldsV1',
  fieldsV1,
});
const sent = (spec: unknown, metadata: object = {}) =>
  ({ apiVersion: 'v1', kind: 'Odd', metadata: { name: 'a', namespace: 'b', ...metadata }, spec }) as KubeObject;
const taken = (spec: unknown, owned: Record<string, unknown>, yields?: string[]) =>
  takenFields(sent(spec), entry({ 'f:spec': owned }), yields);

describe('a field that we sent is ours', () => {
  const cases: [what: string, spec: unknown, owned: Record<string, unknown>][] = [
    ['while our entry has it', { a: 1 }, { 'f:a': {} }],
    ['with all that is below it', { a: { b: { c: 1 } } }, { 'f:a': { 'f:b': { 'f:c': {} } } }],
    ['as part of an atomic object', { a: { b: { c: 1 } } }, { 'f:a': {} }],
    ['as part of an atomic list', { a: [{ b: 1 }, { b: 2 }] }, { 'f:a': {} }],
    [
      'as an item of a list that is a map',
      { a: [{ name: 'x', b: 1 }] },
      { 'f:a': { 'k:{"name":"x"}': { '.': {}, 'f:name': {}, 'f:b': {} } } },
    ],
    [
      'as an item whose key the server has completed',
      { a: [{ port: 53 }] },
      { 'f:a': { 'k:{"port":53,"protocol":"TCP"}': { '.': {}, 'f:port': {} } } },
    ],
    ['as an atomic item of a list that is a map', { a: [{ name: 'x', b: 1 }] }, { 'f:a': { 'k:{"name":"x"}': {} } }],
    ['as a member of a set', { a: ['x', 'y'] }, { 'f:a': { 'v:"x"': {}, 'v:"y"': {} } }],
    ['as a member of a set, however the server writes it', { a: ['<x>'] }, { 'f:a': { 'v:"\\u003cx\\u003e"': {} } }],
    ['as a number in a set', { a: [1, 2] }, { 'f:a': { 'v:1': {}, 'v:2': {} } }],
    [
      'in a map within a map item',
      { a: [{ name: 'x', b: [{ name: 'y', c: 1 }] }] },
      { 'f:a': { 'k:{"name":"x"}': { 'f:name': {}, 'f:b': { 'k:{"name":"y"}': { 'f:name': {}, 'f:c': {} } } } } },
    ],
    ['if it is empty, since servers drop what is empty', { a: {}, b: [], c: null, d: undefined }, { 'f:z': {} }],
    ['if its name is one that objects have', { constructor: 1 }, { 'f:constructor': {} }],
    ['if its value is false, zero or an empty text', { a: false, b: 0, c: '' }, { 'f:a': {}, 'f:b': {}, 'f:c': {} }],
  ];
  for (const [what, spec, owned] of cases) test(what, () => assert.deepEqual(taken(spec, owned), []));
});

describe('a field that we sent is taken', () => {
  const cases: [what: string, spec: unknown, owned: Record<string, unknown>, paths: string[]][] = [
    ['when our entry has lost it', { a: 1, b: 2 }, { 'f:b': {} }, ['spec.a']],
    ['when our entry has lost it below', { a: { b: 1, c: 2 } }, { 'f:a': { 'f:b': {} } }, ['spec.a.c']],
    [
      'when its value is false, zero or an empty text',
      { a: false, b: 0, c: '', d: 1 },
      { 'f:d': {} },
      ['spec.a', 'spec.b', 'spec.c'],
    ],
    [
      'in an item of a map',
      { a: [{ name: 'x', b: 1 }] },
      { 'f:a': { 'k:{"name":"x"}': { 'f:name': {} } } },
      ['spec.a[0].b'],
    ],
    [
      'with its whole item',
      { a: [{ name: 'x' }, { name: 'y' }] },
      { 'f:a': { 'k:{"name":"y"}': { 'f:name': {} } } },
      ['spec.a[0]'],
    ],
    ['as a member of a set', { a: ['x', 'y'] }, { 'f:a': { 'v:"y"': {} } }, ['spec.a[0]']],
    ['as a text that a set has as a number', { a: ['1'] }, { 'f:a': { 'v:1': {} } }, ['spec.a[0]']],
    ['as a whole list', { a: ['x'], b: 1 }, { 'f:b': {} }, ['spec.a']],
    ['when its item is null', { a: [null, 'x'] }, { 'f:a': { 'v:"x"': {} } }, ['spec.a[0]']],
  ];
  for (const [what, spec, owned, paths] of cases) test(what, () => assert.deepEqual(taken(spec, owned), paths));

  test('when there is no entry at all', () => {
    assert.deepEqual(takenFields(sent({ a: 1 }), undefined), ['.']);
    assert.deepEqual(takenFields(sent({ a: 1 }), { manager: 'us', operation: 'Apply' }), ['.']);
  });

  test('a field that we sent is taken as a label, but not as the name and namespace, which nothing owns', () => {
    const object = sent({ a: 1 }, { labels: { 'app.kubernetes.io/name': 'x' } });
    assert.deepEqual(
      takenFields(object, entry({ 'f:spec': { 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:z': {} } } })),
      ['metadata.labels.app.kubernetes.io/name'],
    );
  });
});

test('yielded fields are passed over with all that is below them', () => {
  assert.deepEqual(taken({ a: { b: 1 }, c: 1, d: 1 }, { 'f:d': {} }, ['spec.a', 'spec.c']), []);
  assert.deepEqual(taken({ a: { b: 1, c: 1 }, d: 1 }, { 'f:a': { 'f:z': {} }, 'f:d': {} }, ['spec.a.b']), ['spec.a.c']);
});

test('so many taken fields are reported, and no more', () => {
  const spec = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`a${index}`, { b: 1, c: 2 }]));
  assert.equal(taken(spec, { 'f:z': {} }).length, 10);
  assert.equal(
    taken({ list: Array.from({ length: 30 }, (_, index) => `x${index}`) }, { 'f:list': { 'v:"z"': {} } }).length,
    10,
  );
});

test('our entry is that of our own apply to the object itself', () => {
  const entries: ManagedFieldsEntry[] = [
    { manager: 'them', operation: 'Apply', fieldsV1: {} },
    { manager: 'us', operation: 'Update', fieldsV1: {} },
    { manager: 'us', operation: 'Apply', subresource: 'status', fieldsV1: {} },
  ];
  assert.equal(appliedEntry({ metadata: { managedFields: entries } }, 'us'), undefined);
  const ours = entry({});
  assert.equal(appliedEntry({ metadata: { managedFields: [...entries, ours] } }, 'us'), ours);
  assert.equal(appliedEntry({ metadata: {} }, 'us'), undefined);
});
