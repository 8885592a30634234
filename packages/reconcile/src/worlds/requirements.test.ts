import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  Deployment,
  defineKind,
  externalKind,
  kindId,
  object,
  Secret,
  Service,
  withAliases,
} from '@capstan/kube';
import { plan } from '../plan/index.ts';
import { type ReconcilerDefinition, reading, reconciler, writing } from '../reconciler.ts';
import { requirementsOf } from './requirements.ts';

const named = (definition: Partial<ReconcilerDefinition<never>>) =>
  reconciler({ name: 'x', resource: ConfigMap, reconcile: () => plan(), ...definition } as ReconcilerDefinition<never>);
const needOf = (kind: { group: string; kind: string }, ...given: Partial<ReconcilerDefinition<never>>[]) =>
  requirementsOf(given.map(named)).get(kindId(kind));

describe('a world caches', () => {
  test('everything of what is reconciled', () => {
    assert.deepEqual(needOf(ConfigMap, {}), {
      kind: ConfigMap,
      reads: 'all',
      children: false,
      optional: false,
      conditional: false,
      fields: undefined,
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

  test('a world caches the declared fields alone, also of kinds that the reconciler writes', () => {
    const fields = ['spec.ports'];
    const reads = [reading(ConfigMap, 'everywhere', { fields }), reading(Service, 'everywhere', { fields })];
    assert.deepEqual(needOf(ConfigMap, { reads })?.fields, [{ paths: fields }]);
    assert.deepEqual(needOf(Service, { reads, writes: [writing(Service, ['apply', 'patch'])] })?.fields, [
      { paths: fields },
    ]);
    assert.equal(needOf(Service, { reads }, { writes: [Service] })?.fields, undefined);
  });

  test('everything of kinds in which others’ objects are written', () => {
    assert.deepEqual(needOf(Service, { writes: [writing(Service, 'patch')] })?.reads, 'all');
    const both = needOf(Service, { writes: [writing(Service, ['apply', 'patch'])] });
    assert.deepEqual([both?.reads, both?.children], ['all', true]);
  });

  test('the namespaces that all its declarations name, and all where one names none', () => {
    const within = (...namespaces: string[]) => ({ namespaces });
    const reads = [reading(Service, 'everywhere', within('a'))];
    const writes = [writing(Service, 'apply', within('b'))];
    assert.deepEqual(needOf(Service, { reads })?.namespaces, ['a']);
    assert.deepEqual(needOf(Service, { reads, writes })?.namespaces, ['a', 'b']);
    assert.equal(needOf(Service, { reads }, { writes: [Service] })?.namespaces, undefined);
    assert.equal(needOf(Service, { reads: [Service] }, { writes })?.namespaces, undefined);
    // The empty one is the operator's own.
    assert.deepEqual(needOf(Service, { reads: [reading(Service, 'inNamespace')], writes })?.namespaces, ['', 'b']);
  });

  test('the names that all who read it declare, and all where one declares none', () => {
    const named = (...names: string[]) => reading(Service, 'everywhere', { names });
    assert.deepEqual(needOf(Service, { reads: [named('a')] }, { reads: [named('b', 'a')] })?.names, ['a', 'b']);
    assert.equal(needOf(Service, { reads: [named('a')] }, { reads: [Service] })?.names, undefined);
    // Children are found by their label, whatever is read by name.
    const written = needOf(Service, { reads: [named('a')], writes: [Service] });
    assert.deepEqual([written?.names, written?.children], [['a'], true]);
    assert.equal(needOf(Service, { reads: [named('a')], writes: [writing(Service, 'patch')] })?.names, undefined);
  });

  test('a world caches a reconciled kind only where it is installed, if the reconciler declares it optional', () => {
    const reads = [reading(ConfigMap, 'everywhere', { optional: true })];
    assert.equal(needOf(ConfigMap, { reads })?.optional, true);
    assert.equal(needOf(ConfigMap, { reads, writes: [writing(ConfigMap, 'patch')] })?.optional, true);
    assert.equal(needOf(ConfigMap, { reads }, {})?.optional, false);
  });

  test('nothing that nothing declares', () => {
    assert.equal(needOf(Deployment, { reads: [Service] }), undefined);
  });
});

describe('of several declarations', () => {
  test('the widest reach counts, and none says "absent" of what another may read', () => {
    const cases = [
      ['referenced', 'everywhere', 'all'],
      ['inNamespace', 'everywhere', 'all'],
      // Neither contains the other: an object outside of the namespace is not absent.
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

  test('the fields of all readers unite, and one that needs the whole object gets it', () => {
    const some = { reads: [reading(Service, 'everywhere', { fields: ['spec.ports'] })] };
    const labels = { matchLabels: { app: 'web' } };
    const others = { reads: [reading(Service, 'everywhere', { fields: ['status'], labels })] };
    assert.deepEqual(needOf(Service, some, others, some)?.fields, [
      { paths: ['spec.ports'] },
      { paths: ['status'], labels },
    ]);
    for (const whole of [{ reads: [Service] }, { writes: [Service] }]) {
      assert.equal(needOf(Service, some, whole)?.fields, undefined);
      assert.equal(needOf(Service, whole, some)?.fields, undefined);
    }
  });

  test('a path that is not one is refused where it is written', () => {
    for (const path of ['', '.spec', 'spec..ports', 'spec.ports[', 'spec.ports[]'])
      assert.throws(
        () => reading(Service, 'everywhere', { fields: [path] }),
        /is not the path of a field; write it as/,
      );
  });

  test('a kind is optional when nothing needs it', () => {
    const optional = { reads: [reading(Service, 'everywhere', { optional: true })] };
    assert.equal(needOf(Service, optional)?.optional, true);
    assert.equal(needOf(Service, optional, optional)?.optional, true);
    assert.equal(needOf(Service, optional, { reads: [Service] })?.optional, false);
    assert.equal(needOf(Service, { reads: [Service] }, optional)?.optional, false);
    assert.equal(needOf(Service, { writes: [Service] })?.optional, false);
    assert.equal(needOf(Service, { ...optional, writes: [Service] })?.optional, true);
    assert.equal(needOf(Service, { ...optional, writes: [writing(Service, 'patch')] })?.optional, true);
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
    const both = withAliases(Site, [{ group: 'other.dev' }]);
    assert.equal(needOf(Site, { reads: [both] }, { reads: [Site] })?.kind, both);
    assert.equal(needOf(Site, { reads: [Site] }, { reads: [both] })?.kind, both);
  });
});
