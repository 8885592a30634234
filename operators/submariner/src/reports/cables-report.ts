// The page of cables: every pair of clusters with the driver that the policies in force choose, and its state as an end reports it.
import type { Client } from '@capstan/kube';
import { derivation, type Reader, type Report, type ReportContext, reading, report } from '@capstan/reconcile';
import { Broker, CablePolicies, Cluster, type Connection, Endpoint, Gateway, Submariner } from '../kinds/index.ts';
import { formatSelector } from '../policy/index.ts';
import { clusterFacts } from '../resolution/cluster-labels.ts';
import type { Decision } from '../resolution/decision.ts';
import { offerOfEndpoint } from '../resolution/endpoint-offer.ts';
import { type PolicySet, pairCounts, policySet } from '../resolution/pair-fold.ts';
import { decideFor } from '../resolution/resolver.ts';

export interface CablesReport {
  readonly namespace: string;
  readonly clusterID?: string;
  readonly clusters: readonly {
    readonly id: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly drivers: readonly string[];
  }[];
  readonly groupBy?: string;
  readonly pairs: readonly ReportedPair[];
  readonly policies: readonly {
    readonly name: string;
    readonly isAccepted: boolean;
    readonly message: string;
    readonly pairs: number;
    readonly rules: readonly {
      readonly left: string;
      readonly right: string;
      readonly driver: string;
      readonly priority: number;
    }[];
  }[];
  readonly problems: readonly string[];
}

export interface ReportedPair {
  readonly left: string;
  readonly right: string;
  readonly driver: string;
  readonly policy: string;
  readonly note?: string;
  readonly state: 'up' | 'connecting' | 'down' | 'none' | 'unknown';
  readonly message?: string;
  readonly usedDriver?: string;
}

export const cablesReport: Report = report({
  name: 'cables',
  title: 'Cables',
  of: derivation<CablesReport | undefined>({
    name: 'cables-report',
    compute: ({ key, read }) => (key === '' ? cablesOf(read) : undefined),
  }),
  complete: withOtherEnds,
  reads: [
    CablePolicies,
    Cluster,
    Endpoint,
    Submariner,
    reading(Broker, 'everywhere'),
    // Written by the gateways of a member; a broker's own cluster has none.
    reading(Gateway, 'everywhere', { optional: true }),
  ],
});

function cablesOf(read: Reader): CablesReport {
  const [member] = read.list(Submariner, {}, memberOf);
  const [broker = ''] = read.list(Broker, {}, namespaceOf);
  const namespace = member?.namespace ?? broker;
  const clusters = read
    .list(Cluster, { namespace }, clusterFacts)
    .toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const offers = new Map(read.list(Endpoint, { namespace }, offerOf).map(({ id, offer }) => [id, offer]));
  const policies = read.derived(policySet, namespace);
  const [settings] = read.list(Broker, { namespace }, onConflictOf);
  const options = {
    ranking: policies.ranking,
    offerOf: (id: string) => offers.get(id),
    ...(settings !== undefined && { onConflict: settings }),
  };
  const connections = member === undefined ? undefined : connectionsOf(read, namespace);
  const pairs = clusters.flatMap((cluster, at) =>
    [...decideFor(cluster, clusters.slice(at + 1), options).values()].map((decision) =>
      pairOf(decision, member?.clusterID, connections),
    ),
  );
  const groupBy = mostSelected(policies);
  return {
    namespace,
    ...(member !== undefined && { clusterID: member.clusterID }),
    clusters: clusters.map(({ id, labels }) => ({ id, labels, drivers: [...(offers.get(id)?.drivers.keys() ?? [])] })),
    ...(groupBy !== undefined && { groupBy }),
    pairs,
    policies: policiesOf(read, namespace, policies),
    problems: pairs.flatMap(({ driver, note }) => (driver === 'unknown' && note !== undefined ? [note] : [])),
  };
}

const memberOf = ({ metadata, spec }: Submariner) => ({
  namespace: metadata.namespace ?? '',
  clusterID: spec.clusterID,
});
const namespaceOf = ({ metadata }: Broker) => metadata.namespace ?? '';
const onConflictOf = ({ spec }: Broker) => spec.onConflict ?? 'pick';
const offerOf = ({ spec }: Endpoint) => ({ id: spec.cluster_id, offer: offerOfEndpoint(spec) });

/** The connections of the active gateway, by the id of the other cluster; undefined where they may not be read. */
function connectionsOf(read: Reader, namespace: string): Connections | undefined {
  return read.access(Gateway) === 'served' ? activeConnections(read.list(Gateway, { namespace }, statusOf)) : undefined;
}

type Connections = ReadonlyMap<string, Connection>;
const statusOf = ({ status }: Gateway) => status;

function activeConnections(statuses: readonly Gateway['status'][]): Connections {
  return new Map(
    statuses
      .filter((status) => status?.haStatus === 'active')
      .flatMap((status) => (status?.connections ?? []).map((one) => [one.endpoint.cluster_id, one])),
  );
}

/** Asks members that are other clusters of the program for the states of their ends. */
async function withOtherEnds(
  body: CablesReport | undefined,
  { others, signal }: Pick<ReportContext, 'others' | 'signal'>,
): Promise<CablesReport | undefined> {
  if (body === undefined || body.pairs.every(({ state }) => state !== 'unknown')) return body;
  const ends = new Map((await Promise.all(others.map((client) => endsOf(client, signal)))).flat());
  const pairs = body.pairs.map((pair) => {
    if (pair.state !== 'unknown') return pair;
    const found = ends.get(pair.left)?.get(pair.right) ?? ends.get(pair.right)?.get(pair.left);
    return found === undefined ? pair : { ...pair, ...stateOf(found) };
  });
  return { ...body, pairs };
}

/** The connections of a member, by its id; none for a cluster that is no member or cannot be read. */
async function endsOf(client: Client, signal: AbortSignal): Promise<readonly (readonly [string, Connections])[]> {
  try {
    const { items: members } = await client.list(Submariner, { signal });
    const found = members.map(async ({ metadata, spec }) => {
      const { items } = await client.list(Gateway, { namespace: metadata.namespace ?? '', signal });
      return [spec.clusterID, activeConnections(items.map(statusOf))] as const;
    });
    return await Promise.all(found);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

const STATES: Readonly<Record<Connection['status'], ReportedPair['state']>> = {
  connected: 'up',
  connecting: 'connecting',
  error: 'down',
  conflict: 'down',
  none: 'none',
};

function pairOf(
  { left, right, driver, policy, reason, message }: Decision,
  own: string | undefined,
  connections: ReadonlyMap<string, Connection> | undefined,
): ReportedPair {
  const isPlain = reason === 'Policy' || reason === 'DefaultPolicy';
  const pair = { left, right, driver: driver ?? 'unknown', policy, ...(isPlain ? {} : { note: message }) };
  if (driver === 'none') return { ...pair, state: 'none' };
  const other = left === own ? right : right === own ? left : undefined;
  const found = other === undefined ? undefined : connections?.get(other);
  if (found === undefined) return { ...pair, state: 'unknown' };
  return { ...pair, ...stateOf(found) };
}

function stateOf({ status, statusMessage, usingCableDriver }: Connection) {
  return {
    state: STATES[status],
    ...(statusMessage !== undefined && statusMessage !== '' && { message: statusMessage }),
    ...(usingCableDriver !== undefined && { usedDriver: usingCableDriver }),
  };
}

function policiesOf(read: Reader, namespace: string, { policies }: PolicySet): CablesReport['policies'] {
  const { pairs } = read.derived(pairCounts, namespace);
  const states = new Map(read.list(CablePolicies, { namespace }, acceptedOf).map((one) => [one.name, one]));
  return policies
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, rules }) => {
      const { isAccepted = true, message = '' } = states.get(name) ?? {};
      return {
        name,
        isAccepted,
        message,
        pairs: pairs[name] ?? 0,
        rules: rules.map(({ left, right, driver, priority }) => ({
          left: formatSelector(left),
          right: formatSelector(right),
          driver,
          priority,
        })),
      };
    });
}

function acceptedOf({ metadata, status }: CablePolicies) {
  const found = status?.conditions?.find(({ type }) => type === 'Accepted');
  return { name: metadata.name ?? '', isAccepted: found?.status !== 'False', message: found?.message ?? '' };
}

/** The label that selectors of rules name most often. */
function mostSelected({ policies }: PolicySet): string | undefined {
  const counts = new Map<string, number>();
  for (const { rules } of policies)
    for (const { left, right } of rules)
      for (const { selector } of [left, right]) {
        const expressions = selector.matchExpressions ?? [];
        const keys = [...Object.keys(selector.matchLabels ?? {}), ...expressions.map(({ key }) => key)];
        for (const key of new Set(keys)) counts.set(key, (counts.get(key) ?? 0) + 1);
      }
  return [...counts].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))[0]?.[0];
}
