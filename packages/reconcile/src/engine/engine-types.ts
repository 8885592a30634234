// The public types of the engine. Their implementation is in model.ts.
import type { Clock } from '@capstan/kube/cluster';
import type { Where } from './graph/where.ts';
import type { EngineRecorder, EngineReplay } from './recording.ts';

/** A pure view of a value. Hoist it to a named constant: readers that share one cost half, and `why` can name it. */
export type Projection<V = unknown, P = unknown> = (value: V, key: string) => P;

export type Presence = 'known' | 'absent' | 'unknown';

export interface TableOptions<V> {
  readonly name: string;
  labels?(value: V): Readonly<Record<string, string>> | undefined;
  /** Default: the key up to its first slash, '' where there is none. */
  namespace?(value: V, key: string): string;
  /** Causes of sensitive tables carry paths, and digests only from `sensitiveDigest`. */
  readonly sensitive?: boolean;
  /** Called after a wave with the keys and lists that got their first reader or lost their last one. */
  readonly demand?: Demand<V>;
}

export interface Demand<V = unknown> {
  key?(key: string): void;
  idle?(key: string): void;
  list?(where: Where<V>): void;
  listIdle?(where: Where<V>): void;
}

/**
 * A keyed collection of plain data. A key has a value, or is absent (known not to exist), or unknown. A table starts
 * unsynced: a key without a value is unknown; once synced it is absent. Changes take effect in the next wave.
 */
export interface Table<V> {
  readonly name: string;
  /** How many keys have a value, pending changes not counted. */
  readonly size: number;
  put(key: string, value: V): void;
  /** The key is known to be absent, in an unsynced table too. */
  delete(key: string): void;
  /** The key is unknown until it is put or deleted. In an unsynced table it follows the table again. */
  forget(key: string): void;
  synced(): void;
  /** Values stay; keys without one become unknown. */
  unsynced(): void;
  /** The latest value put, pending or not. */
  peek(key: string): V | undefined;
  /** Removes every value: keys become absent (table synced) or unknown (table unsynced). */
  drop(into: 'absent' | 'unknown'): void;
}

/** Members of a table by the keys that a function returns for them. */
export interface Index<V> {
  readonly name: string;
  readonly table: Table<V>;
  readonly keysOf: (value: V, key: string) => readonly string[];
}

export interface DerivationOptions<R> {
  readonly name: string;
  /**
   * Pure and synchronous. May run when its result is no longer wanted, and must then be harmless. `previous` is the value as of the last
   * wave, undefined if there was none: for facts that an input no longer contains. It is lost with the process.
   */
  compute(key: string, read: Tracker, previous: unknown): R;
  /** Default: deep equality of plain data, with unchanged parts shared. */
  equals?(before: R, after: R): boolean;
  /** Whose key digests of sensitive values in causes are made with: `sensitiveDigest` is given it. Default: none. */
  readonly owner?: string;
  /** Live nodes of a sink are published in waves. */
  readonly sink?: boolean;
  /** The value of every node of this derivation that takes part in a cycle; without it, an error. */
  onCycle?(members: readonly string[]): R;
}

declare const result: unique symbol;

/** A keyed, memoised, tracked function. */
export interface Derivation<R> {
  readonly name: string;
  /** Never present: it carries the static type. */
  readonly [result]?: R;
}

/** The result of a node. */
export type Settled<R> =
  | { readonly state: 'value'; readonly value: R }
  | { readonly state: 'error'; readonly error: Error }
  | { readonly state: 'suspended'; readonly waitingFor: readonly string[] };

/**
 * The recording reader that a computation gets. Reading an unknown value ends the run: the node is suspended until it is known. Reading a
 * node with an error throws that error. Not to be used after the run or in projections.
 */
export interface Tracker {
  get<V>(table: Table<V>, key: string): V | undefined;
  get<V, P>(table: Table<V>, key: string, project: Projection<V, P>): P | undefined;
  /** Sorted by key. */
  list<V>(table: Table<V>, where?: Where<V>): readonly V[];
  list<V, P>(table: Table<V>, where: Where<V>, project: Projection<V, P>): readonly P[];
  /** Membership only: woken when a key enters or leaves. Sorted. */
  keys<V>(table: Table<V>, where?: Where<V>): readonly string[];
  by<V>(index: Index<V>, value: string): readonly V[];
  by<V, P>(index: Index<V>, value: string, project: Projection<V, P>): readonly P[];
  derived<R>(derivation: Derivation<R>, key: string): R;
  derived<R, P>(derivation: Derivation<R>, key: string, project: Projection<R, P>): P;
  /** The same without throwing: errors and suspension are answers. */
  settled<R>(derivation: Derivation<R>, key: string): Settled<R>;
  /** Never suspends. */
  state<V>(table: Table<V>, key: string): Presence;
  /** Whether something that was read lacks a value on which a function of an author failed. */
  readonly incomplete: boolean;
  /** Notes that the function looks at its previous result: a recording that begins later has to hold it. */
  remembers(): void;
}

/** Functions of authors that failed on one value; none once they no longer do. */
export interface Fault {
  readonly table: string;
  readonly key: string;
  /** By the function, as in `index by-host`. */
  readonly errors: ReadonlyMap<string, Error>;
}

/** Keeps nodes alive until it is stopped. */
export interface Root {
  stop(): void;
}

export interface Cause {
  readonly source: { readonly table: string; readonly key: string };
  /** At most 8; from the object's root where the read was unprojected or by `fields`, else from the projection's. */
  readonly paths: readonly string[];
  /** A short digest, 'absent', 'unknown', or '' where none may be given. */
  readonly before: string;
  readonly after: string;
  /** The derivations from the source to the sink, as `name(key)`, at most 6. */
  readonly via: readonly string[];
  /** Read by a projection that is `aside`: reported only where nothing else changed. */
  readonly isAside?: true;
}

/** A sink node that changed, appeared (before undefined) or was disposed (after undefined). */
export interface Change {
  readonly derivation: Derivation<unknown>;
  readonly key: string;
  readonly before: Settled<unknown> | undefined;
  readonly after: Settled<unknown> | undefined;
  /** At most 10; found when first asked for, which must be before the next flush or `forgetWave`: afterwards it is empty. */
  readonly causes: readonly Cause[];
}

export interface Wave {
  readonly number: number;
  readonly changes: readonly Change[];
  /** Computations that came to a result. */
  readonly runs: number;
  /** Runs whose result was equal to the one before. */
  readonly cutoffs: number;
  /** Runs given up because they met a node that was not settled yet; they ran again later in the wave. */
  readonly restarts: number;
  /** How long it took, with the work of others between its slices. */
  readonly ms: number;
}

export interface FoldOptions<S, P, R, V = unknown> {
  readonly name: string;
  over(key: string): { readonly table: Table<V>; readonly where?: Where<V> };
  /** The folded part of each member: a derivation by the member's key, or a projection of its value. */
  readonly part: Derivation<P> | Projection<V, P>;
  empty(): S;
  /** `previous` is the part that was put before, undefined for a new member. May change the state in place. */
  put(state: S, member: string, part: P, previous: P | undefined): void;
  remove(state: S, member: string, part: P): void;
  /** A new plain value, never the state itself. The same state must give an equal result in whatever order it came about. */
  result(state: S): R;
  /** For previews; without it they fold afresh. */
  clone?(state: S): S;
  equals?(before: R, after: R): boolean;
  readonly sink?: boolean;
  readonly owner?: string;
}

/** A key of a table that was read. */
export interface Noted {
  readonly table: string;
  readonly key: string;
}

/** The graph as it would be with an overlay applied: a read-only view as of one wave. */
export interface Fork {
  put<V>(table: Table<V>, key: string, value: V): void;
  delete<V>(table: Table<V>, key: string): void;
  /** Sinks that would differ from the main graph; may be called again after more changes to the overlay. */
  evaluate(): Change[];
  valueOf<R>(derivation: Derivation<R>, key: string): Settled<R> | undefined;
  /** The same for a node that nothing holds: it is evaluated in the fork alone. */
  evaluateKey<R>(derivation: Derivation<R>, key: string): Settled<R> | undefined;
  /** The unknowns that evaluated nodes wait for, sorted. */
  readonly unknowns: readonly string[];
  /** Keys of a noted table that nodes read one by one in this evaluation. */
  noted(table: Table<unknown>): readonly string[];
  /** The same for one node of the evaluation and all that it reads. */
  notedBy(derivation: Derivation<unknown>, key: string): readonly Noted[];
  /** Keys of a derivation whose nodes ran in this evaluation, also where their results stayed equal. */
  ran(derivation: Derivation<unknown>): readonly string[];
}

export interface EngineStats {
  readonly wave: number;
  readonly tables: number;
  readonly cells: number;
  readonly values: number;
  readonly queries: number;
  readonly whereQueries: number;
  readonly nodes: number;
  readonly edges: number;
  /** Tests of a query against an object, since the start. */
  readonly predicateEvaluations: number;
  readonly runs: number;
}

export interface ReadRecord {
  /** `table/key`, `table[where]` or `derivation(key)`. */
  readonly source: string;
  readonly kind: 'object' | 'list' | 'derived';
  /** The projection's name, '' where there is none. */
  readonly projection: string;
  readonly presence?: Presence;
}

/** Everything that a node was computed from. */
export interface Inputs {
  readonly values: readonly Input[];
  /** The lists that were read, members or not: short digests of their descriptions. */
  readonly lists: readonly string[];
  /** Whether a table holds a key now; undefined where there is no such table. */
  isThere(table: string, key: string): boolean | undefined;
}

/** A value that a node was computed from. */
export interface Input {
  readonly source: { readonly table: string; readonly key: string };
  readonly value: unknown;
  /** The digest of the whole value; empty where no read projected it. */
  readonly whole: string;
  /** The digests of the checked parts, each once and in order. */
  readonly digests: readonly string[];
  /** The list that it was read in; absent for reads by name alone. */
  readonly list?: string;
  /** The derivations from the source to the node, as `name(key)`. */
  readonly via: readonly string[];
}

export interface Explanation {
  readonly node: string;
  readonly settled: Settled<unknown>;
  readonly reads: readonly ReadRecord[];
  readonly readers: readonly string[];
  readonly height: number;
}

/** One read of a node's last run. */
export type Reading = (
  | { readonly kind: 'object'; readonly table: string; readonly key: string; readonly presence: Presence }
  /** `list`: `table[where]`; `members`: the keys that it has now, sorted. */
  | { readonly kind: 'list'; readonly table: string; readonly list: string; readonly members: readonly string[] }
  | { readonly kind: 'derived'; readonly derivation: Derivation<unknown>; readonly key: string }
) & {
  /** The projection's name, '' where there is none. */
  readonly projection: string;
  /** The read value follows from the plan rather than decides it. */
  readonly isAside?: true;
};

/** A node that reads something. */
export interface NodeReader {
  readonly derivation: Derivation<unknown>;
  readonly key: string;
  /** By its key, as a member of a list, or as the result of a derivation. */
  readonly by: 'object' | 'list' | 'derived';
  readonly projection: string;
}

/** A key of a table that a wave took in. */
export interface TableChange {
  /** The same object whenever the same event is reported: a new object that had to wait is reported in a later wave again. */
  readonly event: object;
  readonly table: string;
  readonly key: string;
  readonly isSensitive: boolean;
  readonly presence: { readonly before: Presence; readonly after: Presence };
  readonly before: unknown;
  readonly after: unknown;
}

export interface EngineOptions {
  readonly clock: Clock;
  /** An asynchronous flush yields after so many milliseconds of work. Default: 10. */
  readonly sliceMs?: number;
  /** A wave runs so many nodes of new objects at least, also while changes wait: each wave costs something itself. Default: 64. */
  readonly leastNewcomers?: number;
  /** Freezes values and results deeply, so that a reader that changes one gets an error. False is for measuring the cost. Default: true. */
  readonly freeze?: boolean;
  /** Called once when changes become pending. */
  onPending?(): void;
  /** Called with problems that stop nothing: too many predicates on a table, a demand callback that throws. */
  onWarning?(message: string): void;
  /** Called after a wave with each value on which functions of authors fail, or no longer fail. */
  onFault?(fault: Fault): void;
  /** A keyed digest for values of sensitive tables in causes, or of the checked part of one; without it they have none. */
  sensitiveDigest?(value: unknown, seen: unknown, owner: string | undefined): string;
  /**
   * A node that suspends or throws keeps its former reads alive, so that sinks below it are not taken down by a failure above. Default:
   * true.
   */
  readonly retain?: boolean;
  /** Called at the start of a wave with the time that the whole wave sees, and with none when it is over. */
  onTime?(now: number | undefined): void;
  /** Is shown every input. */
  readonly recorder?: EngineRecorder;
  /** Gives every input: tables take nothing else. */
  readonly replay?: EngineReplay;
  /** Runs of one node in one wave before it is given up as never settling. Default: 100. */
  readonly maxRuns?: number;
}

export interface Engine {
  table<V>(options: TableOptions<V>): Table<V>;
  index<V>(table: Table<V>, name: string, keysOf: (value: V, key: string) => readonly string[]): Index<V>;
  derive<R>(options: DerivationOptions<R>): Derivation<R>;
  fold<S, P, R, V = unknown>(options: FoldOptions<S, P, R, V>): Derivation<R>;
  /** One live node per member; a member that becomes unknown is kept. */
  each<V>(table: Table<V>, where: Where<V>, derivation: Derivation<unknown>): Root;
  hold(derivation: Derivation<unknown>, key: string): Root;
  /** Runs the node again in the next wave, if it is alive. */
  invalidate(derivation: Derivation<unknown>, key: string): void;
  /**
   * The world that these belong to is gone: they are forgotten as soon as nothing is left in them, so that worlds can come
   * and go for ever. Existing readers go on as before.
   */
  retire(...handles: readonly (Table<never> | Derivation<unknown>)[]): void;
  /** Takes in pending changes and settles the graph, yielding between nodes; a second call waits for the first. */
  flush(): Promise<Wave>;
  /** Calls a synchronous function while no wave runs: a flush that is under way ends first, and the next one waits. */
  between<T>(use: () => T): Promise<T>;
  flushSync(): Wave;
  /** The keys that the last wave took in; none after `forgetWave`. */
  tableChanges(): Iterable<TableChange>;
  /** Drops the record of the last wave, which keeps the former values: causes that were not requested yet are empty. */
  forgetWave(): void;
  /** The last settled value; undefined for a node that is not alive. */
  valueOf<R>(derivation: Derivation<R>, key: string): Settled<R> | undefined;
  /** The keys of all live nodes of a derivation. */
  keysOf(derivation: Derivation<unknown>): readonly string[];
  /** Reads of the noted tables are remembered; none by default. `deepest` bounds how many runs are under way within each other. */
  fork(noted?: readonly Table<unknown>[], deepest?: number): Fork;
  stats(): EngineStats;
  /** How many nodes of new objects have made room for changes that were waiting, and run in the next waves. */
  readonly newcomers: number;
  explain(derivation: Derivation<unknown>, key: string): Explanation | undefined;
  /** The reads of a node's last run; empty for one that is not alive. Not bounded, unlike `inputs`: walk with it. */
  readsOf(derivation: Derivation<unknown>, key: string): readonly Reading[];
  /** The inverse of `readsOf`: every node that reads a key of a table, by its name or in a list, or that reads a node. */
  readersOf(source: Table<never> | Derivation<unknown>, key: string): readonly NodeReader[];
  /** Returns the inputs of a node, through all derivations; empty where there are too many. */
  inputs(derivation: Derivation<unknown>, key: string): Inputs;
}
