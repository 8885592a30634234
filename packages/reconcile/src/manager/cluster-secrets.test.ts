import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConfigMap,
  createClient,
  defineKind,
  type Logger,
  Namespace,
  object,
  optional,
  Secret,
  silentLogger,
  string,
} from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { rulesOf } from '../rbac/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { createRuntime } from '../runtime/index.ts';
import { rolesOf } from '../worlds/index.ts';
import { CLUSTER_ROLE_LABEL, followClusterSecrets } from './cluster-secrets.ts';

const Census = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Census',
  plural: 'censuses',
  scope: 'Namespaced',
  spec: object({}),
  status: object({ seen: optional(string()) }),
});
/** The names of the members, each with the number of its ConfigMaps named `x`. */
const census = reconciler({
  name: 'census',
  resource: Census,
  reads: [reading(ConfigMap, 'everywhere', { in: 'member' })],
  reconcile({ read }) {
    const members = read.worlds('member').map((name) => {
      const found = read.in(name)?.get(ConfigMap, { namespace: 'default', name: 'x' });
      return `${name}${found === undefined ? '' : '+'}`;
    });
    return plan({ status: { seen: members.join(' ') } });
  },
});
const operators = [operator({ name: 'census', kinds: [Census], reconcilers: [census] })];
const ref = { namespace: 'default', name: 'all' };
const secretOf = (name: string, role: string, content: string | undefined): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'capstan-system', name, labels: { [CLUSTER_ROLE_LABEL]: role } },
  ...(content === undefined ? {} : { data: { kubeconfig: Buffer.from(content).toString('base64') } }),
});

test('a Secret with a kubeconfig is a cluster of its role, from when it is created until it is deleted', async () => {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const lines: string[] = [];
  const logger: Logger = { ...silentLogger, error: (message) => lines.push(message), with: () => logger };
  const [local, east, west] = await Promise.all(
    ['local', 'east', 'west'].map(() => createTestCluster({ clock, random, operators })),
  );
  assert.ok(local && east && west);
  const clientOf = (cluster: typeof local) => createClient({ transport: cluster.transport(), clock, random });
  const runtime = createRuntime({ operators, clock, random, logger });
  const client = clientOf(local);
  runtime.addWorld({ name: '', client });
  await local.client.create(Census, { apiVersion: Census.apiVersion, kind: 'Census', metadata: ref, spec: {} });
  await east.client.create(ConfigMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'x' },
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  const roles = rolesOf(operators.flatMap(({ reconcilers }) => reconcilers));
  const common = {
    client,
    runtime,
    roles,
    namespace: 'capstan-system',
    clock,
    random,
    logger,
    userAgent: 'test',
    signal,
  };
  const following = followClusterSecrets({
    ...common,
    connect(kubeconfig) {
      const cluster = { east, west }[kubeconfig];
      if (cluster === undefined) return Promise.reject(new Error('the kubeconfig names no cluster'));
      return Promise.resolve({ client: clientOf(cluster), namespace: 'default' });
    },
  });
  const ended = runtime.run(signal);
  const seen = async () => {
    await clock.advance(5_000);
    return (await local.client.get(Census, ref)).status?.seen;
  };
  await local.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } });
  assert.equal(await seen(), '', 'once all Secrets are listed the set is complete, and empty');
  await local.client.create(Secret, secretOf('one', 'member', 'east'));
  assert.equal(await seen(), 'one+');
  await local.client.create(Secret, secretOf('two', 'member', 'west'));
  await local.client.create(Secret, secretOf('other', 'stranger', 'east'));
  assert.equal(await seen(), 'one+ two');
  await local.client.update(Secret, secretOf('two', 'member', 'east'));
  assert.equal(await seen(), 'one+ two+', 'a Secret that changes is connected again');
  await local.client.create(Secret, secretOf('bad', 'member', 'nonsense'));
  await local.client.create(Secret, secretOf('empty', 'member', undefined));
  assert.equal(await seen(), 'one+ two+');
  assert.deepEqual(lines, [
    'could not add the cluster of a Secret; correct the Secret',
    'a cluster Secret has no kubeconfig; put one under the key kubeconfig',
  ]);
  await local.client.delete(Secret, { namespace: 'capstan-system', name: 'one' });
  assert.equal(await seen(), 'two+');
  stopping.abort();
  await clock.advance(60_000);
  await Promise.all([following, ended]);
  await Promise.all([local, east, west].map((cluster) => cluster.close()));
});

test('an operator that reads other clusters may list the Secrets of the system namespace, and no others', () => {
  const [given] = operators;
  assert.ok(given);
  const { system, everywhere } = rulesOf(given);
  assert.ok(system.some(({ resources, verbs }) => resources.includes('secrets') && verbs.join(' ') === 'list watch'));
  assert.ok(!everywhere.some(({ resources }) => resources.includes('secrets')));
});
