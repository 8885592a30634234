// The leader of an installation is killed while proxies are created and edited, and the other replica takes over.
import { KafkaProxy, KafkaProxyIngress, KafkaService, VirtualKafkaCluster } from '@capstan/kroxylicious';
import { type Client, Deployment, type Kind, type KubeObject, Lease, sleep, systemClock } from '@capstan/kube';
import { pidOf, type RealInstallation, SYSTEM, until } from './real-installation.ts';

export interface Failover {
  /** Since the leader was killed. */
  readonly leadsAfterMs: number;
  /** Until the first write of the other replica. */
  readonly writesAfterMs: number;
  /** Until all that was asked for meanwhile is written. */
  readonly caughtUpAfterMs: number;
  readonly proxies: readonly LoadedProxy[];
}

/** The last edit, and the number of writes of its Deployment: one for its creation, and one for the edit. */
export interface LoadedProxy {
  readonly name: string;
  readonly replicas: number;
  readonly writes: number;
}

const OPERATOR = 'kroxylicious';
const NAMESPACE = 'default';
const UPSTREAM = 'loaded';
/** Created before the leader dies, and edited while none leads. */
const SETTLED = 10;
const FRESH = 'fresh-';
const PACE_MS = 300;

export async function failOverUnderLoad({ real: { client }, leaderOf }: RealInstallation): Promise<Failover> {
  const make = (kind: Kind, name: string, spec: object) =>
    client.create(kind, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { namespace: NAMESPACE, name },
      spec,
    } as KubeObject);
  const create = async (name: string) => {
    const proxyRef = { name };
    await make(KafkaProxyIngress, name, { proxyRef, clusterIP: { protocol: 'TCP' } });
    const route = { targetKafkaServiceRef: { name: UPSTREAM }, ingresses: [{ ingressRef: { name } }] };
    await make(VirtualKafkaCluster, name, { proxyRef, ...route });
    await make(KafkaProxy, name, { replicas: 1 });
  };
  await make(KafkaService, UPSTREAM, { bootstrapServers: 'kafka.default.svc:9092' });
  const replicasOf = async (name: string) =>
    (await client.find(Deployment, { namespace: NAMESPACE, name }))?.spec?.replicas;
  const settled = Array.from({ length: SETTLED }, (_, index) => `settled-${index}`);
  for (const name of settled) await create(name);
  for (const name of settled) await until(async () => (await replicasOf(name)) === 1, `the Deployment ${name}`);

  const holder = await leaderOf(OPERATOR);
  const watching = new AbortController();
  const seen = (kind: Kind, namespace: string, holds: (object: Seen) => boolean) =>
    firstSeen(client, kind, namespace, holds, watching.signal);
  const isWritten = ({ metadata: { name }, status }: Seen) => isFresh(name) && status !== undefined;
  const leads = await seen(Lease, SYSTEM, ({ metadata, spec }) => {
    return metadata.name === `capstan-${OPERATOR}` && spec?.['holderIdentity'] !== holder;
  });
  const writes = await Promise.all([
    seen(Deployment, NAMESPACE, ({ metadata: { name, generation } }) => generation === 2 || isFresh(name)),
    seen(VirtualKafkaCluster, NAMESPACE, isWritten),
    seen(KafkaProxyIngress, NAMESPACE, isWritten),
  ]);
  const killed = performance.now();
  process.kill(pidOf(holder), 'SIGKILL');
  const since = () => performance.now() - killed;
  const stop = new AbortController();
  const created: string[] = [];
  const load = async () => {
    for (const name of settled)
      await client.patch(KafkaProxy, { namespace: NAMESPACE, name }, 'merge', { spec: { replicas: 3 } });
    while (!stop.signal.aborted) {
      const name = `${FRESH}${created.length}`;
      await create(name);
      created.push(name);
      await sleep(systemClock, PACE_MS);
    }
  };
  const loading = load();
  try {
    const leadsAfterMs = (await leads.at) - killed;
    const writesAfterMs = (await Promise.race(writes.map(({ at }) => at))) - killed;
    stop.abort();
    await loading;
    const proxies = [
      ...settled.map((name) => ({ name, replicas: 3, writes: 2 })),
      ...created.map((name) => ({ name, replicas: 1, writes: 1 })),
    ];
    for (const { name, replicas } of proxies)
      await until(async () => (await replicasOf(name)) === replicas, `the Deployment ${name}`);
    return { leadsAfterMs, writesAfterMs, caughtUpAfterMs: since(), proxies };
  } finally {
    stop.abort();
    await loading.catch(() => {});
    watching.abort();
  }
}

const isFresh = (name = '') => name.startsWith(FRESH);

type Seen = KubeObject & { readonly spec?: Readonly<Record<string, unknown>>; readonly status?: object };

/** When the first object for which it holds was reported; the watch is open when this resolves. */
async function firstSeen(
  client: Client,
  kind: Kind,
  namespace: string,
  holds: (object: Seen) => boolean,
  signal: AbortSignal,
): Promise<{ readonly at: Promise<number> }> {
  const stream = await client.watch(kind, { namespace, signal });
  const found = async () => {
    for await (const events of stream) if (events.some(({ object }) => holds(object as Seen))) return performance.now();
    throw new Error(`the watch of ${kind.plural} ended before what it waits for`);
  };
  const at = found();
  at.catch(() => {});
  return { at };
}
