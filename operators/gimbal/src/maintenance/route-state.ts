// One route towards all backends: a derivation by the route's key. The route's reconciler carries it out, and the totals of backends sum it
// up. It reads the route, the backends of its Services, and how each of those backends is being drained. A change of one of these costs
// this route alone.
import { formatPointer, type KubeObject, refOfKey, Service } from '@capstan/kube';
import {
  type DerivationDefinition,
  derivation,
  type EventInput,
  type FieldValue,
  type Reader,
} from '@capstan/reconcile';
import { createdAt, latestMoment } from '../schedule/moments.ts';
import type { BackendDrain, BackendDrains } from './backend-drain.ts';
import { copyOf } from './drained-weights.ts';
import { isFighting, judgeFight } from './fights.ts';
import type { RouteEntry, RouteRule } from './model.ts';
import {
  joinedNames,
  joinedRemovals,
  ORPHANED_ANNOTATION,
  REMOVED_ANNOTATION,
  type Removal,
  withoutBackends,
} from './removal.ts';
import type { RouteKind } from './routes/index.ts';
import { canaryAnnotations } from './routes/ingress-canary.ts';
import { backendOfService, readiness } from './services.ts';
import { annotationsOf, type RouteReport, type Shift, shiftRoute } from './shift.ts';
import {
  backendsOf,
  DRAINED_ANNOTATION,
  formatState,
  MAINTENANCE_ANNOTATION,
  parseState,
  type StoredState,
} from './stored-state.ts';

export interface RouteState {
  /** The fields to set in the route; empty if all is as it should be, or must wait. */
  readonly set: readonly FieldValue[];
  /** Nothing of ours is left in the route after that. */
  readonly isCleared: boolean;
  readonly events: readonly EventInput[];
  /** By backend. */
  readonly backends: Readonly<Record<string, BackendOnRoute>>;
  /** The stored state of the route, for its second copy. */
  readonly stored: { readonly text: string; readonly backends: readonly string[] } | undefined;
  /** For the next run, should the annotation be removed: as long as the route is the same object. */
  readonly remembered: { readonly uid: string; readonly state: StoredState; readonly owners: Owners } | undefined;
}

export interface BackendOnRoute {
  readonly isLeaving: boolean;
  readonly isDrained: boolean;
  /** Weights that have not returned yet. */
  readonly isHeld: boolean;
  /** References that are still to be removed. */
  readonly isToBeRemoved: boolean;
  readonly blocked: readonly { readonly rule?: string; readonly reason: string; readonly message: string }[];
}

/** Backends by `namespace/name` of a Service, for when the Service is gone. */
type Owners = Readonly<Record<string, string>>;

export type RouteStates = DerivationDefinition<RouteState>;

export function createRouteStates(routes: RouteKind, drains: BackendDrains): RouteStates {
  const { kind, id, newer, rulesOf, peersOf } = routes;
  return derivation({
    name: `maintenance of ${id}`,
    compute({ key, read, previous }): RouteState {
      if (newer !== undefined && read.access(newer) !== 'not-served') return NOTHING;
      const seen = read.get(kind, refOfKey(key), seenOf);
      if (seen === undefined || seen.isDeleting) return NOTHING;
      const before = (previous as RouteState | undefined)?.remembered;
      const known = before?.uid === seen.uid ? before : undefined;
      const stored = parseState(seen.state);
      const peers = peersOf?.(read, seen.route) ?? [];
      const rules = rulesOf(seen.route, peers);
      const copied =
        stored === undefined && known === undefined
          ? parseState(copyOf(read, id, key, drainedIn(read, drains, rules)))
          : undefined;
      // A user who removes the annotation after maintenance has decided the open cases.
      const state = stored ?? copied ?? (known === undefined ? undefined : { ...known.state, unresolved: [] });
      const world = lookingAt(read, drains, state, known?.owners);
      const { backendOf, leavingOf } = world;
      const isForgotten = state === undefined && seen.isMarked;
      const input = {
        rules,
        state,
        backendOf,
        leavingOf,
        isForgotten,
      };
      const shift = shiftRoute(input);
      const { removing } = world;
      const removal = removing.size === 0 ? undefined : withoutBackends(routes, seen.route, input, removing, peers);
      return stateOf(seen, state, { shift, removal }, world, read);
    },
  });
}

const NOTHING: RouteState = {
  set: [],
  isCleared: false,
  events: [],
  backends: {},
  stored: undefined,
  remembered: undefined,
};
const PAUSED = 'capstan.dev/paused';

/** The parts of a route that count: its content, and our marks on it. */
function seenOf(route: KubeObject) {
  const { uid = '', name, namespace, deletionTimestamp, creationTimestamp, annotations = {} } = route.metadata;
  const { apiVersion, kind, spec } = route as KubeObject & { spec?: unknown };
  const at = {
    apiVersion,
    kind,
    metadata: {
      ...(name ? { name } : {}),
      ...(namespace ? { namespace } : {}),
      annotations: canaryAnnotations(annotations),
    },
    spec,
  };
  return {
    route: at,
    uid,
    created: creationTimestamp,
    isDeleting: deletionTimestamp !== undefined,
    state: annotations[MAINTENANCE_ANNOTATION],
    drained: annotations[DRAINED_ANNOTATION],
    // Each of the two marks shows that Gimbal has changed the route.
    isMarked: annotations[DRAINED_ANNOTATION] !== undefined,
    removed: annotations[REMOVED_ANNOTATION],
    orphaned: annotations[ORPHANED_ANNOTATION],
    isPaused: annotations[PAUSED] === 'true',
  };
}
type Seen = ReturnType<typeof seenOf>;

interface World {
  readonly owners: Owners;
  readonly removing: ReadonlySet<string>;
  readonly held: Map<string, string>;
  /** Services that get their weight back although nothing answers there. */
  readonly unready: Set<string>;
  backendOf(entry: RouteEntry): string | undefined;
  leavingOf(entry: RouteEntry, backend: string): BackendDrain | BackendDrain['hold'];
}

/** Reads on behalf of one route, each thing once. */
function lookingAt(read: Reader, drains: BackendDrains, state: StoredState | undefined, known: Owners = {}): World {
  const owners: Record<string, string> = {};
  const removing = new Set<string>();
  const held = new Map<string, string>();
  const unready = new Set<string>();
  const backends = new Map<string, string | undefined>();
  const recorded = new Map(
    state?.rules.flatMap(({ entries }) => entries.map(({ id, backend }) => [id, backend] as const)),
  );
  const ownerOf = (service: { namespace: string; name: string }, id: string) => {
    const key = `${service.namespace}/${service.name}`;
    if (!backends.has(key)) {
      const label = read.get(Service, service, backendOfService);
      // A Service that is gone for now still is whose it was.
      const owner = label === undefined ? (recorded.get(id) ?? known[key]) : (label ?? undefined);
      backends.set(key, owner);
      if (owner !== undefined) owners[key] = owner;
    }
    return backends.get(key);
  };
  return {
    owners,
    removing,
    held,
    unready,
    backendOf: ({ service, id }) => (service === undefined ? undefined : ownerOf(service, id)),
    leavingOf({ service }, backend) {
      const drain = read.derived(drains, backend);
      if (drain === undefined || service === undefined) return undefined;
      if (drain.mode === 'removing') removing.add(backend);
      if (drain.mode !== 'returning') return drain.keep === 1 ? undefined : drain;
      const key = `${service.namespace}/${service.name}`;
      const why = holdOf(read, drain, key);
      if (why !== undefined) {
        held.set(backend, why);
        return drain.hold;
      }
      if (drain.hold === undefined && read.derived(readiness, key) === 'none') unready.add(key);
      return drain.keep === 1 ? undefined : drain;
    },
  };
}

/** Why an entry does not get its weight back yet; undefined when it does. */
function holdOf(read: Reader, { hold, isUnsynced }: BackendDrain, service: string): string | undefined {
  if (hold === undefined || hold.keep === 1) return undefined;
  if (isUnsynced) return 'the discoverer has not seen the remote side yet';
  return read.derived(readiness, service) === 'none' ? `${service} has no ready endpoints` : undefined;
}

function stateOf(
  seen: Seen,
  state: StoredState | undefined,
  { shift, removal }: { shift: Shift; removal: Removal | undefined },
  world: World,
  read: Reader,
): RouteState {
  const now = () => latestMoment(read, createdAt(seen.created), FIGHT_STEP_MS) / 1000;
  const times = state?.fights ?? [];
  const isOverwritten = shift.overwritten.length > 0 && removal === undefined;
  const fight = isOverwritten
    ? judgeFight(read, times, now)
    : { times, isConflict: times.length > 0 && isFighting(read, times), isWaiting: false };

  const [text, names] = annotationsOf(removal?.shift ?? shift, fight.times);
  const fields: FieldValue[] = [
    ...(removal?.changes ?? shift.changes),
    ...annotated(MAINTENANCE_ANNOTATION, seen.state, text),
    ...annotated(DRAINED_ANNOTATION, seen.drained, names),
    ...annotated(REMOVED_ANNOTATION, seen.removed, joinedRemovals(seen.removed, removal?.removed)),
    ...annotated(ORPHANED_ANNOTATION, seen.orphaned, joinedNames(seen.orphaned, removal?.orphaned)),
  ];
  const remembered = new Set(seen.state === undefined ? [] : backendsOf(state?.rules ?? []));
  const isQuiet = fight.isWaiting || seen.isPaused;
  const set = isQuiet ? [] : fields;
  const isOver = text === undefined && fields.length === 0;
  return {
    set,
    isCleared: text === undefined,
    events:
      set.length === 0
        ? []
        : eventsOf(shift, seen, fight.isConflict && isOverwritten, removal?.warnings ?? [], [...world.unready]),
    backends: Object.fromEntries(
      [...shift.reports].map(([backend, report]) => [
        backend,
        onRoute(backend, report, seen, fight, world, fields, remembered),
      ]),
    ),
    stored: isOver ? undefined : storedOf(seen, state),
    // Remember only values that were seen on the route: a planned value may never be written. Removed references end the memory: a service
    // that takes over for good must not be treated as a temporary replacement.
    remembered:
      state === undefined || isOver || removal !== undefined
        ? undefined
        : { uid: seen.uid, state, owners: world.owners },
  };
}

/** As the annotation has it; while that is missing, as it was. */
function storedOf({ state: text }: Seen, state: StoredState | undefined): RouteState['stored'] {
  if (state === undefined || state.rules.length === 0) return undefined;
  const stored = text ?? formatState(state);
  return stored === undefined ? undefined : { text: stored, backends: backendsOf(state.rules) };
}

/** Backends in maintenance, or on their way back, that a rule gives nothing to: it may be that we took it away. */
function drainedIn(read: Reader, drains: BackendDrains, rules: readonly RouteRule[]): Set<string> {
  const drained = rules.flatMap(({ entries }) =>
    entries.filter(({ role, fields }) => role !== 'peer' && Object.values(fields).some((value) => Number(value) === 0)),
  );
  return new Set(
    drained.flatMap(({ service }) => {
      const backend = service === undefined ? undefined : read.get(Service, service, backendOfService);
      return backend && read.derived(drains, backend) !== undefined ? [backend] : [];
    }),
  );
}

/** The resolution of the recorded times of fights. */
const FIGHT_STEP_MS = 10_000;

function annotated(name: string, current: string | undefined, value: string | undefined): FieldValue[] {
  return current === value ? [] : [{ path: formatPointer(['metadata', 'annotations', name]), value }];
}

function onRoute(
  backend: string,
  report: RouteReport,
  { isPaused }: Seen,
  { isConflict }: { isConflict: boolean },
  { held, removing }: World,
  pending: readonly FieldValue[],
  remembered: ReadonlySet<string>,
): BackendOnRoute {
  const why = held.get(backend);
  const isPending = pending.length > 0;
  return {
    isLeaving: report.isLeaving,
    isDrained: report.isDrained && !(report.isLeaving && isPending),
    isHeld: why !== undefined || remembered.has(backend),
    isToBeRemoved: removing.has(backend) && isPending,
    blocked: [
      ...report.blocked,
      ...(why === undefined ? [] : [{ reason: 'Holding', message: why }]),
      ...(isPaused && report.isLeaving
        ? [{ reason: 'Paused', message: `the annotation ${PAUSED} stops writes to it` }]
        : []),
      ...(isConflict && report.isLeaving
        ? [
            {
              reason: 'ConflictingManager',
              message: 'something else keeps writing its weights; stop it for the time of maintenance',
            },
          ]
        : []),
    ],
  };
}

function eventsOf(
  { overwritten, guessed, ambiguous }: Shift,
  { route }: Seen,
  isConflict: boolean,
  warnings: readonly string[],
  unready: readonly string[],
): EventInput[] {
  const list = (names: readonly string[]) => names.join(', ');
  return [
    ...(overwritten.length === 0
      ? []
      : [
          {
            reason: 'DeferredWeight',
            note: `${list(overwritten)}: what was written takes effect when maintenance is over`,
          },
        ]),
    ...(isConflict
      ? [
          {
            type: 'Warning' as const,
            reason: 'ConflictingManager',
            note: `${list(overwritten)}: something else keeps writing these weights; stop it for the time of maintenance`,
          },
        ]
      : []),
    ...(guessed.length === 0
      ? []
      : [
          {
            type: 'Warning' as const,
            reason: 'OriginalWeightUnknown',
            note: `${list(guessed)}: the annotation with the weights before maintenance was removed; check the weights when maintenance is over`,
          },
        ]),
    ...(ambiguous.length === 0
      ? []
      : [
          {
            type: 'Warning' as const,
            reason: 'AmbiguousWeight',
            note: `${route.kind} ${route.metadata.namespace}/${route.metadata.name}: ${list(ambiguous.map(({ note }) => note))}; set the one that is meant, or remove the annotation ${MAINTENANCE_ANNOTATION} when maintenance is over`,
          },
        ]),
    ...(unready.length === 0
      ? []
      : [
          {
            type: 'Warning' as const,
            reason: 'ReturnedUnready',
            note: `${list(unready)}: weights have returned although there are no ready endpoints; they were waited for long enough`,
          },
        ]),
    ...warnings.map((note) => ({ type: 'Warning' as const, reason: 'ReferenceKept', note })),
  ];
}
