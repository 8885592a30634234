// Look-up by content: Routes that name one host share it. A second Route of the same host and path is a conflict, and a
// ConfigMap in each namespace counts its Routes. Nothing here lists all Routes.

import type { KindOf } from '@capstan/kube';
import { ConfigMap, conditions, defineKind, Namespace, object, string } from '@capstan/kube';
import { apply, conditionType, derivation, fold, index, operator, plan, reconciler } from '@capstan/reconcile';

export const Route = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Route',
  scope: 'Namespaced',
  spec: object({ host: string({ minLength: 1 }), path: string({ default: '/' }) }),
  status: object({ conditions: conditions() }),
});
type Route = KindOf<typeof Route>;

/** The Routes by host. A reader is woken when the set of its host changes, or one of the fields that it reads. */
const byHost = index(Route, 'by-host', ({ spec }) => [spec.host]);

const claimOf = ({ metadata, spec }: Route) => ({
  route: `${metadata.namespace}/${metadata.name}`,
  path: spec.path,
  created: metadata.creationTimestamp ?? '',
});

/** For a host: the Route that has each path, the oldest first. Computed once for all Routes of the host that read it. */
const owners = derivation<Readonly<Record<string, string>>>({
  name: 'owners-of-host',
  compute({ key: host, read }) {
    const claims = read.by(byHost, host, claimOf).toSorted((a, b) => a.created.localeCompare(b.created));
    return Object.fromEntries(claims.toReversed().map(({ path, route }) => [path, route]));
  },
});

const hostOf = ({ spec }: Route) => spec.host;

/** For a namespace: how many Routes each host has in it. A changed Route costs that Route, not the number of Routes. */
const hosts = fold<Route, string, Map<string, number>, Readonly<Record<string, string>>>({
  name: 'hosts-of-namespace',
  kind: Route,
  where: (namespace) => ({ namespace }),
  part: hostOf,
  empty: () => new Map(),
  put(counts, _route, host, previous) {
    if (previous !== undefined) add(counts, previous, -1);
    add(counts, host, 1);
  },
  remove: (counts, _route, host) => add(counts, host, -1),
  // A new value: the state itself goes on changing.
  result: (counts) => Object.fromEntries([...counts].map(([host, count]) => [host, String(count)])),
});

function add(counts: Map<string, number>, host: string, by: number): void {
  const count = (counts.get(host) ?? 0) + by;
  if (count === 0) counts.delete(host);
  else counts.set(host, count);
}

const accepted = conditionType<'Accepted' | 'Conflict'>('Accepted');

const route = reconciler({
  name: 'route',
  resource: Route,
  reconcile({ object: { metadata, spec }, read }) {
    const owner = read.derived(owners, spec.host)[spec.path];
    const isOurs = owner === `${metadata.namespace}/${metadata.name}`;
    const place = `${spec.host}${spec.path}`;
    return plan({
      conditions: [
        isOurs
          ? accepted.isTrue('Accepted', `${place} is served by this Route`)
          : accepted.isFalse('Conflict', `${place} belongs to Route ${owner}, which is older; use another path`),
      ],
    });
  },
});

const summary = reconciler({
  name: 'summary',
  resource: Namespace,
  writesStatus: false,
  reads: [Route],
  writes: [ConfigMap],
  reconcile({ object: { metadata }, read }) {
    const { name: namespace = '' } = metadata;
    const data = read.derived(hosts, namespace);
    if (Object.keys(data).length === 0) return plan();
    return plan({ children: [apply(ConfigMap, { metadata: { namespace, name: 'hosts' }, data })] });
  },
});

export default operator({ name: 'routes', kinds: [Route], reconcilers: [route, summary] });
