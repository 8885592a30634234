import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Container,
  Deployment,
  EndpointSlice,
  Endpoints,
  isNotFound,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
  type ServiceSpec,
} from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { createStage, deployment, NAMESPACE, podsOf, type Stage, type StageOptions } from '../stage.test-support.ts';

async function stageFor(context: { after(end: () => Promise<void>): void }, options: Partial<StageOptions> = {}) {
  const stage = await createStage({ clock: createVirtualClock(), random: createRandom(5), ...options });
  context.after(() => stage.close());
  return stage;
}

const web = { namespace: NAMESPACE, name: 'web' };
const containers: Container[] = [{ name: 'main', image: 'x', ports: [{ name: 'http', containerPort: 8080 }] }];

function service(spec: Partial<ServiceSpec> = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...web, labels: { team: 'blue' } },
    spec: { selector: { app: 'web' }, ports: [{ name: 'web', port: 80, targetPort: 'http' }], ...spec },
  };
}

async function slices({ client }: Stage): Promise<EndpointSlice[]> {
  const { items } = await client.list(EndpointSlice, {
    namespace: NAMESPACE,
    labelSelector: 'kubernetes.io/service-name=web',
  });
  return items;
}

test('a service has its ready pods as endpoints, on the ports that they name', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Service, service());
  await stage.pass(1);
  assert.deepEqual(
    (await slices(stage)).map(({ endpoints }) => endpoints ?? []),
    [[]],
  );
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }, { containers }));
  await stage.pass(5);
  const [slice, ...others] = await slices(stage);
  assert.equal(others.length, 0);
  assert.deepEqual(slice?.ports, [{ name: 'web', port: 8080, protocol: 'TCP' }]);
  assert.equal(slice?.metadata.labels?.['team'], 'blue');
  assert.equal(slice?.metadata.ownerReferences?.[0]?.kind, 'Service');
  const addresses = (await podsOf(stage.client)).map(({ status }) => status?.podIP);
  assert.deepEqual(slice?.endpoints?.map(({ addresses: [one] }) => one).toSorted(), addresses.map(String).toSorted());
  for (const { conditions } of slice?.endpoints ?? []) {
    assert.deepEqual(conditions, { ready: true, serving: true, terminating: false });
  }
  const legacy = await stage.client.get(Endpoints, web);
  assert.equal(legacy.subsets?.[0]?.addresses?.length, 2);
  assert.deepEqual(legacy.subsets?.[0]?.ports, [{ name: 'web', port: 8080, protocol: 'TCP' }]);
});

test('a pod that is going is still there, but not ready', async (t) => {
  const stage = await stageFor(t, { nodes: [{ simulate: { stopAfterMs: 10_000 } }] });
  await stage.client.create(Service, service());
  await stage.client.create(Deployment, deployment('web', { replicas: 2 }, { containers }));
  await stage.pass(5);
  await stage.client.patch(Deployment, web, 'merge', { spec: { replicas: 1 } });
  await stage.pass(1);
  const [slice] = await slices(stage);
  const reported = slice?.endpoints?.map(({ conditions }) => [
    conditions?.ready,
    conditions?.serving,
    conditions?.terminating,
  ]);
  assert.deepEqual(reported?.toSorted(), [
    [false, true, true],
    [true, true, false],
  ]);
  assert.equal((await stage.client.get(Endpoints, web)).subsets?.[0]?.addresses?.length, 1);
  await stage.pass(15);
  assert.equal((await slices(stage))[0]?.endpoints?.length, 1);
});

test('pods that are not ready are shown as such, and as ready where the service publishes them', async (t) => {
  const stage = await stageFor(t, { nodes: [{ simulate: { isUnready: () => true } }] });
  await stage.client.create(Service, service());
  await stage.client.create(Deployment, deployment('web', {}, { containers }));
  await stage.pass(5);
  assert.equal((await slices(stage))[0]?.endpoints?.[0]?.conditions?.ready, false);
  assert.equal((await stage.client.get(Endpoints, web)).subsets?.[0]?.notReadyAddresses?.length, 1);
  await stage.client.patch(Service, web, 'merge', { spec: { publishNotReadyAddresses: true } });
  await stage.pass(1);
  assert.deepEqual((await slices(stage))[0]?.endpoints?.[0]?.conditions, {
    ready: true,
    serving: false,
    terminating: false,
  });
});

test('many pods are spread over slices of a hundred, and fewer make fewer slices', async (t) => {
  const stage = await stageFor(t, { nodes: [{ maxPods: 500 }] });
  await stage.client.create(Service, service());
  await stage.client.create(Deployment, deployment('web', { replicas: 150 }, { containers }));
  await stage.pass(20);
  const sizes = async () => (await slices(stage)).map(({ endpoints }) => endpoints?.length ?? 0);
  assert.equal(
    (await sizes()).reduce((a, b) => a + b, 0),
    150,
  );
  assert.ok((await sizes()).every((size) => size <= 100));
  await stage.client.patch(Deployment, web, 'merge', { spec: { replicas: 0 } });
  await stage.pass(20);
  assert.deepEqual(await sizes(), [0]);
});

test('a service without a selector keeps the endpoints that a user gave it', async (t) => {
  const stage = await stageFor(t);
  const { selector: _, ...spec } = service().spec ?? {};
  await stage.client.create(Service, { ...service(), spec });
  const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }];
  await stage.client.create(Endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata: web, subsets });
  await stage.pass(5);
  assert.equal((await stage.client.get(Endpoints, web)).subsets?.length, 1);
  assert.equal((await slices(stage)).length, 0);
});

test('a service that is deleted takes its endpoints with it', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Service, service());
  await stage.pass(2);
  await stage.client.delete(Service, web);
  await stage.pass(2);
  assert.equal((await slices(stage)).length, 0);
  await assert.rejects(stage.client.get(Endpoints, web), isNotFound);
});

test('a disruption budget counts how many pods may go', async (t) => {
  const stage = await stageFor(t);
  await stage.client.create(Deployment, deployment('web', { replicas: 5 }));
  const budget = (maxUnavailable: number | string): PodDisruptionBudget => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: web,
    spec: { maxUnavailable, selector: { matchLabels: { app: 'web' } } },
  });
  await stage.client.create(PodDisruptionBudget, budget('30%'));
  await stage.pass(5);
  const { status } = await stage.client.get(PodDisruptionBudget, web);
  const { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed } = status ?? {};
  assert.deepEqual(
    { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed },
    {
      expectedPods: 5,
      currentHealthy: 5,
      desiredHealthy: 3,
      disruptionsAllowed: 2,
    },
  );
  assert.equal(status?.conditions?.[0]?.reason, 'SufficientPods');
});

test('every namespace has a service account of its own, also after a user deleted it', async (t) => {
  const stage = await stageFor(t);
  const account = { namespace: NAMESPACE, name: 'default' };
  await stage.pass(1);
  await stage.client.get(ServiceAccount, account);
  await stage.client.delete(ServiceAccount, account);
  await stage.pass(1);
  await stage.client.get(ServiceAccount, account);
});
