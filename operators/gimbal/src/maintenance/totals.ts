// How many routes lead to each backend, how many of them send it nothing, and which need a look: sums over all kinds of
// routes. A change of one route costs that route.
import { CustomResourceDefinition, type KubeObject, refOfKey } from '@capstan/kube';
import { type AggregateDefinition, derivation, fold, type Reader } from '@capstan/reconcile';
import { type BlockedRoute, MAX_BLOCKED } from '../kinds/index.ts';
import type { BackendOnRoute, RouteState, RouteStates } from './route-state.ts';
import type { RouteKind } from './routes/index.ts';

export interface RouteTotals {
  /** Routes that lead to the backend. */
  readonly routes: number;
  /** The number of entries that traffic should leave, and the number of those that it has left. */
  readonly leaving: number;
  readonly drained: number;
  /** Weights that have not returned. */
  readonly held: number;
  /** References that are still to be removed. */
  readonly toBeRemoved: number;
  readonly noCapacity: number;
  /** Routes with a weight that could not be restored. */
  readonly ambiguous: number;
  /** Those that need a look: how many, and the first of them. */
  readonly blocked: number;
  readonly shown: readonly BlockedRoute[];
  /** The number of remaining routes that do not change until a user acts, with the reasons. */
  readonly stuck: number;
  readonly obstacles: readonly string[];
  /** The others of those that are left: how many, and which, when they are few. */
  readonly pending: number;
  readonly pendingNames: readonly string[];
  /** Kinds of routes that cannot be read. */
  readonly unreadable: readonly string[];
  /** Kinds of routes that have been installed, and whose routes are not known yet. */
  readonly arriving: readonly string[];
}

const NONE: RouteTotals = {
  routes: 0,
  leaving: 0,
  drained: 0,
  held: 0,
  toBeRemoved: 0,
  noCapacity: 0,
  ambiguous: 0,
  blocked: 0,
  shown: [],
  stuck: 0,
  obstacles: [],
  pending: 0,
  pendingNames: [],
  unreadable: [],
  arriving: [],
};

interface Sum {
  routes: number;
  leaving: number;
  drained: number;
  held: number;
  toBeRemoved: number;
  noCapacity: number;
  ambiguous: number;
  /** By the key of the route. */
  readonly blocked: Map<string, readonly BlockedRoute[]>;
  /** Keys of routes that still lead there and should not. */
  readonly left: Set<string>;
}

/** The totals of the routes of one kind, by backend. */
type KindTotals = Readonly<Record<string, RouteTotals>>;

export interface CountedRoutes {
  readonly routes: RouteKind;
  readonly states: RouteStates;
}

/** By the name of the backend. */
export function createRouteTotals(all: readonly CountedRoutes[]) {
  const folds = all.map(({ routes, states }) => ({ routes, totals: totalsOf(routes, states) }));
  return derivation({
    name: 'routes of a backend',
    compute({ key: backend, read }): RouteTotals {
      return folds.map((one) => totalsIn(read, one, backend)).reduce(joined, NONE);
    },
  });
}
export type RouteTotalsOf = ReturnType<typeof createRouteTotals>;

function totalsIn(
  read: Reader,
  { routes, totals }: { routes: RouteKind; totals: AggregateDefinition<KindTotals> },
  backend: string,
): RouteTotals {
  const { kind, title, newer } = routes;
  if (newer !== undefined && read.access(newer) !== 'not-served') return NONE;
  const access = read.access(kind);
  // A kind that is not installed has no routes; one that we may not see has who knows how many.
  if (access === 'not-served') return isInstalled(read, kind) ? { ...NONE, arriving: [title] } : NONE;
  if (access === 'forbidden') return { ...NONE, unreadable: [title] };
  return read.derived(totals, '')[backend] ?? NONE;
}

/** Whether the definition of a kind is there: then it is only a matter of seconds until it is served, and seen by us. */
function isInstalled(read: Reader, { group, plural, version }: RouteKind['kind']): boolean {
  if (read.access(CustomResourceDefinition) !== 'served') return false;
  const served = read.get(CustomResourceDefinition, { name: `${plural}.${group}` }, servedVersions);
  return served?.includes(version) ?? false;
}

const servedVersions = ({ metadata, spec }: CustomResourceDefinition): readonly string[] =>
  metadata.deletionTimestamp === undefined ? spec.versions.flatMap(({ name, served }) => (served ? [name] : [])) : [];

/** Definitions are large, and little of them counts here. */
export const DEFINITION_FIELDS = [
  'spec.group',
  'spec.names',
  'spec.scope',
  'spec.versions.name',
  'spec.versions.served',
];

function joined(left: RouteTotals, right: RouteTotals): RouteTotals {
  if (right === NONE) return left;
  return {
    routes: left.routes + right.routes,
    leaving: left.leaving + right.leaving,
    drained: left.drained + right.drained,
    held: left.held + right.held,
    toBeRemoved: left.toBeRemoved + right.toBeRemoved,
    noCapacity: left.noCapacity + right.noCapacity,
    ambiguous: left.ambiguous + right.ambiguous,
    blocked: left.blocked + right.blocked,
    shown: [...left.shown, ...right.shown].slice(0, MAX_BLOCKED),
    stuck: left.stuck + right.stuck,
    obstacles: [...new Set([...left.obstacles, ...right.obstacles])],
    pending: left.pending + right.pending,
    pendingNames: left.pending + right.pending > FEW ? [] : [...left.pendingNames, ...right.pendingNames],
    unreadable: [...left.unreadable, ...right.unreadable],
    arriving: [...left.arriving, ...right.arriving],
  };
}

function totalsOf({ kind, title, id }: RouteKind, states: RouteStates): AggregateDefinition<KindTotals> {
  const add = (sums: Map<string, Sum>, member: string, { backends }: RouteState, by: 1 | -1) => {
    for (const [backend, on] of Object.entries(backends)) {
      const sum = sums.get(backend) ?? emptySum();
      sums.set(backend, sum);
      count(sum, on, by);
      sum.blocked.delete(member);
      sum.left.delete(member);
      if (by === 1 && ((on.isLeaving && !on.isDrained) || on.isToBeRemoved)) sum.left.add(member);
      if (by === 1 && on.blocked.length > 0)
        sum.blocked.set(
          member,
          on.blocked.map((one) => shown(title, member, one)),
        );
      if (sum.routes === 0) sums.delete(backend);
    }
  };
  return fold<KubeObject, RouteState, Map<string, Sum>, KindTotals>({
    name: `totals of ${id}`,
    kind,
    part: states,
    empty: () => new Map(),
    put(sums, member, part, previous) {
      if (previous !== undefined) add(sums, member, previous, -1);
      add(sums, member, part, 1);
    },
    remove: (sums, member, part) => add(sums, member, part, -1),
    result: (sums) => Object.fromEntries([...sums].map(([backend, sum]) => [backend, resultOf(title, sum)])),
    clone: (sums) =>
      new Map(
        [...sums].map(([backend, sum]) => [
          backend,
          { ...sum, blocked: new Map(sum.blocked), left: new Set(sum.left) },
        ]),
      ),
  });
}

function emptySum(): Sum {
  return {
    routes: 0,
    leaving: 0,
    drained: 0,
    held: 0,
    toBeRemoved: 0,
    noCapacity: 0,
    ambiguous: 0,
    blocked: new Map(),
    left: new Set(),
  };
}

function count(sum: Sum, { isLeaving, isDrained, isHeld, isToBeRemoved, blocked }: BackendOnRoute, by: 1 | -1): void {
  sum.routes += by;
  if (isLeaving) sum.leaving += by;
  if (isLeaving && isDrained) sum.drained += by;
  if (isHeld) sum.held += by;
  if (isToBeRemoved) sum.toBeRemoved += by;
  if (blocked.some(({ reason }) => reason === 'NoCapacity')) sum.noCapacity += by;
  if (blocked.some(({ reason }) => reason === 'AmbiguousWeight')) sum.ambiguous += by;
}

/** Reasons for which a route stays as it is until a user does something. */
export const OBSTACLES = ['ConflictingManager', 'Paused', 'NoWeights', 'NoCapacity'] as const;
const isObstacle = ({ reason }: BlockedRoute) => OBSTACLES.some((one) => one === reason);

/** More are not named one by one. */
const FEW = 5;

function resultOf(title: string, { blocked, left, ...counts }: Sum): RouteTotals {
  const first = smallest([...blocked.keys()], MAX_BLOCKED);
  const list = first.flatMap((member) => blocked.get(member) ?? []).slice(0, MAX_BLOCKED);
  const [stuck, pending] = [new Map<string, readonly BlockedRoute[]>(), [] as string[]];
  for (const member of left) {
    const obstacles = blocked.get(member)?.filter(isObstacle) ?? [];
    if (obstacles.length > 0) stuck.set(member, obstacles);
    else pending.push(member);
  }
  return {
    ...counts,
    blocked: blocked.size,
    shown: list,
    stuck: stuck.size,
    obstacles: [...new Set([...stuck.values()].flat().map(({ reason }) => reason))].toSorted(),
    pending: pending.length,
    pendingNames: pending.length > FEW ? [] : pending.toSorted().map((member) => `${title} ${member}`),
    unreadable: [],
    arriving: [],
  };
}

/** The first so many in order, so that the list does not depend on who came first. */
function smallest(names: readonly string[], many: number): readonly string[] {
  return names.toSorted().slice(0, many);
}

function shown(
  kind: string,
  member: string,
  { rule, reason, message }: BackendOnRoute['blocked'][number],
): BlockedRoute {
  const { namespace = '', name } = refOfKey(member);
  return { kind, namespace, name, ...(rule === undefined ? {} : { rule }), reason, message };
}
