// A broker and members, each an embedded cluster with a program of its own, on one clock.
import { type ApiRequest, type Client, createClient, Namespace, silentLogger, type Transport } from '@capstan/kube';
import { createRuntime, type Operator, operator, type Runtime } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  createVirtualClock,
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
  Submariner,
} from '../../src/kinds/index.ts';
import { broker as brokerReconciler } from '../../src/reconcilers/broker.ts';
import { createBrokerSync } from '../../src/reconcilers/sync-broker.ts';
import { createOwnedSync } from '../../src/reconcilers/sync-owned.ts';
import { createPolicySync } from '../../src/reconcilers/sync-policies.ts';

const KINDS = [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway];
const kindsOnly = operator({ name: 'kinds', kinds: KINDS, reconcilers: [] });

export interface Member {
  readonly id: string;
  readonly client: Client;
  readonly runtime: Runtime;
  /** The connection to the broker goes, and comes back. */
  leave(): Promise<void>;
  comeBack(): void;
  stop(): Promise<void>;
}

export interface SyncPlace {
  readonly clock: VirtualClock;
  readonly broker: TestCluster;
  join(id: string): Promise<Member>;
  /** Starts the operator of the broker; the result stops it. */
  startBrokerOperator(): () => Promise<void>;
  /** Called before each write of a member's program; the write waits for it. */
  onWrite: (request: ApiRequest) => Promise<void>;
  settle(): Promise<void>;
  close(): Promise<void>;
}

export async function createSyncPlace(): Promise<SyncPlace> {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const clusters: TestCluster[] = [];
  const members: Member[] = [];
  const cluster = async (namespace: string) => {
    const made = await createTestCluster({ clock, random, operators: [kindsOnly] });
    clusters.push(made);
    await made.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    return made;
  };
  const clientOf = (made: TestCluster) => {
    const inner = made.transport();
    const transport: Transport = {
      address: inner.address,
      async request(request) {
        if (request.method !== 'GET') await place.onWrite(request);
        return inner.request(request);
      },
      watch: (request) => inner.watch(request),
      close: () => inner.close(),
    };
    return createClient({ transport, clock, random, logger: silentLogger });
  };
  const broker = await cluster(BROKER_NAMESPACE);
  const place: SyncPlace = {
    onWrite: () => Promise.resolve(),
    clock,
    broker,
    startBrokerOperator() {
      const operators = [operator({ name: 'submariner', kinds: KINDS, reconcilers: [brokerReconciler] })];
      const runtime = createRuntime({ operators, clock, random, logger: silentLogger, freeze: true });
      runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
      runtime.addWorld({ name: '', client: clientOf(broker), namespace: BROKER_NAMESPACE });
      const stopping = new AbortController();
      const ended = runtime.run(stopping.signal);
      return async () => {
        stopping.abort();
        await clock.advance(60_000);
        await ended;
      };
    },
    async join(id) {
      const local = await cluster(MEMBER_NAMESPACE);
      const places = { clusterID: id, namespace: MEMBER_NAMESPACE, brokerNamespace: BROKER_NAMESPACE };
      const program: Operator = operator({
        name: 'submariner-gateway',
        kinds: KINDS,
        reconcilers: [
          ...createPolicySync(places),
          ...createOwnedSync(Cluster, places),
          ...createOwnedSync(Endpoint, places),
          ...createBrokerSync(places),
        ],
      });
      const runtime = createRuntime({ operators: [program], clock, random, logger: silentLogger, checkFields: true });
      runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
      runtime.addWorld({ name: '', client: clientOf(local), namespace: MEMBER_NAMESPACE });
      const comeBack = () => {
        runtime.addWorld({ name: 'broker', role: 'broker', client: clientOf(broker), namespace: BROKER_NAMESPACE });
      };
      comeBack();
      const stopping = new AbortController();
      const ended = runtime.run(stopping.signal);
      const member: Member = {
        id,
        client: local.client,
        runtime,
        comeBack,
        async leave() {
          const gone = runtime.removeWorld('broker');
          await clock.advance(1000);
          await gone;
        },
        async stop() {
          stopping.abort();
          await clock.advance(60_000);
          await ended;
        },
      };
      members.push(member);
      return member;
    },
    settle: () => clock.advance(30_000),
    async close() {
      for (const member of members) await member.stop();
      for (const made of clusters) await made.close();
    },
  };
  return place;
}
