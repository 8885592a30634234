// Random histories of clusters that join, leave, crash, move and join again, with the programs of all members running on servers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, createClient, type Kind, Namespace, ServiceAccount, silentLogger } from '@capstan/kube';
import { createRuntime, operator } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  runs,
  type SeededRandom,
  type TestCluster,
  type VirtualClock,
} from '@capstan/testing';
import {
  BROKER_NAMESPACE,
  Broker,
  CablePolicies,
  Cluster,
  Endpoint,
  Gateway,
  MEMBER_NAMESPACE,
  ORIGIN_LABEL,
  OWNER_ANNOTATION,
  Submariner,
} from '../../src/kinds/index.ts';
import { clearMember } from '../../src/membership/clear-member.ts';
import { leaveBroker } from '../../src/membership/leave-broker.ts';
import { accountOf } from '../../src/membership/names.ts';
import { createBrokerSync } from '../../src/reconcilers/sync-broker.ts';
import { createOwnedSync } from '../../src/reconcilers/sync-owned.ts';
import { createPolicySync } from '../../src/reconcilers/sync-policies.ts';
import { EXPORT_FINALIZER, SYNC_FINALIZER } from '../../src/sync/content.ts';

const COUNT = runs(6, 100, 'SIMULATIONS');
const REPLAY = process.env['SIMULATION_SEED'];
const KINDS = [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway];
const kindsOnly = operator({ name: 'kinds', kinds: KINDS, reconcilers: [] });
const DESCRIBING: readonly Kind[] = [Cluster, Endpoint];
const signal = new AbortController().signal;
const here = (name: string) => ({ namespace: MEMBER_NAMESPACE, name });
const there = (name: string) => ({ namespace: BROKER_NAMESPACE, name });

interface Side {
  readonly name: string;
  readonly cluster: TestCluster;
}

interface Member extends Side {
  broker: Side | undefined;
  /** Ends its program; undefined while none runs. */
  stop: (() => Promise<void>) | undefined;
}

class History {
  readonly clock: VirtualClock = createVirtualClock();
  readonly random: SeededRandom;
  readonly brokers: Side[] = [];
  readonly members: Member[] = [];
  readonly story: string[] = [];
  /** The policies that must be on a broker. */
  readonly wanted = new Map<string, Set<string>>();
  #policies = 0;

  constructor(seed: number) {
    this.random = createRandom(seed);
  }

  async open(): Promise<void> {
    for (const name of ['b1', 'b2']) {
      this.brokers.push({ name, cluster: await this.#cluster(BROKER_NAMESPACE) });
      this.wanted.set(name, new Set());
    }
    for (const name of ['east', 'west', 'north'])
      this.members.push({ name, cluster: await this.#cluster(MEMBER_NAMESPACE), broker: undefined, stop: undefined });
  }

  async #cluster(namespace: string): Promise<TestCluster> {
    const cluster = await createTestCluster({ clock: this.clock, random: this.random, operators: [kindsOnly] });
    await cluster.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    return cluster;
  }

  async step(): Promise<void> {
    const member = this.random.pick(this.members);
    const { broker, stop } = member;
    const moves =
      broker === undefined
        ? (['join', 'join', 'create'] as const)
        : stop === undefined
          ? (['restart', 'remove'] as const)
          : (['leave', 'crash', 'move', 'create', 'create', 'delete', 'delete-there'] as const);
    const move = this.random.pick(moves);
    this.story.push(`${move} ${member.name} (${broker?.name ?? 'none'})`);
    await this[move](member);
    await this.clock.advance(this.random.pick([0, 50, 5000, 30_000]));
  }

  async join(member: Member, broker = this.random.pick(this.brokers)): Promise<void> {
    const { client } = member.cluster;
    const submariner = await client.create(Submariner, {
      apiVersion: Submariner.apiVersion,
      kind: 'Submariner',
      metadata: here('submariner'),
      spec: { clusterID: member.name } as Submariner['spec'],
    });
    const annotations = { [OWNER_ANNOTATION]: submariner.metadata.uid ?? '' };
    await broker.cluster.client.create(ServiceAccount, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: there(accountOf(member.name)),
    });
    await client.create(Cluster, {
      apiVersion: Cluster.apiVersion,
      kind: 'Cluster',
      metadata: { ...here(member.name), annotations },
      spec: { cluster_id: member.name, service_cidr: [], cluster_cidr: [], global_cidr: [] },
    });
    await client.create(Endpoint, endpointOf(member.name));
    const own = (await client.list(CablePolicies, { namespace: MEMBER_NAMESPACE })).items;
    for (const { metadata } of own) this.#want(broker, metadata.name ?? '');
    member.broker = broker;
    await this.restart(member);
  }

  async restart(member: Member): Promise<void> {
    const { broker } = member;
    assert.ok(broker);
    const places = {
      clusterID: member.name,
      namespace: MEMBER_NAMESPACE,
      brokerNamespace: BROKER_NAMESPACE,
      needsResource: true,
    };
    const program = operator({
      name: 'submariner-gateway',
      kinds: KINDS,
      reconcilers: [
        ...createPolicySync(places),
        ...createOwnedSync(Cluster, places),
        ...createOwnedSync(Endpoint, places),
        ...createBrokerSync(places),
      ],
    });
    const { clock, random } = this;
    const runtime = createRuntime({ operators: [program], clock, random, logger: silentLogger, checkFields: true });
    const clientOf = ({ cluster }: Side) =>
      createClient({ transport: cluster.transport(), clock, random, logger: silentLogger });
    runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
    runtime.addWorld({ name: '', client: clientOf(member), namespace: MEMBER_NAMESPACE });
    runtime.addWorld({ name: 'broker', role: 'broker', client: clientOf(broker), namespace: BROKER_NAMESPACE });
    const stopping = new AbortController();
    const ended = runtime.run(stopping.signal);
    member.stop = async () => {
      stopping.abort();
      await this.clock.advance(60_000);
      await ended;
    };
    await this.clock.advance(0);
  }

  async leave(member: Member): Promise<void> {
    const { broker, cluster } = member;
    assert.ok(broker);
    const own = (await cluster.client.get(Submariner, here('submariner'))).metadata.uid ?? '';
    await cluster.client.delete(Submariner, here('submariner'));
    const endsFirst = this.random.chance(0.5);
    if (endsFirst) await this.crash(member);
    await leaveBroker({
      client: broker.cluster.client,
      namespace: BROKER_NAMESPACE,
      clusterID: member.name,
      owner: own,
      signal,
    });
    await clearMember({ client: cluster.client, namespace: MEMBER_NAMESPACE, signal });
    for (const kind of DESCRIBING)
      for (const { metadata } of (await cluster.client.list(kind, { namespace: MEMBER_NAMESPACE })).items)
        await cluster.client.delete(kind, here(metadata.name ?? ''));
    if (!endsFirst) await this.crash(member);
    member.broker = undefined;
    // A leftover that is deleted later deletes nothing on the broker.
    const left = (await cluster.client.list(CablePolicies, { namespace: MEMBER_NAMESPACE })).items;
    if (left.length > 0 && this.random.chance(0.3))
      await cluster.client.delete(CablePolicies, here(this.random.pick(left).metadata.name ?? ''));
  }

  async crash(member: Member): Promise<void> {
    await member.stop?.();
    member.stop = undefined;
  }

  /** The administrator of the broker removes a member that vanished; the cluster is installed again later. */
  async remove(member: Member): Promise<void> {
    const { broker, cluster } = member;
    assert.ok(broker);
    const clusterID = member.name;
    await leaveBroker({ client: broker.cluster.client, namespace: BROKER_NAMESPACE, clusterID, signal });
    await cluster.client.delete(Submariner, here('submariner'));
    await clearMember({ client: cluster.client, namespace: MEMBER_NAMESPACE, signal });
    for (const kind of DESCRIBING)
      for (const { metadata } of (await cluster.client.list(kind, { namespace: MEMBER_NAMESPACE })).items)
        await cluster.client.delete(kind, here(metadata.name ?? ''));
    member.broker = undefined;
  }

  async move(member: Member): Promise<void> {
    const other = this.brokers.find((each) => each !== member.broker);
    await this.leave(member);
    await this.join(member, other);
  }

  async create(member: Member): Promise<void> {
    const name = `p${++this.#policies}`;
    await member.cluster.client.create(CablePolicies, policy(here(name)));
    if (member.broker === undefined) return;
    this.#want(member.broker, name);
    // Its creation is known everywhere before the next step: an unsent policy of a crashed member has no single outcome.
    await this.clock.advance(30_000);
  }

  async delete(member: Member): Promise<void> {
    await this.#deleteOn(member.cluster.client, MEMBER_NAMESPACE, member);
  }

  async 'delete-there'(member: Member): Promise<void> {
    assert.ok(member.broker);
    await this.#deleteOn(member.broker.cluster.client, BROKER_NAMESPACE, member);
  }

  async #deleteOn(client: Client, namespace: string, member: Member): Promise<void> {
    await this.clock.advance(30_000);
    const { items } = await client.list(CablePolicies, { namespace });
    if (items.length === 0) return;
    const { name = '' } = this.random.pick(items).metadata;
    await client.delete(CablePolicies, { namespace, name });
    this.wanted.get(member.broker?.name ?? '')?.delete(name);
    await this.clock.advance(30_000);
  }

  #want({ name: broker }: Side, policyName: string): void {
    this.wanted.get(broker)?.add(policyName);
  }

  /** Everything that is wrong when all has come to rest and vanished members were removed. */
  async problems(): Promise<string[]> {
    for (const member of this.members)
      if (member.broker !== undefined && member.stop === undefined) await this.remove(member);
    await this.clock.advance(120_000);
    const found: string[] = [];
    const expect = (what: string, actual: readonly string[], wanted: readonly string[]) => {
      const [a, b] = [actual.toSorted().join(), wanted.toSorted().join()];
      if (a !== b) found.push(`${what}: ${a || 'none'} instead of ${b || 'none'}`);
    };
    for (const broker of this.brokers) {
      const { client } = broker.cluster;
      const joined = this.members.filter((each) => each.broker === broker).map(({ name }) => name);
      const clusters = (await client.list(Cluster, { namespace: BROKER_NAMESPACE })).items;
      const endpoints = (await client.list(Endpoint, { namespace: BROKER_NAMESPACE })).items;
      const accounts = (await client.list(ServiceAccount, { namespace: BROKER_NAMESPACE })).items.filter(
        ({ metadata }) => metadata.name?.startsWith('cluster-'),
      );
      const policies = (await client.list(CablePolicies, { namespace: BROKER_NAMESPACE })).items;
      expect(
        `clusters on ${broker.name}`,
        clusters.map(({ spec }) => spec.cluster_id),
        joined,
      );
      expect(
        `endpoints on ${broker.name}`,
        endpoints.map(({ spec }) => spec.cluster_id),
        joined,
      );
      expect(
        `accounts on ${broker.name}`,
        accounts.map(({ metadata }) => metadata.name ?? ''),
        joined.map(accountOf),
      );
      const names = policies.map(({ metadata }) => metadata.name ?? '');
      expect(`policies on ${broker.name}`, names, [...(this.wanted.get(broker.name) ?? [])]);
      for (const { metadata } of policies)
        if (metadata.finalizers?.includes(EXPORT_FINALIZER)) found.push(`${broker.name} ${metadata.name}: is held`);
      for (const member of this.members.filter((each) => each.broker === broker)) {
        const copies = (await member.cluster.client.list(CablePolicies, { namespace: MEMBER_NAMESPACE })).items;
        expect(
          `policies on ${member.name}`,
          copies.map(({ metadata }) => metadata.name ?? ''),
          names,
        );
      }
    }
    for (const member of this.members.filter(({ broker }) => broker === undefined))
      for (const kind of [CablePolicies, ...DESCRIBING] as readonly Kind[])
        for (const { metadata } of (await member.cluster.client.list(kind, { namespace: MEMBER_NAMESPACE })).items) {
          if (metadata.finalizers?.includes(SYNC_FINALIZER)) found.push(`${member.name} ${metadata.name}: is held`);
          if (metadata.labels?.[ORIGIN_LABEL] !== undefined) found.push(`${member.name} ${metadata.name}: is a copy`);
        }
    return found;
  }

  async close(): Promise<void> {
    for (const member of this.members) await this.crash(member);
    for (const { cluster } of [...this.brokers, ...this.members]) await cluster.close();
  }
}

function policy(ref: object): CablePolicies {
  return {
    apiVersion: CablePolicies.apiVersion,
    kind: 'CablePolicies',
    metadata: { ...ref },
    spec: [{ cableDriver: { name: 'ipsec' } }],
  };
}

function endpointOf(id: string): Endpoint {
  return {
    apiVersion: Endpoint.apiVersion,
    kind: 'Endpoint',
    metadata: here(`${id}-cable`),
    spec: {
      cluster_id: id,
      cable_name: `cable-${id}`,
      hostname: id,
      subnets: [],
      private_ip: '192.0.2.1',
      public_ip: '',
      nat_enabled: false,
      backend: 'ipsec',
    },
  };
}

test(`${COUNT} histories of joining, leaving, crashing and moving leave no orphan and lose no policy`, async () => {
  const seeds = REPLAY === undefined ? Array.from({ length: COUNT }, (_, index) => index + 1) : [Number(REPLAY)];
  for (const seed of seeds) {
    const history = new History(seed);
    await history.open();
    try {
      for (let left = 14; left > 0; left--) await history.step();
      const problems = await history.problems();
      const replay = `SIMULATION_SEED=${seed} npm test -- operators/submariner/test/sync/membership.test.ts`;
      assert.deepEqual(problems, [], `seed ${seed}:\n  ${history.story.join('\n  ')}\nreplay: ${replay}`);
    } finally {
      await history.close();
    }
  }
});
