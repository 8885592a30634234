import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { isPrimary, operator } from './operator.ts';
import { plan } from './plan/index.ts';
import { reconciler } from './reconciler.ts';

const named = (name: string, options: { primary?: boolean; resource?: typeof ConfigMap | typeof Secret } = {}) =>
  reconciler({ resource: ConfigMap, ...options, name, reconcile: () => plan() });

describe('an operator', () => {
  test('refuses names that could not be part of a label, a lease or a field manager', () => {
    for (const name of ['Gimbal', 'gim_bal', '-gimbal', 'gimbal-', '', 'a.b'])
      assert.throws(() => operator({ name, kinds: [], reconcilers: [] }), /lower-case/);
    assert.throws(() => operator({ name: 'gimbal', kinds: [], reconcilers: [named('Bad Name')] }), /lower-case/);
  });

  test('refuses two reconcilers of one name, whose children could not be distinguished', () => {
    assert.throws(() => operator({ name: 'gimbal', kinds: [], reconcilers: [named('a'), named('a')] }), /two/);
  });
});

describe('status.observedGeneration belongs to', () => {
  const primaries = (...reconcilers: ReturnType<typeof named>[]) => {
    const created = operator({ name: 'test', kinds: [], reconcilers });
    return reconcilers.filter((each) => isPrimary(created, each)).map(({ name }) => name);
  };

  test('the first reconciler of each kind', () => {
    assert.deepEqual(primaries(named('a'), named('b'), named('c', { resource: Secret })), ['a', 'c']);
  });

  test('the one that says so', () => {
    assert.deepEqual(primaries(named('a'), named('b', { primary: true })), ['b']);
  });

  test('the first one that does not refuse', () => {
    assert.deepEqual(primaries(named('a', { primary: false }), named('b'), named('c')), ['b']);
  });
});
