import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditions, defineKind, object, optional, Secret, string, systemClock } from '@capstan/kube';
import { isPrimary, operator } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import { gatherStatus } from './gather-status.ts';
import { statusOperator } from './status-operators.ts';

const GROUP = 'absent.capstan.dev';
const reference = () => optional(object({ name: string() }));
const define = (kind: string) =>
  defineKind({
    group: GROUP,
    version: 'v1',
    kind,
    scope: 'Namespaced',
    spec: object({ filterRef: reference(), proxyRef: reference() }),
    status: object({ conditions: conditions() }),
  });
const Filter = define('Filter');
const Proxy = define('Proxy');
const Cluster = define('Cluster');
const edge = operator({ name: 'edge', kinds: [Filter, Proxy, Cluster], reconcilers: [] });
const MISSING = 'secret/token in namespace default does not exist; create it';

async function clusterInRollout() {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [edge] });
  const put = async (kind: typeof Filter, name: string, spec: object, reason: string, message: string) => {
    const metadata = { namespace: 'default', name };
    await cluster.client.create(kind, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec });
    const condition = { type: 'Ready', status: 'False', reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' };
    await cluster.client.patch(
      kind,
      metadata,
      'merge',
      { status: { conditions: [condition] } },
      { subresource: 'status' },
    );
  };
  await put(Filter, 'encryption', {}, 'NotFound', MISSING);
  await put(
    Proxy,
    'edge',
    { filterRef: { name: 'encryption' } },
    'RollingOut',
    '2 of 2 pods have the new configuration',
  );
  await put(Cluster, 'orders', { proxyRef: { name: 'edge' } }, 'Invalid', 'the configuration is not valid');
  const problems = async () => {
    const operators = [{ ...statusOperator(edge, isPrimary) }];
    const { signal } = new AbortController();
    const report = await gatherStatus({
      client: cluster.client,
      operators,
      namespace: undefined,
      now: Date.now(),
      signal,
    });
    return report.problems.filter(({ kind }) => kind !== 'Operator');
  };
  return { client: cluster.client, problems };
}

test('a Secret that was deleted during a rollout is the root cause, and the rollout is none', async () => {
  const { problems } = await clusterInRollout();
  const found = await problems();
  assert.deepEqual(
    found
      .filter(({ dependsOn }) => dependsOn.length === 0)
      .map(({ kind, object, state, affects }) => ({ kind, object, state, affects })),
    [
      {
        kind: 'Secret',
        object: 'default/token',
        state: 'Absent',
        affects: ['Filter default/encryption', 'Proxy default/edge', 'Cluster default/orders'],
      },
    ],
  );
  assert.deepEqual(found.find(({ object }) => object === 'default/orders')?.dependsOn, ['Filter default/encryption']);
});

test('an object that is there again is not a cause, whatever an old message reports', async () => {
  const { client, problems } = await clusterInRollout();
  await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'default', name: 'token' } });
  const roots = (await problems()).filter(({ dependsOn }) => dependsOn.length === 0);
  assert.deepEqual(
    roots.map(({ object }) => object),
    ['default/encryption'],
  );
});
