// All workloads against a network and a server that misbehave: once they are healthy again, exactly the requested objects exist.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, DaemonSet, Deployment, EndpointSlice, isConflict, Pod, ReplicaSet, Service } from '@capstan/kube';
import {
  createRandom,
  createVirtualClock,
  type FaultyTransport,
  faultyTransport,
  randomSchedule,
  runs,
  type SeededRandom,
} from '@capstan/testing';
import { createStage, deployment, NAMESPACE, podsOf, type Stage } from './stage.test-support.ts';

// `WORKLOAD_SEED=12` replays one history.
const replay = process.env['WORKLOAD_SEED'];
const seeds = replay === undefined ? Array.from({ length: runs(3, 12) }, (_, index) => index + 1) : [Number(replay)];
const NAMES = ['a', 'b'];
const IMAGES = ['x:1', 'x:2', 'x:3'];

test(`${seeds.length} histories with faults end with exactly the pods and endpoints that are asked for`, async () => {
  let injected = 0;
  for (const seed of seeds) injected += await history(seed);
  assert.ok(injected > 20 * seeds.length, `only ${injected} faults: the schedules have become too tame`);
});

async function history(seed: number): Promise<number> {
  const clock = createVirtualClock();
  const random = createRandom(seed);
  const transports: FaultyTransport[] = [];
  const stage = await createStage({
    clock,
    random: random.fork('stage'),
    nodes: [{ name: 'n1' }, { name: 'n2' }],
    between(inner) {
      const own = random.fork(`transport ${transports.length}`);
      const transport = faultyTransport(inner, { clock, random: own, schedule: randomSchedule(own.fork('schedule')) });
      transports.push(transport);
      return transport;
    },
  });
  const edits = random.fork('edits');
  try {
    for (let turn = 0; turn < 25; turn++) {
      await edit(stage.client, edits);
      await clock.advance(edits.pick([0, 100, 2000, 30_000]));
    }
    for (const transport of transports) transport.heal();
    // Longer than the longest silence that an informer lets pass and the longest back-off together.
    await stage.pass(2400);
    await check(stage, `seed ${seed}: replay with WORKLOAD_SEED=${seed}`);
  } finally {
    await stage.close();
  }
  return transports.reduce((sum, { faults }) => sum + faults.length, 0);
}

async function edit(client: Client, random: SeededRandom): Promise<void> {
  const name = random.pick(NAMES);
  const at = { namespace: NAMESPACE, name };
  const image = random.pick(IMAGES);
  const containers = [{ name: 'main', image }];
  const existing = await client.find(Deployment, at);
  const moves: (() => Promise<unknown>)[] = [
    async () =>
      existing === undefined
        ? client.create(Deployment, deployment(name, { replicas: random.integer(0, 5) }, { containers }))
        : client.patch(Deployment, at, 'merge', { spec: { template: { spec: { containers } } } }),
    async () => existing && client.patch(Deployment, at, 'merge', { spec: { replicas: random.integer(0, 6) } }),
    async () => existing && client.patch(Deployment, at, 'merge', { spec: { paused: random.chance(0.3) } }),
    async () => existing && random.chance(0.3) && client.delete(Deployment, at),
    async () => {
      const pods = await podsOf(client);
      if (pods.length > 0)
        await client.delete(Pod, { namespace: NAMESPACE, name: random.pick(pods).metadata.name ?? '' });
    },
    async () =>
      (await client.find(Service, at)) ??
      client.create(Service, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: at,
        spec: { selector: { app: name }, ports: [{ port: 80 }] },
      }),
    async () => {
      const labels = { app: 'daemon' };
      const daemon = { namespace: NAMESPACE, name: 'daemon' };
      const template = { metadata: { labels }, spec: { containers } };
      if (await client.find(DaemonSet, daemon)) await client.patch(DaemonSet, daemon, 'merge', { spec: { template } });
      else {
        await client.create(DaemonSet, {
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: daemon,
          spec: { selector: { matchLabels: labels }, template },
        });
      }
    },
  ];
  await random
    .pick(moves)()
    .catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
}

async function check({ client }: Stage, story: string): Promise<void> {
  const imageOf = ({ spec }: Pod) => spec?.containers[0]?.image ?? '';
  const pods = await podsOf(client);
  const isReady = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  assert.deepEqual(
    pods.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata.name),
    [],
    `${story}: unready`,
  );
  let owned = 0;
  for (const name of NAMES) {
    const at = { namespace: NAMESPACE, name };
    const found = await client.find(Deployment, at);
    const own = pods.filter(({ metadata }) => metadata.labels?.['app'] === name);
    owned += own.length;
    const replicas = found?.spec?.replicas ?? 0;
    // A pause in the middle of a rollout leaves it there, and one before the first replica set leaves nothing.
    if (found?.spec?.paused === true) assert.ok(own.length <= 1.25 * replicas + 1, `${story}: pods of ${name}`);
    else assert.equal(own.length, replicas, `${story}: pods of ${name}`);
    if (found !== undefined) {
      assert.equal(found.status?.observedGeneration, found.metadata.generation, `${story}: ${name} observed`);
      assert.equal(found.status?.availableReplicas ?? 0, own.length, `${story}: ${name} available`);
    }
    if (found !== undefined && found.spec?.paused !== true) {
      const wanted = found.spec?.template.spec?.containers[0]?.image;
      assert.ok(
        own.every((pod) => imageOf(pod) === wanted),
        `${story}: images of ${name}`,
      );
    }
    const service = await client.find(Service, at);
    const labelSelector = `kubernetes.io/service-name=${name}`;
    const slices = await client.list(EndpointSlice, { namespace: NAMESPACE, labelSelector });
    const addresses = slices.items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap((one) => one.addresses));
    const expected = service === undefined ? [] : own.map(({ status }) => status?.podIP ?? '');
    assert.deepEqual(addresses.toSorted(), expected.toSorted(), `${story}: endpoints of ${name}`);
  }
  const daemon = await client.find(DaemonSet, { namespace: NAMESPACE, name: 'daemon' });
  const daemons = pods.filter(({ metadata }) => metadata.labels?.['app'] === 'daemon');
  const nodes = daemons.map(({ spec }) => spec?.nodeName ?? '');
  assert.deepEqual(nodes.toSorted(), daemon === undefined ? [] : ['n1', 'n2'], `${story}: daemons`);
  const wanted = daemon?.spec?.template.spec?.containers[0]?.image;
  assert.ok(
    daemons.every((pod) => imageOf(pod) === wanted),
    `${story}: images of daemons`,
  );
  assert.equal(pods.length, owned + daemons.length, `${story}: pods without an owner`);
  const { items: sets } = await client.list(ReplicaSet, { namespace: NAMESPACE });
  assert.ok(
    sets.every(({ metadata }) => metadata.ownerReferences?.length === 1),
    `${story}: sets without an owner`,
  );
}
