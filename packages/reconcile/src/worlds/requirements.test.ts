import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  Deployment,
  defineKind,
  externalKind,
  type KubeObject,
  kindId,
  object,
  Secret,
  Service,
} from '@capstan/kube';
import { plan } from '../plan/index.ts';
import { type ReconcilerDefinition, reading, reconciler, writing } from '../reconciler.ts';
import { requirementsOf } from './requirements.ts';

const named = (definition: Partial<ReconcilerDefinition<never>>) =>
  reconciler({ name: 'x', resource: ConfigMap, reconcile: () => plan(), ...definition } as ReconcilerDefinition<never>);
const needOf = (kind: { group: string; kind: string }, ...given: Partial<ReconcilerDefinition<never>>[]) =>
  requirementsOf(given.map(named)).get(kindId(kind));
const trim = (kept: KubeObject) => kept;

describe('a world caches', () => {
  test('everything of what is reconciled', () => {
    assert.deepEqual(needOf(ConfigMap, {}), {
      kind: ConfigMap,
      reads: 'all',
      children: false,
      optional: false,
      conditional: false,
      trim: undefined,
    });
  });

  test('Secrets and ConfigMaps by reference, other kinds as a whole, unless it is said otherwise', () => {
    const reads = [Secret, Service];
    assert.equal(needOf(Secret, { reads })?.reads, 'referenced');
    assert.equal(needOf(Service, { reads })?.reads, 'all');
    assert.equal(needOf(Service, { reads: [reading(Service, 'inNamespace')] })?.reads, 'ownNamespace');
    assert.equal(needOf(Secret, { reads: [reading(Secret, 'everywhere')] })?.reads, 'all');
  });

  test('our own objects of kinds that are only written, or only read where they are ours', () => {
    for (const given of [{ writes: [Service] }, { reads: [reading(Service, 'owned')] }]) {
      const need = needOf(Service, given);
      assert.deepEqual([need?.reads, need?.children], [undefined, true]);
    }
  });

  test('what a reconciler trims, trimmed also where it reconciles or writes it', () => {
    const reads = [reading(ConfigMap, 'everywhere', { trim }), reading(Service, 'everywhere', { trim })];
    assert.equal(needOf(ConfigMap, { reads })?.trim, trim);
    assert.equal(needOf(Service, { reads, writes: [writing(Service, 'both')] })?.trim, trim);
    assert.equal(needOf(Service, { reads }, { writes: [Service] })?.trim, undefined);
  });

  test('everything of kinds in which others’ objects are written', () => {
    assert.deepEqual(needOf(Service, { writes: [writing(Service, 'others')] })?.reads, 'all');
    const both = needOf(Service, { writes: [writing(Service, 'both')] });
    assert.deepEqual([both?.reads, both?.children], ['all', true]);
  });

  test('what is reconciled only where it is installed, if the reconciler says so among its reads', () => {
    const reads = [reading(ConfigMap, 'everywhere', { optional: true })];
    assert.equal(needOf(ConfigMap, { reads })?.optional, true);
    assert.equal(needOf(ConfigMap, { reads, writes: [writing(ConfigMap, 'others')] })?.optional, true);
    assert.equal(needOf(ConfigMap, { reads }, {})?.optional, false);
  });

  test('nothing that nobody declares', () => {
    assert.equal(needOf(Deployment, { reads: [Service] }), undefined);
  });
});

describe('of several declarations', () => {
  test('the widest reach counts, and none says "absent" of what another may read', () => {
    const cases = [
      ['referenced', 'everywhere', 'all'],
      ['inNamespace', 'everywhere', 'all'],
      // Neither holds the other: what is outside of the namespace is not absent.
      ['referenced', 'inNamespace', 'all'],
      ['referenced', 'referenced', 'referenced'],
      ['inNamespace', 'inNamespace', 'ownNamespace'],
      ['owned', 'referenced', 'referenced'],
    ] as const;
    for (const [one, two, together] of cases) {
      const [left, right] = [one, two].map((reach) => ({ reads: [reading(Secret, reach)] }));
      assert.equal(needOf(Secret, left ?? {}, right ?? {})?.reads, together);
      assert.equal(needOf(Secret, right ?? {}, left ?? {})?.reads, together);
    }
  });

  test('children are needed when any makes them', () => {
    assert.equal(needOf(Service, { reads: [Service] }, { writes: [Service] })?.children, true);
  });

  test('a trim counts only if all have the same', () => {
    const trimmed = { reads: [reading(Service, 'everywhere', { trim })] };
    assert.equal(needOf(Service, trimmed, trimmed)?.trim, trim);
    assert.equal(needOf(Service, trimmed, { reads: [Service] })?.trim, undefined);
    assert.equal(needOf(Service, { reads: [Service] }, trimmed)?.trim, undefined);
    assert.equal(needOf(Service, trimmed, { writes: [Service] }, trimmed)?.trim, undefined);
    const other = { reads: [reading(Service, 'everywhere', { trim: (kept) => kept })] };
    assert.equal(needOf(Service, trimmed, other, trimmed)?.trim, undefined);
  });

  test('a kind is optional when nobody needs it', () => {
    const optional = { reads: [reading(Service, 'everywhere', { optional: true })] };
    assert.equal(needOf(Service, optional)?.optional, true);
    assert.equal(needOf(Service, optional, optional)?.optional, true);
    assert.equal(needOf(Service, optional, { reads: [Service] })?.optional, false);
    assert.equal(needOf(Service, { reads: [Service] }, optional)?.optional, false);
    assert.equal(needOf(Service, { writes: [Service] })?.optional, false);
    assert.equal(needOf(Service, { ...optional, writes: [Service] })?.optional, true);
    assert.equal(needOf(Service, { ...optional, writes: [writing(Service, 'others')] })?.optional, true);
  });

  test('the one that knows the schema and the aliases of a kind counts', () => {
    const Site = defineKind({ group: 'test.dev', version: 'v1', kind: 'Site', scope: 'Namespaced', spec: object({}) });
    const plain = externalKind({
      group: 'test.dev',
      version: 'v1',
      kind: 'Site',
      plural: 'sites',
      scope: 'Namespaced',
    });
    assert.equal(needOf(Site, { reads: [Site] }, { reads: [plain] })?.kind, Site);
    assert.equal(needOf(Site, { reads: [plain] }, { reads: [Site] })?.kind, Site);
  });
});
