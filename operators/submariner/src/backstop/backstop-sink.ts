// The backstop as a sink without a lease. A passive gateway also keeps the networks of encrypted pairs closed, so that its node never sends
// clear text, before or after it is the active one.
import { ConfigMap } from '@capstan/kube';
import { reading, type Sink, type SinkBatch, sink } from '@capstan/reconcile';
import { type Backstop, FOUND } from '../drivers/backstop.ts';
import { Broker, CablePolicies, Cluster, Endpoint } from '../kinds/index.ts';
import {
  closedNetworks,
  clusterOfEndpoint,
  createProtection,
  type ProtectedGateway,
  type Protection,
} from './protection.ts';

const HOLDER = 'cluster ';

export function createBackstopSink(gateway: ProtectedGateway, backstop: Backstop): Sink<Protection | undefined> {
  const protections = new Map<string, Protection>();
  return sink<Protection | undefined>({
    name: 'backstop',
    of: createProtection(gateway),
    keys: [Cluster, { each: Endpoint, keys: clusterOfEndpoint }],
    reads: [
      reading(Endpoint, 'everywhere'),
      reading(Cluster, 'everywhere'),
      reading(CablePolicies, 'everywhere'),
      reading(Broker, 'everywhere', { optional: true }),
      ConfigMap,
    ],
    lease: 'none',
    open: () => ({ take: (batch) => takeProtections(batch, protections, backstop) }),
  });
}

export async function takeProtections(
  { changes, snapshot }: Pick<SinkBatch<Protection | undefined>, 'changes' | 'snapshot'>,
  protections: Map<string, Protection>,
  backstop: Backstop,
): Promise<void> {
  if (snapshot) protections.clear();
  for (const { key, after } of changes) {
    if (after === undefined) protections.delete(key);
    else protections.set(key, after);
  }
  const all = [...protections.values()];
  const closed = closedNetworks(all);
  // Keep the networks of a cluster that exists but has no known networks now: its gateway is being replaced.
  const isKept = ({ state, networks }: Protection) =>
    state === 'unknown' || (state === 'closed' && networks.length === 0);
  const kept = new Set(all.filter(isKept).map(({ cluster }) => cluster));
  await Promise.all(
    [...closed].flatMap(([cluster, networks]) =>
      kept.has(cluster) ? [] : [backstop.hold(`${HOLDER}${cluster}`, networks)],
    ),
  );
  const known = (cluster: string) => closed.has(cluster) || kept.has(cluster);
  const gone = backstop
    .holders()
    .filter((holder) => (holder.startsWith(HOLDER) && !known(holder.slice(HOLDER.length))) || holder === FOUND);
  await Promise.all(gone.map((holder) => backstop.hold(holder, [])));
}
