// A feed of changes of objects with their causes: a ring, filled after each wave. Deletions are seen only here. It records from its
// creation until it is stopped, and nothing is spent before.
import { diff, formatTime, type KubeObject } from '@capstan/kube/cluster';
import type { TableChange } from '../engine/index.ts';
import { CAUSE_ANNOTATION } from '../marks.ts';
import type { Runtime } from '../runtime/index.ts';
import { type CauseRecord, parseCause } from '../why/index.ts';
import type { ObjectId } from './object-graph.ts';

export interface ObjectChange extends ObjectId {
  /** Grows by one with each entry. */
  readonly sequence: number;
  readonly wave: number;
  /** RFC 3339: when this program saw it. */
  readonly at: string;
  readonly verb: 'created' | 'changed' | 'deleted';
  /** At most 8 changed fields, and how many more there are; names of fields, never values. */
  readonly paths: readonly string[];
  readonly more: number;
  /** The cause of a write of Capstan. */
  readonly cause?: CauseRecord;
  /** The conditions whose status or reason changed. */
  readonly conditions?: readonly ConditionChange[];
}

export interface ConditionChange {
  readonly type: string;
  /** `True`, `False`, `Unknown`, or '' where there was none. */
  readonly before: string;
  readonly after: string;
  readonly reason: string;
  readonly message: string;
}

/** One wave in which objects changed. */
export interface WaveRecord {
  readonly wave: number;
  /** RFC 3339. */
  readonly at: string;
  readonly ms: number;
  /** Computations that came to a result, and those of them whose result was equal: the wave stopped there. */
  readonly runs: number;
  readonly equal: number;
  /** Nodes of the graph after the wave. */
  readonly nodes: number;
  /** How many objects changed. */
  readonly changes: number;
}

export interface ChangeFeed {
  /** Differs for each feed: cursors of another process are not valid. */
  readonly epoch: string;
  readonly wave: number;
  /** Newest first; those before a sequence number, and of one object if that is given. */
  list(options: { before?: number; limit: number; object?: ObjectId }): readonly ObjectChange[];
  /** Everything after a sequence number, oldest first; undefined where that is no longer known. */
  since(sequence: number): readonly ObjectChange[] | undefined;
  /** The waves of the entries, oldest first. */
  readonly waves: readonly WaveRecord[];
  /** The entries of one wave, oldest first. */
  ofWave(wave: number): readonly ObjectChange[];
  /** The number of the newest entry, 0 where there is none. */
  readonly last: number;
  /** Calls a listener after each wave that changed objects. */
  onChanges(listener: (changes: readonly ObjectChange[]) => void): () => void;
  /** Calls a listener with objects of caches that fill or empty, and with those that were fetched: they did not change, and have no entry. */
  onSeen(listener: (seen: readonly ObjectId[]) => void): () => void;
  stop(): void;
}

export interface ChangeFeedOptions {
  readonly runtime: Runtime;
  readonly now: () => number;
  readonly epoch: string;
  /** Default 5,000. */
  readonly capacity?: number;
}

const CAPACITY = 5000;
const MAX_WAVES = 1000;
const MAX_PATHS = 8;
/** The server's own records change with every write, and our annotations follow from the write itself. */
const SILENT =
  /^metadata\.(?:resourceVersion|generation|managedFields|uid|creationTimestamp|selfLink)\b|capstan\.dev\//;

export function createChangeFeed({ runtime, now, epoch, capacity = CAPACITY }: ChangeFeedOptions): ChangeFeed {
  const ring: ObjectChange[] = [];
  const listeners = new Set<(changes: readonly ObjectChange[]) => void>();
  const seeing = new Set<(seen: readonly ObjectId[]) => void>();
  const seen = new WeakSet<object>();
  let last = 0;
  let wave = runtime.engine.stats().wave;
  const places = createPlaces(runtime);

  const waves: WaveRecord[] = [];
  const stop = runtime.onWave(({ number, ms, runs, cutoffs }) => {
    wave = number;
    const at = formatTime(now());
    places.refresh();
    const added: ObjectChange[] = [];
    const found: ObjectId[] = [];
    for (const change of runtime.engine.tableChanges()) {
      const place = places.of(change.table);
      if (place !== undefined && isSeen(change)) found.push({ ...place, key: change.key });
      const entry = entryOf(change, place);
      if (entry === undefined || seen.has(change.event)) continue;
      seen.add(change.event);
      added.push({ sequence: ++last, wave: number, at, ...entry });
    }
    if (found.length > 0) for (const listener of seeing) listener(found);
    if (added.length === 0) return;
    ring.push(...added.slice(-capacity));
    ring.splice(0, ring.length - capacity);
    const { nodes } = runtime.engine.stats();
    waves.push({ wave: number, at, ms, runs, equal: cutoffs, nodes, changes: added.length });
    waves.splice(0, waves.length - MAX_WAVES);
    for (const listener of listeners) listener(added);
  });

  return {
    epoch,
    get wave() {
      return wave;
    },
    get last() {
      return last;
    },
    list({ before = Number.POSITIVE_INFINITY, limit, object }) {
      const found: ObjectChange[] = [];
      for (let at = ring.length - 1; at >= 0 && found.length < limit; at--) {
        const entry = ring[at];
        if (entry === undefined || entry.sequence >= before) continue;
        if (object === undefined || isSame(entry, object)) found.push(entry);
      }
      return found;
    },
    since(sequence) {
      if (sequence > last || (ring[0]?.sequence ?? last + 1) > sequence + 1) return undefined;
      return ring.filter((entry) => entry.sequence > sequence);
    },
    get waves() {
      return waves;
    },
    ofWave: (number) => ring.filter((entry) => entry.wave === number),
    onChanges(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onSeen(listener) {
      seeing.add(listener);
      return () => seeing.delete(listener);
    },
    stop() {
      stop();
      listeners.clear();
      seeing.clear();
    },
  };
}

/** An object that was not known before, or is not known any more. */
function isSeen({ presence: { before, after } }: TableChange): boolean {
  return before !== after && (before === 'unknown' || after === 'unknown');
}

function entryOf(
  change: TableChange,
  place: Omit<ObjectId, 'key'> | undefined,
): Omit<ObjectChange, 'sequence' | 'wave' | 'at'> | undefined {
  const { presence, key } = change;
  // A cache that fills, or an object that is fetched when it is first read, is no change.
  if (place === undefined || presence.before === 'unknown' || presence.after === 'unknown') return undefined;
  if (presence.before === 'absent' && presence.after === 'absent') return undefined;
  const cause = causeOf(change);
  const common = { ...place, key, ...(cause && { cause }) };
  if (presence.after === 'absent') return { ...place, key, verb: 'deleted', paths: [], more: 0 };
  if (presence.before === 'absent') return { ...common, verb: 'created', paths: [], more: 0 };
  const paths = changedPaths(change.before, change.after);
  if (paths.length === 0) return undefined;
  const conditions = conditionChanges(change);
  return {
    ...common,
    verb: 'changed',
    paths: paths.slice(0, MAX_PATHS),
    more: Math.max(0, paths.length - MAX_PATHS),
    ...(conditions.length > 0 && { conditions }),
  };
}

function conditionChanges({ before, after, isSensitive }: TableChange): ConditionChange[] {
  if (isSensitive) return [];
  const earlier = new Map(conditionsIn(before).map((one) => [one.type, one]));
  return conditionsIn(after).flatMap(({ type, status, reason, message }) => {
    const known = earlier.get(type);
    if (known?.status === status && known.reason === reason) return [];
    return [{ type, before: known?.status ?? '', after: status, reason, message }];
  });
}

function conditionsIn(value: unknown): readonly Record<'type' | 'status' | 'reason' | 'message', string>[] {
  const { conditions } = ((value as { status?: unknown } | undefined)?.status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return [];
  const text = (one: unknown) => (typeof one === 'string' ? one : '');
  return (conditions as readonly (Record<string, unknown> | null)[]).map((one) => ({
    type: text(one?.['type']),
    status: text(one?.['status']),
    reason: text(one?.['reason']),
    message: text(one?.['message']),
  }));
}

function changedPaths(before: unknown, after: unknown): readonly string[] {
  try {
    return diff(before, after).filter((path) => !SILENT.test(path));
  } catch {
    // A value that contains itself cannot be compared; it changed all the same.
    return ['?'];
  }
}

/** The cause on the object, if this change wrote it. */
function causeOf({ before, after }: TableChange): CauseRecord | undefined {
  const noteOf = (value: unknown) => (value as KubeObject | undefined)?.metadata?.annotations?.[CAUSE_ANNOTATION];
  const note = noteOf(after);
  if (note === noteOf(before)) return undefined;
  const cause = parseCause(note);
  if (cause === undefined) return undefined;
  const { inputs: _inputs, ...shown } = cause;
  return shown;
}

function isSame(a: ObjectId, b: ObjectId): boolean {
  return a.key === b.key && a.kind === b.kind && a.world === b.world;
}

/** The world and the kind of a table, while worlds come and go. */
function createPlaces(runtime: Runtime) {
  const known = new Map<string, Omit<ObjectId, 'key'> | undefined>();
  let worlds: readonly unknown[] = [];
  const fill = () => {
    known.clear();
    worlds = [...runtime.worlds.values()];
    for (const world of runtime.worlds.values())
      for (const kind of world.kinds) {
        const place = { world: world.name, kind: kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}` };
        const read = world.readTable(kind);
        const children = world.childTable(kind);
        if (read !== undefined) known.set(read.name, place);
        if (children !== undefined) known.set(children.name, place);
      }
  };
  return {
    /** To be called once a wave. */
    refresh() {
      const now = [...runtime.worlds.values()];
      if (now.length !== worlds.length || now.some((world, at) => world !== worlds[at])) fill();
    },
    of: (table: string) => known.get(table),
  };
}
