import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { dependencies, type Unhealthy } from './root-cause.ts';

function unhealthy(kind: string, name: string, message = '', more: Partial<KubeObject> & { spec?: object } = {}) {
  const metadata = { namespace: 'default', name, uid: `${kind}-${name}`, ...more.metadata };
  const object = { apiVersion: 'example.capstan.dev/v1', kind, ...more, metadata };
  return { kind, object, message } satisfies Unhealthy;
}

describe('an unhealthy object depends on another', () => {
  const filter = unhealthy('Filter', 'audit', 'secret/key does not exist');
  const cases: [why: string, one: Unhealthy, dependsOn: boolean][] = [
    [
      'whose kind and name its message has',
      unhealthy('Proxy', 'edge', 'filter/audit in namespace default is bad'),
      true,
    ],
    ['that its message names with a namespace', unhealthy('Proxy', 'edge', 'Filter default/audit is not ready'), true],
    ['that its message names with a group', unhealthy('Proxy', 'edge', 'filter.example.dev/audit: missing'), true],
    ['only by its whole name', unhealthy('Proxy', 'edge', 'Filter audit-log is not ready'), false],
    [
      'that its spec refers to by kind',
      unhealthy('Proxy', 'edge', '', { spec: { use: { kind: 'Filter', name: 'audit' } } }),
      true,
    ],
    [
      'that a field of its spec is named after',
      unhealthy('Proxy', 'edge', '', { spec: { filterRefs: [{ name: 'audit' }] } }),
      true,
    ],
    [
      'but not on another kind of that name',
      unhealthy('Proxy', 'edge', '', { spec: { backendRef: { name: 'audit' } } }),
      false,
    ],
    [
      'in its own namespace',
      unhealthy('Proxy', 'edge', 'filter/audit', { metadata: { namespace: 'other', name: 'edge' } }),
      false,
    ],
  ];
  for (const [why, one, isSo] of cases) {
    test(why, () => assert.deepEqual(dependencies([one, filter]), [isSo ? [1] : [], []]));
  }

  test('an unhealthy object depends on an object that it owns', () => {
    const owner = unhealthy('Proxy', 'edge');
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Proxy', name: 'edge', uid: owner.object.metadata.uid }];
    const child = unhealthy('Part', 'one', '', { metadata: { name: 'one', ownerReferences } });
    assert.deepEqual(dependencies([owner, child]), [[1], []]);
  });

  test('the clearer of two opposite signs decides which object depends on the other', () => {
    const cluster = unhealthy('Cluster', 'orders', 'a token is missing', { spec: { proxyRef: { name: 'edge' } } });
    const proxy = unhealthy('Proxy', 'edge', 'Cluster orders is not valid');
    assert.deepEqual(dependencies([cluster, proxy]), [[], [0]]);
  });
});

test('ten thousand unhealthy objects are compared by the names that they contain', () => {
  const all = Array.from({ length: 10_000 }, (_, at) =>
    unhealthy(
      'Filter',
      `filter-${at}`,
      at === 0 ? 'Secret default/gone does not exist' : `filter/filter-${at - 1} is bad`,
    ),
  );
  const before = process.cpuUsage();
  const found = dependencies(all);
  const { user } = process.cpuUsage(before);
  assert.deepEqual([found[0], found[1], found[9_999]], [[], [0], [9_998]]);
  // Comparing each with each takes minutes.
  assert.ok(user < 10_000_000, `${user / 1_000_000} s`);
});
