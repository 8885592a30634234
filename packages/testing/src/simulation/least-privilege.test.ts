import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceAccountUser } from '@capstan/apiserver';
import {
  ConfigMap,
  createClient,
  Deployment,
  type Kind,
  type KubeObject,
  keyOfObject,
  Namespace,
  Secret,
} from '@capstan/kube';
import { rbacManifests } from '@capstan/reconcile';
import { createTestCluster } from '../cluster.ts';
import { startIncarnation } from '../incarnation.ts';
import { createRandom } from '../random.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createScript } from './script.ts';
import { Site, simulatedOperator } from './simulated-operator.ts';

/** Every request of the program and the status of its answer. */
async function play(watchNamespaces?: readonly string[]) {
  const clock = createVirtualClock();
  const random = createRandom(7);
  const operators = [simulatedOperator];
  const cluster = await createTestCluster({ clock, random, operators, rbac: true });
  const { client } = cluster;
  const manifests = rbacManifests(simulatedOperator, {
    namespace: 'default',
    ...(watchNamespaces && { watchNamespaces }),
  });
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } });
  for (const manifest of manifests) await client.create(kindOf(manifest), manifest);
  const inner = cluster.transport(serviceAccountUser('default', 'capstan-simulation'));
  const denied: string[] = [];
  const note = (line: string, answer: object) => {
    if ('status' in answer && (answer.status === 403 || answer.status === 401)) denied.push(line);
  };
  const transport: typeof inner = {
    ...inner,
    async request(request) {
      const answer = await inner.request(request);
      note(`${request.method} ${request.path}`, answer);
      return answer;
    },
    async watch(request) {
      const answer = await inner.watch(request);
      note(`WATCH ${request.path}`, answer);
      return answer;
    },
  };
  const world = watchNamespaces === undefined ? {} : { world: { watchNamespaces } };
  const program = startIncarnation({ operators, transport, clock, random, ...world });
  for (const { afterMs, act } of createScript(random.fork('script'), 30).flat()) {
    await clock.advance(afterMs);
    await act(client);
  }
  const { runtime } = program;
  await clock.runUntilIdle(
    600_000,
    () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0 && runtime.suspended === 0,
  );
  const sites = (await client.list(Site)).items;
  const deployments = (await client.list(Deployment)).items;
  const beyond = createClient({ transport: inner, clock, random });
  await assert.rejects(
    beyond.delete(Secret, { namespace: 'kube-system', name: 'x' }),
    watchNamespaces ? /forbidden/ : /not found/,
  );
  await assert.rejects(beyond.list({ ...ConfigMap, plural: 'nodes', kind: 'Node', scope: 'Cluster' }), /forbidden/);
  await program.stop();
  await cluster.close();
  return { denied, sites: sites.map(keyOfObject), deployments: deployments.map(keyOfObject) };
}

function kindOf({ apiVersion, kind }: KubeObject): Kind {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const scope = kind.startsWith('Cluster') ? 'Cluster' : 'Namespaced';
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, scope, apiVersion };
}

test('an operator does all its work with exactly its generated role', async () => {
  const { denied, sites, deployments } = await play();
  assert.deepEqual(denied, []);
  assert.ok(sites.length > 0);
  assert.deepEqual(deployments, sites);
});

test('and with Roles alone where its namespaces are given', async () => {
  const { denied, sites, deployments } = await play(['default']);
  assert.deepEqual(denied, []);
  assert.deepEqual(deployments, sites);
});
