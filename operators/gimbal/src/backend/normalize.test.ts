import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BackendFields } from '../kinds/index.ts';
import { parseSeconds } from './fields.ts';
import { nameFault, overlapsOf, winnerOf } from './names.ts';
import { normalise } from './normalize.ts';

const backend = (parts: { spec?: BackendFields; cluster?: BackendFields }, name = 'east') => ({
  metadata: { name, namespace: 'gimbal-discovery' },
  ...parts,
});
const least: BackendFields = { type: 'kubernetes', secret: 'east-kubecfg' };
const pathsOf = (parts: Parameters<typeof backend>[0], name?: string) =>
  normalise(backend(parts, name)).faults.map(({ path }) => path);

describe('the fields of a backend', () => {
  test('have defaults that follow from the type', () => {
    const kubernetes = normalise(backend({ spec: least })).effective;
    assert.equal(kubernetes?.refreshInterval, 1800);
    assert.deepEqual(kubernetes?.namespaces, { include: [], exclude: ['kube-system'] });
    assert.deepEqual(kubernetes?.maintenance, {
      onNoCapacity: 'Zero',
      promoteZero: false,
      rampSeconds: 0,
      drainPercent: 100,
      restoreHoldSeconds: 120,
      schedule: [],
    });
    assert.equal(normalise(backend({ cluster: { ...least, type: 'OpenStack' } })).effective?.refreshInterval, 30);
  });

  test('mean the same under cluster and under spec, and under every name that they have', () => {
    const expected = normalise(backend({ spec: { ...least, refreshInterval: 60, endpoint: 'https://a:6443' } }));
    for (const cluster of [
      { type: 'K8s', credentials: 'east-kubecfg ', resyncInterval: '60s', apiEndpoint: 'https://a:6443' },
      { type: 'kubernetes', secretName: 'east-kubecfg', reconciliationPeriod: '1m', endpoint: 'https://a:6443' },
      { type: '“Kubernetes”', secretRef: { name: 'east-kubecfg' }, refreshInterval: '60', endpoint: ' https://a:6443' },
    ])
      assert.deepEqual(normalise(backend({ cluster })), expected);
  });

  for (const written of ['enabled', 'Enabled', ' ENABLED ', '“Enabled”', '"enabled"'])
    test(`take ${JSON.stringify(written)} for Enabled`, () =>
      assert.equal(
        normalise(backend({ cluster: { ...least, clusterStatus: written } })).effective?.clusterStatus,
        'Enabled',
      ));

  test('take a clusterStatus by its upper-case name', () =>
    assert.equal(
      normalise(backend({ cluster: { ...least, ClusterStatus: '“Maintenance”' } })).effective?.clusterStatus,
      'Maintenance',
    ));

  const faulty: [string, Parameters<typeof backend>[0], string[]][] = [
    ['a type that is not known', { spec: { ...least, type: 'nomad' } }, ['spec.type']],
    ['no type', { spec: { secret: 'a' } }, ['spec.type']],
    ['no secret', { cluster: { type: 'openstack' } }, ['cluster.secret']],
    ['a clusterStatus that is nonsense', { cluster: { ...least, clusterStatus: 'off' } }, ['cluster.clusterStatus']],
    ['two secrets', { cluster: { ...least, credentials: 'other' } }, ['cluster.credentials']],
    ['a field that differs between cluster and spec', { cluster: least, spec: { secret: 'b' } }, ['cluster.secret']],
    ['an interval of nothing', { spec: { ...least, refreshInterval: 0 } }, ['spec.refreshInterval']],
    ['an interval that is no time', { spec: { ...least, refreshInterval: 'soon' } }, ['spec.refreshInterval']],
    ['a flag that is none', { spec: { ...least, debug: 'very' } }, ['spec.debug']],
    ['an endpoint that is no address', { spec: { ...least, endpoint: 'east' } }, ['spec.endpoint']],
    [
      'a window that ends before it begins',
      {
        spec: { ...least, maintenance: { schedule: [{ start: '2026-01-02T00:00:00Z', end: '2026-01-01T00:00:00Z' }] } },
      },
      ['spec.maintenance.schedule[0]'],
    ],
  ];
  for (const [what, parts, paths] of faulty)
    test(`the fields of a backend with ${what} are refused, and nothing is in force from them`, () => {
      assert.deepEqual(pathsOf(parts), paths);
      assert.equal(normalise(backend(parts)).effective, undefined);
    });

  test('the fields of a backend that are the same in cluster and spec are no fault', () => {
    assert.deepEqual(
      pathsOf({ cluster: { ...least, clusterStatus: 'enabled' }, spec: { clusterStatus: 'Enabled' } }),
      [],
    );
  });

  test('never show a password of an address', () => {
    const { faults } = normalise(backend({ spec: { ...least, endpoint: 'https://me:hunter2@a' } }));
    assert.equal(faults.length, 1);
    assert.ok(!JSON.stringify(faults).includes('hunter2'));
  });

  test('are not changed', () => {
    const written = backend({ cluster: { ...least, clusterStatus: ' enabled' } });
    const before = structuredClone(written);
    normalise(written);
    assert.deepEqual(written, before);
  });
});

test('seconds are numbers, digits or durations', () => {
  assert.deepEqual(
    [30, '30', '30s', '5m', '1500ms'].map((written) => parseSeconds(written, 1, 86_400)),
    [30, 30, 30, 300, 2].map((value) => ({ value })),
  );
});

describe('the name of a backend', () => {
  for (const name of ['cluster', 'a-b', 'a--b', 'abc1', 'a', 'a'.repeat(63)])
    test(`may be ${name}`, () => assert.equal(nameFault(name), undefined));
  for (const name of ['', '_', '1a', '-a', 'a-', 'a.b', 'A', 'a b', 'ä', 'a'.repeat(64)])
    test(`may not be ${JSON.stringify(name)}`, () => assert.notEqual(nameFault(name), undefined));

  test('belongs to the oldest that claims it, and among those of one second to the lowest uid', () => {
    const claim = (uid: string, creationTimestamp: string, kind = 'DiscoveryBackend') => ({
      kind,
      namespace: uid,
      name: 'east',
      uid,
      creationTimestamp,
    });
    const old = claim('z', '2026-01-01T00:00:00Z', 'Discovery');
    const twin = claim('y', '2026-01-01T00:00:00Z');
    const young = claim('a', '2026-01-01T00:00:01Z');
    assert.equal(winnerOf([young, old]), old);
    assert.equal(winnerOf([old, twin, young]), twin);
    assert.equal(winnerOf([]), undefined);
  });

  test('overlaps with those that begin like it', () => {
    assert.deepEqual(overlapsOf('a', ['a-b', 'ab', 'a', 'b']), ['a-b']);
    assert.deepEqual(overlapsOf('a-b', ['a', 'a-bc', 'a-b-c']), ['a', 'a-b-c']);
  });
});
