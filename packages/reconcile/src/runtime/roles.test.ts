import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Client,
  ConfigMap,
  conditions,
  createClient,
  defineKind,
  findCondition,
  type KindOf,
  type KubeObject,
  type Logger,
  object,
  optional,
  type Random,
  Service,
  silentLogger,
  string,
} from '@capstan/kube';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  type TestCluster,
  type VirtualClock,
} from '@capstan/testing';
import { inventoryOf } from '../inventory.ts';
import { type Operator, operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { preview } from '../preview/index.ts';
import { rulesOf } from '../rbac/index.ts';
import { reading, reconciler, writing } from '../reconciler.ts';
import { createRuntime } from './runtime.ts';
import { type Runtime } from './runtime-types.ts';

const Policy = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Policy',
  scope: 'Namespaced',
  spec: object({ text: string(), to: optional(string()) }),
  status: object({ conditions: conditions(), seen: optional(string()) }),
});
type Policy = KindOf<typeof Policy>;

const ref = (name: string) => ({ namespace: 'default', name });
const policy = (text: string, more: object = {}): Policy => ({
  apiVersion: Policy.apiVersion,
  kind: 'Policy',
  metadata: ref('default'),
  spec: { text, ...more },
});

/** Every policy is exported to the broker as a ConfigMap, or to the member that it names. */
const exporter = reconciler<Policy>({
  name: 'export',
  resource: Policy,
  reads: [reading(Service, 'everywhere', { in: 'broker' })],
  writes: [writing(ConfigMap, 'apply', { in: 'broker' }), writing(ConfigMap, 'apply', { in: 'member' })],
  reconcile({ object: { spec, metadata }, read }) {
    const place = spec.to ?? 'broker';
    const services =
      place === 'broker' ? (read.in('broker')?.list(Service, {}, ({ metadata: { name = '' } }) => name) ?? []) : [];
    const name = `${metadata.name}-${spec.to ?? 'export'}`;
    return plan({
      children: [
        apply(ConfigMap, { metadata: { namespace: 'default', name }, data: { text: spec.text } }, { in: place }),
      ],
      status: { seen: services.join(' ') },
    });
  },
});
const exporting = operator({ name: 'sync', kinds: [Policy], reconcilers: [exporter] });

interface Place {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** Another cluster, empty. */
  cluster(): Promise<TestCluster>;
  clientOf(cluster: TestCluster): Client;
  /** A program in its own local cluster. */
  program(options?: { operator?: Operator; local?: TestCluster; logger?: Logger }): Promise<Program>;
  settle(): Promise<void>;
}

interface Program {
  readonly runtime: Runtime;
  readonly local: TestCluster;
  stop(): Promise<void>;
}

async function inPlace(check: (place: Place) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const clusters: TestCluster[] = [];
  const programs = new Set<Program>();
  const place: Place = {
    clock,
    random,
    async cluster() {
      const created = await createTestCluster({ clock, random, operators: [exporting] });
      clusters.push(created);
      return created;
    },
    clientOf: (cluster) => createClient({ transport: cluster.transport(), clock, random, logger: silentLogger }),
    async program({ operator: given = exporting, local, logger = silentLogger } = {}) {
      const home = local ?? (await place.cluster());
      const runtime = createRuntime({ operators: [given], clock, random, logger, checkFields: true });
      runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
      runtime.addWorld({ name: '', client: place.clientOf(home) });
      runtime.completeWorlds('member');
      const stopping = new AbortController();
      const ended = runtime.run(stopping.signal);
      const program: Program = {
        runtime,
        local: home,
        async stop() {
          programs.delete(program);
          stopping.abort();
          await clock.advance(60_000);
          await ended;
        },
      };
      programs.add(program);
      return program;
    },
    settle: () => clock.advance(30_000),
  };
  try {
    await check(place);
  } finally {
    for (const program of programs) await program.stop();
    for (const cluster of clusters) await cluster.close();
  }
}

const exported = (cluster: TestCluster, name = 'default-export') => cluster.client.find(ConfigMap, ref(name));
const conditionOf = async (cluster: TestCluster, type: string) =>
  findCondition((await cluster.client.get(Policy, ref('default'))).status?.conditions, type);

describe('a child in another cluster', () => {
  test('is created there, without an owner reference, and goes with its owner, which is held until then', () =>
    inPlace(async (place) => {
      const { runtime, local } = await place.program();
      const broker = await place.cluster();
      runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await local.client.create(Policy, policy('one'));
      await place.settle();
      const child = await exported(broker);
      assert.equal(child?.data?.['text'], 'one');
      assert.equal(child?.metadata.ownerReferences, undefined);
      assert.equal(await exported(local), undefined);
      assert.deepEqual((await local.client.get(Policy, ref('default'))).metadata.finalizers, ['capstan.dev/export']);
      await local.client.patch(Policy, ref('default'), 'merge', { spec: { text: 'two' } });
      await place.settle();
      assert.equal((await exported(broker))?.data?.['text'], 'two');
      await local.client.delete(Policy, ref('default'));
      await place.settle();
      assert.equal(await exported(broker), undefined);
      assert.equal(await local.client.find(Policy, ref('default')), undefined);
    }));

  test('is corrected when it is changed there, and written no more than once after a restart', () =>
    inPlace(async (place) => {
      const { runtime, local, stop } = await place.program();
      const broker = await place.cluster();
      runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await local.client.create(Policy, policy('one'));
      await place.settle();
      await broker.client.patch(ConfigMap, ref('default-export'), 'merge', { data: { text: 'other' } });
      await place.settle();
      assert.equal((await exported(broker))?.data?.['text'], 'one');
      const before = (await exported(broker))?.metadata.resourceVersion;
      await stop();
      const again = await place.program({ local });
      again.runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await place.settle();
      assert.equal((await exported(broker))?.metadata.resourceVersion, before);
    }));

  test('belongs to the cluster of its owner: two that export one name do not take or remove each other’s', () =>
    inPlace(async (place) => {
      const broker = await place.cluster();
      const [east, west] = [await place.program(), await place.program()];
      for (const { runtime } of [east, west])
        runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await east.local.client.create(Policy, policy('east'));
      await place.settle();
      await west.local.client.create(Policy, policy('west'));
      await place.settle();
      assert.equal((await exported(broker))?.data?.['text'], 'east');
      assert.equal((await conditionOf(west.local, 'ReconcileError'))?.reason, 'Conflict');
      await west.local.client.delete(Policy, ref('default'));
      await place.settle();
      assert.equal((await exported(broker))?.data?.['text'], 'east');
    }));

  test('a child of the same owner in two clusters is two children, each known by its own inventory', () =>
    inPlace(async (place) => {
      const { runtime, local } = await place.program();
      const [broker, member] = [await place.cluster(), await place.cluster()];
      runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      runtime.addWorld({ name: 'm1', role: 'member', client: place.clientOf(member) });
      await local.client.create(Policy, policy('one'));
      await place.settle();
      const inBroker = await exported(broker);
      await local.client.patch(Policy, ref('default'), 'merge', { spec: { to: 'm1' } });
      await place.settle();
      assert.equal(await exported(broker), undefined, 'what is planned elsewhere is removed here');
      const inMember = await exported(member, 'default-m1');
      assert.equal(inventoryOf(inMember as KubeObject), inventoryOf(inBroker as KubeObject));
    }));
});

describe('a cluster that is not there', () => {
  test('is waited for until the clusters of its role are complete; then the status says that there is none', () =>
    inPlace(async (place) => {
      const { runtime, local } = await place.program();
      await local.client.create(Policy, policy('one'));
      await place.settle();
      assert.equal(runtime.suspended, 1);
      runtime.completeWorlds('broker');
      await place.settle();
      assert.match((await conditionOf(local, 'WaitingForCluster'))?.message ?? '', /no cluster named broker/);
      const broker = await place.cluster();
      runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await place.settle();
      assert.equal((await exported(broker))?.data?.['text'], 'one');
      assert.equal(await conditionOf(local, 'WaitingForCluster'), undefined);
    }));

  test('holds the deletion of an owner that may have children there, and says so; removing it releases the owner and logs what is left', () =>
    inPlace(async (place) => {
      const lines: string[] = [];
      const logger: Logger = {
        ...silentLogger,
        warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`),
        with: () => logger,
      };
      const { local, stop, runtime: first } = await place.program({ logger });
      const broker = await place.cluster();
      first.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await local.client.create(Policy, policy('one'));
      await place.settle();
      await stop();
      const away = new Proxy(place.clientOf(broker), {
        get: (real, name, receiver) =>
          ['list', 'watch', 'find', 'get', 'apply', 'listPage', 'metadata'].includes(String(name))
            ? () => Promise.reject(new Error('no route to host'))
            : (Reflect.get(real, name, receiver) as unknown),
      });
      const { runtime } = await place.program({ local, logger });
      runtime.addWorld({ name: 'broker', role: 'broker', client: away });
      runtime.completeWorlds('broker');
      await local.client.delete(Policy, ref('default'));
      await place.settle();
      assert.match(
        (await conditionOf(local, 'WaitingForCluster'))?.message ?? '',
        /broker.*delete their kubeconfig Secrets/,
      );
      await runtime.removeWorld('broker');
      await place.settle();
      assert.equal(await local.client.find(Policy, ref('default')), undefined);
      assert.ok((await exported(broker)) !== undefined, 'nothing is removed in a cluster that could not be reached');
    }));

  test('a cluster that was connected logs the objects that are left in it when it is removed', () =>
    inPlace(async (place) => {
      const lines: string[] = [];
      const logger: Logger = {
        ...silentLogger,
        warn: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`),
        with: () => logger,
      };
      const { runtime, local } = await place.program({ logger });
      const broker = await place.cluster();
      runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      await local.client.create(Policy, policy('one'));
      await place.settle();
      await runtime.removeWorld('broker');
      assert.ok(
        lines.some((line) => /left in it.*ConfigMap default\/default-export/.test(line)),
        lines.join('\n'),
      );
    }));
});

describe('a role', () => {
  test('decides what its clusters cache', () =>
    inPlace(async (place) => {
      const { runtime } = await place.program();
      const broker = await place.cluster();
      const world = runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      const local = runtime.worlds.get('');
      assert.ok(world.readTable(Service) !== undefined);
      assert.equal(world.readTable(Policy), undefined);
      assert.equal(local?.readTable(Service), undefined);
      assert.equal(local?.childTable(ConfigMap), undefined);
    }));

  test('has its own permissions', () => {
    const resources = (role?: string) => {
      const { everywhere, cluster, own, system } = rulesOf(exporting, role);
      return [...everywhere, ...cluster, ...own, ...system].flatMap((rule) => rule.resources).toSorted();
    };
    assert.deepEqual(resources('broker'), ['configmaps', 'services']);
    assert.deepEqual(resources('member'), ['configmaps']);
    assert.deepEqual(
      [...new Set(resources())],
      ['events', 'leases', 'namespaces', 'policies', 'policies/finalizers', 'policies/status', 'secrets'],
    );
  });

  const undeclared: Record<string, [message: RegExp, plan: Parameters<typeof reconciler<Policy>>[0]['reconcile']]> = {
    'a read': [
      /reads ConfigMap in a world of role broker, which it does not declare; add reading\(ConfigMap/,
      ({ read }) => {
        read.in('broker')?.list(ConfigMap);
        return plan();
      },
    ],
    'a write': [
      /plans a Service in a world of role broker, which it does not declare; add writing\(Service/,
      () =>
        plan({ children: [apply(Service, { metadata: ref('x'), spec: { ports: [{ port: 1 }] } }, { in: 'broker' })] }),
    ],
  };
  for (const [what, [message, reconcile]] of Object.entries(undeclared)) {
    test(`a role that is not declared for ${what} is refused on the resource, and everything else goes on`, () =>
      inPlace(async (place) => {
        const careless = reconciler<Policy>({
          name: 'careless',
          resource: Policy,
          reads: [reading(Service, 'everywhere', { in: 'broker' })],
          writes: [writing(ConfigMap, 'apply', { in: 'member' })],
          reconcile,
        });
        const given = operator({ name: 'sync', kinds: [Policy], reconcilers: [careless] });
        const { runtime, local } = await place.program({ operator: given });
        const broker = await place.cluster();
        runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
        runtime.completeWorlds('broker');
        await local.client.create(Policy, policy('one'));
        await place.settle();
        assert.match((await conditionOf(local, 'ReconcileError'))?.message ?? '', message);
      }));
  }

  test('a second cluster of the same name in a role is refused, and the first continues', () =>
    inPlace(async (place) => {
      const { runtime, local } = await place.program();
      const [broker, other] = [await place.cluster(), await place.cluster()];
      runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
      assert.throws(
        () => runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(other) }),
        /a second cluster is named "broker"/,
      );
      await local.client.create(Policy, policy('one'));
      await place.settle();
      assert.ok(await exported(broker));
    }));
});

test('a preview covers the clusters of all roles', () =>
  inPlace(async (place) => {
    const { runtime, local } = await place.program();
    const broker = await place.cluster();
    runtime.addWorld({ name: 'broker', role: 'broker', client: place.clientOf(broker) });
    await local.client.create(Policy, policy('one'));
    await place.settle();
    const changed = await local.client.patch(
      Policy,
      ref('default'),
      'merge',
      { spec: { text: 'two' } },
      { dryRun: true },
    );
    const { writes } = await preview(runtime, [{ kind: Policy, object: changed }]);
    assert.ok(
      writes.some(
        ({ object: name, paths }) =>
          name === 'ConfigMap default/default-export in broker' && paths.includes('data.text'),
      ),
      JSON.stringify(writes),
    );
    assert.equal((await exported(broker))?.data?.['text'], 'one');
  }));
