// Histories by seed: the remote cluster changes, both networks and servers misbehave, discoverers die between two writes. In the end this
// cluster mirrors the remote one exactly, no object of another backend was touched, and nothing more is written.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createClient, EndpointSlice, Service, silentLogger } from '@capstan/kube';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  faultyTransport,
  mortalClock,
  randomSchedule,
  recordingTransport,
  runs,
  type SeededRandom,
  type TestCluster,
} from '@capstan/testing';
import { createDiscoverer, DEFAULT_SETTINGS } from '../../src/discover/discoverer.ts';
import { createKubernetesSource } from '../../src/discover/kubernetes/source.ts';
import { namespace, remoteService, remoteSlice } from './stage.ts';

const SEEDS =
  process.env['DISCOVER_SEED'] === undefined ? range(1, runs(8, 60)) : [Number(process.env['DISCOVER_SEED'])];

for (const seed of SEEDS) {
  it(`history ${seed} ends in what the remote cluster has (DISCOVER_SEED=${seed})`, () => history(seed));
}

async function history(seed: number): Promise<void> {
  const clock = createVirtualClock();
  const random = createRandom(seed);
  const local = await createTestCluster({ clock, random: random.fork('local') });
  const remote = await createTestCluster({ clock, random: random.fork('remote') });
  await namespace(local.client, 'a');
  await namespace(remote.client, 'a', 'b');
  const foreign = await local.client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'a', name: 'west-s0', labels: { 'gimbal.heptio.com/backend': 'west' } },
    spec: { clusterIP: 'None', ports: [{ port: 80 }] },
  });
  const people = random.fork('people');
  for (let life = 0; life < 4; life++) {
    const own = random.fork(`life ${life}`);
    const process = start(own, local, remote, clock);
    if (own.chance(0.5)) process.crashAfterWrites(own.integer(1, 12));
    for (let step = 0; step < 12; step++) {
      await change(people, remote, local);
      await clock.advance(people.integer(1, 20_000));
    }
    await process.die();
  }
  // The last life goes through the same, and from then on all is well.
  const last = start(random.fork('last'), local, remote, clock);
  for (let step = 0; step < 12; step++) {
    await change(people, remote, local);
    await clock.advance(people.integer(1, 20_000));
  }
  last.heal();
  await namespace(local.client, 'b').catch(() => {});
  await clock.advance(1_200_000);
  assert.deepEqual(await pictureOf(local, 'here'), await pictureOf(remote, 'there'));
  assert.deepEqual(await local.client.get(Service, { namespace: 'a', name: 'west-s0' }), foreign);
  last.sent.clear();
  await clock.advance(2_000_000);
  assert.deepEqual(last.sent.writes, [], 'a settled cluster sees no write');
  await last.die();
  await local.close();
  await remote.close();
}

/** One life of a discoverer, with faults on both sides. */
function start(
  random: SeededRandom,
  local: TestCluster,
  remote: TestCluster,
  clock: ReturnType<typeof createVirtualClock>,
) {
  const life = mortalClock(clock);
  const faulty = (cluster: TestCluster, name: string) => {
    const fork = random.fork(name);
    return faultyTransport(cluster.transport(), { random: fork, clock: life, schedule: randomSchedule(fork) });
  };
  const here = faulty(local, 'to here');
  const there = faulty(remote, 'to there');
  const sent = recordingTransport(here);
  const common = { clock: life, random, logger: silentLogger };
  const source = createKubernetesSource({
    ...common,
    client: createClient({ ...common, transport: there }),
    backend: 'east',
    namespaces: { include: [], exclude: ['kube-system'] },
    writeEndpoints: false,
  });
  const discoverer = createDiscoverer({
    ...common,
    backend: 'east',
    client: createClient({ ...common, transport: sent }),
    remote: source,
    version: 'test',
    identity: 'one',
    settings: DEFAULT_SETTINGS,
  });
  const stopping = new AbortController();
  const done = discoverer.run(stopping.signal);
  return {
    sent,
    heal() {
      here.heal();
      there.heal();
    },
    crashAfterWrites: (count: number) => here.crashAfterWrites(count),
    async die() {
      here.crashAfterWrites(0);
      stopping.abort();
      await here.close();
      await there.close();
      await clock.settle();
      await done;
      life.kill();
    },
  };
}

/** A change by a user on the remote side, or sometimes on this one. */
async function change(random: SeededRandom, remote: TestCluster, local: TestCluster): Promise<void> {
  const ns = random.pick(['a', 'b']);
  const name = `s${random.integer(0, 5)}`;
  const key = `${ns}/${name}`;
  const address = () => `10.0.${random.integer(0, 3)}.${random.integer(1, 250)}`;
  const slice = { namespace: ns, name: `${name}-${random.integer(1, 2)}` };
  const acts: (() => Promise<unknown>)[] = [
    () => remoteService(remote.client, key, [], { labels: { turn: String(random.integer(0, 9)) } }),
    () => remoteSlice(remote.client, key, slice.name, [address(), address()].toSorted()),
    () =>
      remote.client.patch(EndpointSlice, slice, 'merge', { endpoints: [{ addresses: [address()], conditions: {} }] }),
    () =>
      remote.client.patch(Service, { namespace: ns, name }, 'merge', {
        spec: { ports: [{ name: 'http', port: random.integer(1, 99) }] },
      }),
    () => remote.client.delete(Service, { namespace: ns, name }),
    () => remote.client.delete(EndpointSlice, slice),
    () => local.client.delete(Service, { namespace: ns, name: `east-${name}` }),
    () =>
      local.client.patch(Service, { namespace: ns, name: `east-${name}` }, 'merge', { spec: { ports: [{ port: 7 }] } }),
    () => namespace(local.client, 'b'),
  ];
  // An object that exists cannot be created, and an absent one cannot be changed: then nothing happened.
  await random
    .pick(acts)()
    .catch(() => {});
}

/** Every service with its ports and addresses, under its name there. */
async function pictureOf({ client }: TestCluster, side: 'here' | 'there'): Promise<Record<string, unknown>> {
  const labelSelector = side === 'here' ? 'gimbal.heptio.com/backend=east' : '';
  const { items: services } = await client.list(Service, { labelSelector });
  const { items: slices } = await client.list(EndpointSlice, { labelSelector });
  const picture: Record<string, unknown> = {};
  for (const { metadata, spec } of services) {
    const { namespace: ns, name = '' } = metadata;
    if (ns === 'default' || name.startsWith('west')) continue;
    const own = slices.filter(
      ({ metadata: { namespace: where, labels } }) => where === ns && labels?.['kubernetes.io/service-name'] === name,
    );
    const addresses = own.flatMap(({ endpoints }) => (endpoints ?? []).flatMap((each) => each.addresses));
    picture[`${ns}/${side === 'here' ? name.replace(/^east-/, '') : name}`] = {
      ports: spec?.ports?.map(({ name: port, port: number }) => `${port} ${number}`),
      addresses: addresses.toSorted(),
      turn: metadata.labels?.['turn'],
    };
  }
  return picture;
}

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}
