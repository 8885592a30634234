import assert from 'node:assert/strict';
import {
  type ApiRequest,
  type Client,
  createClient,
  DaemonSet,
  type Kind,
  Namespace,
  Secret,
  ServiceAccount,
  silentLogger,
} from '@capstan/kube';
import { createRuntime, type Operator, operator } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
  type SeededRandom,
  type TestCluster,
  type VirtualClock,
} from '@capstan/testing';
import {
  BROKER_NAMESPACE,
  CablePolicies,
  Cluster,
  Endpoint,
  MEMBER_NAMESPACE,
  ORIGIN_LABEL,
  Submariner,
} from '../../src/kinds/index.ts';
import type { BrokerAccess } from '../../src/membership/broker-access.ts';
import { accountOfToken } from '../../src/membership/broker-record.ts';
import { createDepartures } from '../../src/membership/departures.ts';
import { leaveBroker } from '../../src/membership/leave-broker.ts';
import { accountOf } from '../../src/membership/names.ts';
import { createSubmarinerReconciler } from '../../src/reconcilers/submariner.ts';
import { DEFAULT_SETTINGS } from '../../src/settings.ts';
import { EXPORT_FINALIZER, SYNC_FINALIZER } from '../../src/sync/content.ts';
import {
  DESCRIBING,
  endpointOf,
  gatewayProgram,
  here,
  KINDS,
  kindsOnly,
  type Member,
  policy,
  SECRET,
  type Side,
  there,
} from './membership-objects.test-support.ts';

const signal = new AbortController().signal;

export class History {
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
    for (const name of ['east', 'west', 'north']) {
      const cluster = await this.#cluster(MEMBER_NAMESPACE);
      const none = { broker: undefined, stop: undefined, stopOperator: async () => {} };
      const member: Member = { name, cluster, ...none };
      this.members.push(member);
      this.#startOperator(member);
    }
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
          : (['leave', 'crash', 'move', 'move-by-hand', 'create', 'create', 'delete', 'delete-there'] as const);
    const move = this.random.pick(moves);
    this.story.push(`${move} ${member.name} (${broker?.name ?? 'none'})`);
    await this[move](member);
    await this.clock.advance(this.random.pick([0, 50, 5000, 30_000]));
  }

  async join(member: Member, broker = this.random.pick(this.brokers)): Promise<void> {
    const { client } = member.cluster;
    const data = { token: await this.#account(broker, member.name) };
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: here(SECRET), data });
    await client.create(Submariner, {
      apiVersion: Submariner.apiVersion,
      kind: 'Submariner',
      metadata: here('submariner'),
      spec: {
        clusterID: member.name,
        cableDriver: 'vxlan',
        brokerK8sApiServer: broker.name,
        brokerK8sSecret: SECRET,
      } as Submariner['spec'],
    });
    await client.create(Endpoint, endpointOf(member.name));
    for (const name of await this.#ownPolicies(member)) this.#want(broker, name);
    member.broker = broker;
    await this.restart(member);
  }

  /** Creates the account of a member; the result is its token, as a Secret has it. */
  async #account({ cluster }: Side, id: string): Promise<string> {
    const object = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: there(accountOf(id)) };
    const { metadata } = await cluster.client.create(ServiceAccount, object);
    const account = { name: metadata.name, uid: metadata.uid };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { 'kubernetes.io': { namespace: BROKER_NAMESPACE, serviceaccount: account } };
    return Buffer.from(`${part({ kid: 'test' })}.${part(claims)}.`).toString('base64');
  }

  /** Connects to a broker as its accounts do: a token of an account that is gone is refused. */
  readonly #connect = async ({ server, token }: BrokerAccess): Promise<Client> => {
    const broker = this.brokers.find(({ name }) => name === server);
    assert.ok(broker, server);
    const account = accountOfToken(token);
    const inner = broker.cluster.transport();
    const request = async (asked: ApiRequest) => {
      const found = await broker.cluster.client.find(ServiceAccount, there(account?.name ?? ''));
      if (found?.metadata.uid === account?.uid) return inner.request(asked);
      return { status: 401, headers: {}, body: { kind: 'Status', code: 401, reason: 'Unauthorized' } };
    };
    const { clock, random } = this;
    return createClient({ transport: { ...inner, request }, clock, random, logger: silentLogger });
  };

  async #ownPolicies({ cluster }: Member): Promise<string[]> {
    const { items } = await cluster.client.list(CablePolicies, { namespace: MEMBER_NAMESPACE });
    return items.flatMap(({ metadata }) =>
      metadata.labels?.[ORIGIN_LABEL] === undefined ? (metadata.name ?? []) : [],
    );
  }

  /** Starts the operator of a member: it writes the Cluster and lets the member leave. */
  #startOperator(member: Member): void {
    const departures = createDepartures(this.#connect);
    const reconcilers = [createSubmarinerReconciler(DEFAULT_SETTINGS, departures)];
    const program = operator({
      name: 'submariner',
      kinds: KINDS,
      reconcilers,
      sinks: [departures],
      alsoWritesAs: ['submariner-gateway'],
    });
    member.stopOperator = this.#run(program, [{ name: '', side: member, namespace: MEMBER_NAMESPACE }]);
  }

  /** Runs a program; the result ends it. */
  #run(
    program: Operator,
    worlds: readonly { readonly name: string; readonly side: Side; readonly namespace: string }[],
  ): () => Promise<void> {
    const { clock, random } = this;
    const runtime = createRuntime({ operators: [program], clock, random, logger: silentLogger, checkFields: true });
    runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
    for (const { name, side, namespace } of worlds) {
      const client = createClient({ transport: side.cluster.transport(), clock, random, logger: silentLogger });
      runtime.addWorld({ name, client, namespace, ...(name !== '' && { role: name }) });
    }
    const stopping = new AbortController();
    const ended = runtime.run(stopping.signal);
    return async () => {
      stopping.abort();
      await clock.advance(60_000);
      await ended;
    };
  }

  /** The broker that the pods of the DaemonSet are started for. */
  async #brokerOfPods({ cluster }: Member): Promise<Side | undefined> {
    const found = await cluster.client.find(DaemonSet, here('submariner-gateway'));
    const env = found?.spec?.template.spec?.containers[0]?.env ?? [];
    const server = env.find(({ name }) => name === 'BROKER_K8S_APISERVER')?.value;
    return this.brokers.find(({ name }) => name === server);
  }

  /** Starts the program of a member, as its DaemonSet does. */
  async restart(member: Member): Promise<void> {
    await this.clock.advance(5000);
    const broker = await this.#brokerOfPods(member);
    assert.ok(broker, `${member.name} has no DaemonSet`);
    const program = gatewayProgram(member.name, broker.name);
    member.stop = this.#run(program, [
      { name: '', side: member, namespace: MEMBER_NAMESPACE },
      { name: 'broker', side: broker, namespace: BROKER_NAMESPACE },
    ]);
    await this.clock.advance(0);
  }

  async leave(member: Member): Promise<void> {
    const { cluster } = member;
    await cluster.client.delete(Submariner, here('submariner'));
    const endsFirst = this.random.chance(0.5);
    if (endsFirst) await this.crash(member);
    await this.#gone(member);
    if (!endsFirst) await this.crash(member);
    // A leftover that is deleted later deletes nothing on the broker.
    const left = (await cluster.client.list(CablePolicies, { namespace: MEMBER_NAMESPACE })).items;
    if (left.length > 0 && this.random.chance(0.3))
      await cluster.client.delete(CablePolicies, here(this.random.pick(left).metadata.name ?? ''));
  }

  /** Waits until a deleted resource is gone. Its Endpoint goes with its gateway. */
  async #gone(member: Member): Promise<void> {
    const { client } = member.cluster;
    for (let left = 20; left > 0 && (await client.find(Submariner, here('submariner'))) !== undefined; left--)
      await this.clock.advance(10_000);
    assert.equal(await client.find(Submariner, here('submariner')), undefined, `${member.name} is held`);
    for (const kind of DESCRIBING)
      for (const { metadata } of (await client.list(kind, { namespace: MEMBER_NAMESPACE })).items)
        await client.delete(kind, here(metadata.name ?? ''));
    await client.delete(Secret, here(SECRET));
    member.broker = undefined;
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
    await this.#gone(member);
  }

  async move(member: Member): Promise<void> {
    const other = this.brokers.find((each) => each !== member.broker);
    await this.leave(member);
    await this.join(member, other);
  }

  /** A user writes the token of another broker and its address, in either order, while the operator may start again. */
  async 'move-by-hand'(member: Member): Promise<void> {
    // Its policies are known everywhere: an unsent one would be wanted on both brokers.
    await this.clock.advance(30_000);
    const broker = this.brokers.find((each) => each !== member.broker);
    assert.ok(broker);
    const { client } = member.cluster;
    const data = { token: await this.#account(broker, member.name) };
    const pause = () => this.clock.advance(this.random.pick([0, 50, 5000]));
    const edits = [
      () => client.patch(Secret, here(SECRET), 'merge', { data }),
      () => client.patch(Submariner, here('submariner'), 'merge', { spec: { brokerK8sApiServer: broker.name } }),
    ];
    if (this.random.chance(0.5)) edits.reverse();
    for (const edit of edits) {
      await edit();
      await pause();
    }
    if (this.random.chance(0.3)) {
      await member.stopOperator();
      this.#startOperator(member);
    }
    if (this.random.chance(0.2)) await this.crash(member);
    for (let left = 20; left > 0 && (await this.#brokerOfPods(member)) !== broker; left--)
      await this.clock.advance(10_000);
    assert.equal((await this.#brokerOfPods(member))?.name, broker.name, `${member.name} does not move`);
    member.broker = broker;
    for (const name of await this.#ownPolicies(member)) this.#want(broker, name);
    await this.crash(member);
    await this.restart(member);
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
    for (const member of this.members) {
      await this.crash(member);
      await member.stopOperator();
    }
    for (const { cluster } of [...this.brokers, ...this.members]) await cluster.close();
  }
}
