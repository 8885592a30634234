// The pages of discovery: the backends, and for one of them each route with its weights before maintenance, now, and after a return.
import { findCondition, type KubeObject, keyOfObject, kindId, refOfKey, Service } from '@capstan/kube';
import {
  CAUSE_ANNOTATION,
  type CauseRecord,
  derivation,
  parseCause,
  type Reader,
  type Report,
  report,
} from '@capstan/reconcile';
import { backendNamed } from '../backend/backend.ts';
import { DiscoveryBackend } from '../kinds/index.ts';
import { type RouteEntry, type RouteRule, weightOf } from '../maintenance/model.ts';
import type { BackendOnRoute } from '../maintenance/route-state.ts';
import { backendOfService } from '../maintenance/services.ts';
import {
  MAINTENANCE_ANNOTATION,
  NOTHING_STORED,
  originalsOf,
  parseState,
  type StoredState,
} from '../maintenance/stored-state.ts';
import type { CountedRoutes } from '../maintenance/totals.ts';

export interface DiscoveryReport {
  readonly backends: readonly BackendSummary[];
}

interface BackendSummary {
  readonly name: string;
  readonly namespace: string;
  readonly type: string;
  readonly wanted: string;
  readonly state: string;
  readonly services: number;
  readonly endpoints: number;
  readonly lastSync?: string;
  readonly credentialsExpire?: string;
  /** The times at which credentials may change, as they are written. */
  readonly rotation?: string;
  /** The next scheduled maintenance. */
  readonly window?: string;
  readonly errors: readonly string[];
}

export interface BackendReport {
  readonly name: string;
  readonly wanted: string;
  readonly state: string;
  readonly drained: number;
  readonly blocked: number;
  readonly routes: readonly RouteOfBackend[];
  /** The newest change of weights, with its cause and the routes that it changed. */
  readonly why?: { readonly cause: CauseRecord; readonly routes: readonly string[] };
  /** The credentials in force: names and times alone. */
  readonly credentials?: BackendCredentials;
}

export interface BackendCredentials {
  /** The Secret that they were copied from. */
  readonly source: string;
  /** The Secret that the discoverer mounts. */
  readonly copy: string;
  readonly since: string;
  readonly expires?: string;
  readonly rotations: number;
  readonly refused: number;
  /** The times at which a rotation may happen, as they are written. */
  readonly window?: string;
  readonly timeZone?: string;
  /** The condition CredentialsValid, where it is not true. */
  readonly problem?: string;
}

export interface RouteOfBackend {
  readonly id: string;
  readonly world: string;
  readonly kind: string;
  readonly key: string;
  /** `routes[0]` */
  readonly rule: string;
  readonly state: 'untouched' | 'draining' | 'drained' | 'held' | 'blocked';
  readonly reason?: string;
  readonly message?: string;
  readonly services: readonly {
    readonly service: string;
    readonly backend?: string;
    /** Null: no weight is written. */
    readonly before: number | null;
    readonly now: number | null;
    readonly after: number | null;
  }[];
}

export function createDiscoveryReport(routes: readonly CountedRoutes[]): Report {
  return report({
    name: 'discovery',
    title: 'Discovery',
    of: derivation({
      name: 'discovery-report',
      compute({ key, read }) {
        return key === '' ? { backends: read.list(DiscoveryBackend, {}, summaryOf) } : backendReport(key, read, routes);
      },
    }),
    // Kinds of routes, Services and backends are read by the reconcilers too.
    reads: [DiscoveryBackend],
  });
}

function summaryOf({ metadata, status }: DiscoveryBackend): BackendSummary {
  const { effective, maintenance, counts, discovery, credentials, phase = 'Unknown', errors = [] } = status ?? {};
  const window = effective?.maintenance.schedule[0];
  const rotation = effective?.rotation?.window;
  const lastSync = discovery?.lastSync;
  const expires = credentials?.expires;
  return {
    name: metadata.name ?? '',
    namespace: metadata.namespace ?? '',
    type: effective?.type ?? '',
    wanted: effective?.clusterStatus ?? '',
    state: phase === 'Maintenance' && maintenance !== undefined ? maintenance.state : phase,
    services: counts?.replicatedServices ?? 0,
    endpoints: counts?.replicatedEndpoints ?? 0,
    ...(lastSync !== undefined && { lastSync }),
    ...(expires !== undefined && { credentialsExpire: expires }),
    ...(rotation !== undefined && { rotation }),
    ...(window !== undefined && { window: `${window.start} to ${window.end}` }),
    errors: errors.map(({ type, message }) => `${type}: ${message}`),
  };
}

function backendReport(name: string, read: Reader, routes: readonly CountedRoutes[]): BackendReport | undefined {
  const backend = read.derived(backendNamed, name);
  if (backend === undefined) return undefined;
  const state = read.get(DiscoveryBackend, backend.ref, stateOf) ?? 'Unknown';
  const found = routes.flatMap((one) => routesOfKind(name, one, read));
  const rank = { blocked: 0, held: 1, draining: 2, drained: 3, untouched: 4 };
  return {
    name,
    wanted: backend.effective?.clusterStatus ?? '',
    state,
    drained: found.filter((one) => one.state === 'drained').length,
    blocked: found.filter((one) => one.state === 'blocked').length,
    routes: found.toSorted((a, b) => rank[a.state] - rank[b.state]),
    ...whyOf(found, read, routes),
    ...read.get(DiscoveryBackend, backend.ref, credentialsOf),
  };
}

/** The cause of the newest write of weights. Routes that were written for the same change have causes with the same source. */
function whyOf(found: readonly RouteOfBackend[], read: Reader, routes: readonly CountedRoutes[]) {
  const kinds = new Map(routes.map(({ routes: { kind } }) => [kindId(kind), kind]));
  const causes = [...new Map(found.map((one) => [one.id, one])).values()].flatMap(({ id, kind: kindName, key }) => {
    const kind = kinds.get(kindName);
    const cause = kind && read.get(kind, refOfKey(key), causeOf);
    return cause === undefined ? [] : [{ id, cause }];
  });
  const newest = causes.toSorted((a, b) => (a.cause.at < b.cause.at ? 1 : -1))[0];
  if (newest === undefined) return {};
  const sourceOf = ({ by, changes: [first] }: CauseRecord) => `${by} ${first?.object ?? ''} ${first?.to ?? ''}`;
  const same = causes.filter(({ cause }) => sourceOf(cause) === sourceOf(newest.cause));
  return { why: { cause: newest.cause, routes: same.map(({ id }) => id) } };
}

const causeOf = ({ metadata }: KubeObject) => parseCause(metadata.annotations?.[CAUSE_ANNOTATION]);

function credentialsOf({ status }: DiscoveryBackend): Pick<BackendReport, 'credentials'> {
  const { credentials, effective, conditions } = status ?? {};
  if (credentials === undefined) return {};
  const { source, copy, since, expires, rotations = 0, failures = 0 } = credentials;
  const { window, timeZone } = effective?.rotation ?? {};
  const valid = findCondition(conditions, 'CredentialsValid');
  return {
    credentials: {
      source,
      copy,
      since,
      ...(expires !== undefined && { expires }),
      rotations,
      refused: failures,
      ...(window !== undefined && { window }),
      ...(timeZone !== undefined && { timeZone }),
      ...(valid?.status === 'False' && { problem: `${valid.reason}: ${valid.message}` }),
    },
  };
}

const stateOf = ({ status }: DiscoveryBackend) => status?.maintenance?.state ?? status?.phase ?? 'Unknown';

function routesOfKind(name: string, { routes, states }: CountedRoutes, read: Reader): RouteOfBackend[] {
  const { kind, newer } = routes;
  if (newer !== undefined && read.access(newer) !== 'not-served') return [];
  if (read.access(kind) !== 'served') return [];
  return read.list(kind, {}, keyOfObject).flatMap((key) => {
    const on = read.derived(states, key).backends[name];
    if (on === undefined) return [];
    const route = read.get(kind, refOfKey(key), wholeOf);
    return route === undefined ? [] : rulesOfRoute(name, on, key, route, routes, read);
  });
}

const wholeOf = (route: KubeObject) => route;

function rulesOfRoute(
  name: string,
  on: BackendOnRoute,
  key: string,
  route: KubeObject,
  { kind, rulesOf, peersOf }: CountedRoutes['routes'],
  read: Reader,
): RouteOfBackend[] {
  const state = parseState(route.metadata.annotations?.[MAINTENANCE_ANNOTATION]) ?? NOTHING_STORED;
  const recorded = new Map(state.rules.flatMap(({ entries }) => entries.map((one) => [one.id, one.backend] as const)));
  const backendOf = ({ service, id }: RouteEntry) =>
    service === undefined ? undefined : (read.get(Service, service, backendOfService) ?? recorded.get(id) ?? undefined);
  const rules = rulesOf(route, peersOf?.(read, route) ?? []);
  return originalsOf(rules, state, backendOf).flatMap(({ rule, originals }) => {
    const entries = originals.filter(({ entry }) => entry.service !== undefined && entry.role !== 'peer');
    if (!entries.some(({ entry }) => backendOf(entry) === name)) return [];
    const place = { world: '', kind: kindId(kind), key };
    const stored = storedIn(state, rule);
    return [
      {
        id: `${place.kind} ${key}`,
        ...place,
        rule: rule.place,
        ...standingOf(on, rule),
        services: entries.map(({ entry, original }) => {
          const backend = backendOf(entry);
          const { namespace = '', name: service = '' } = entry.service ?? {};
          const after = weightOf(original) ?? null;
          return {
            service: `${namespace}/${service}`,
            ...(backend !== undefined && { backend }),
            before: stored.get(entry.id) ?? after,
            now: weightOf(entry.fields) ?? null,
            after,
          };
        }),
      },
    ];
  });
}

/** The weights before maintenance, by the ids of entries. */
function storedIn(state: StoredState, rule: RouteRule): ReadonlyMap<string, number> {
  const entries = state.rules.filter(({ key }) => key === rule.key).flatMap((one) => one.entries);
  return new Map(
    entries.flatMap(({ id, original }) => {
      const weight = weightOf(original);
      return weight === undefined ? [] : [[id, weight] as const];
    }),
  );
}

function standingOf(
  { isLeaving, isDrained, isHeld, blocked }: BackendOnRoute,
  { place }: RouteRule,
): Pick<RouteOfBackend, 'state' | 'reason' | 'message'> {
  const obstacle = blocked.find(({ rule }) => rule === undefined || rule === place);
  if (obstacle !== undefined) {
    const { reason, message } = obstacle;
    return { state: reason === 'Holding' ? 'held' : 'blocked', reason, message };
  }
  if (isLeaving) return { state: isDrained ? 'drained' : 'draining' };
  return { state: isHeld ? 'held' : 'untouched' };
}
