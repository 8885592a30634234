// The graph's parts. One edge object per read, in a doubly linked list at its source and in an array at its reader, so
// that there is no Set per node; cells, queries and nodes are the three sources and begin with the same fields.
import type { Clock } from '@capstan/kube/cluster';
import type { Cause, Demand, DerivationOptions, Fault, FoldOptions, Index, Projection } from '../engine-types.ts';
import type { EngineRecorder, EngineReplay } from '../recording.ts';
import type { SmallSet } from './small-set.ts';
import type { Where } from './where.ts';

export const CELL = 0;
export const QUERY = 1;
export const NODE = 2;

export type Source = Cell | Query | Node;

/** How an edge reads its source. */
export const VALUE = 0;
export const PRESENCE = 1;
export const LIST = 2;
export const KEYS = 3;
export const SETTLED = 4;
export const MODE = 7;
/** The edge closes a cycle: heights do not follow it. */
export const CYCLIC = 8;
/** Not read by the last run, which failed: it keeps its source alive and is otherwise dead. */
export const RETAINED = 16;

export interface Edge {
  source: Source;
  reader: Node;
  project: Projection | undefined;
  mode: number;
  previous: Edge | undefined;
  next: Edge | undefined;
}

/** The reasons why a cell without a value differs from its table's default. */
export const NO_MARK = 0;
export const MARK_UNKNOWN = 1;
export const MARK_ABSENT = 2;

/** One key of a table: there while it has a value, a mark or a reader. */
export interface Cell {
  kind: typeof CELL;
  first: Edge | undefined;
  /** The last run that read it unprojected: a second such read needs no edge. */
  stamp: number;
  table: TableState;
  key: string;
  /** undefined: none. */
  value: unknown;
  mark: number;
}

/** The members of a table by one key function. The same bucket holds objects (to read) and queries (to wake). */
export interface BucketIndex {
  name: string;
  /** The declared index that it stands for; none for namespaces and labels. */
  declared: Index<unknown> | undefined;
  keysOf: (value: unknown, key: string) => readonly string[];
  buckets: Map<string, Bucket>;
  /** Cells on which the function failed: they are in no bucket, and may belong to any. */
  failed: Set<Cell>;
}

export interface Bucket {
  index: BucketIndex;
  key: string;
  cells: SmallSet<Cell>;
  queries: SmallSet<ListQuery>;
  /** For a declared index: the list of just its members. */
  own: BucketQuery | undefined;
  /** Above so many cells its queries search for a better bucket. */
  limit: number;
}

interface QueryBase {
  kind: typeof QUERY;
  first: Edge | undefined;
  stamp: number;
  table: TableState;
  readonly canonical: string;
  readonly where: Where;
  roots: Set<RootState> | undefined;
  /** The last event that was tested against it. */
  seen: number;
  /** In the list of queries to drop. */
  idle: boolean;
}

export type Query = ListQuery | BucketQuery;

/** An interned list: registered in the buckets of one index, and caching cells, not objects. */
export interface ListQuery extends QueryBase {
  bucket: undefined;
  /** undefined until it was first read: nothing can wake it before. */
  anchor: Bucket[] | undefined;
  /** Sorted by key; undefined until first read. */
  cells: Cell[] | undefined;
  /** Cells on which the predicate failed: they are not among the members. */
  failed: Set<Cell> | undefined;
}

/**
 * The list that a declared index finds for one value: the bucket is the list. There is one for nearly every object, so it keeps nothing
 * else.
 */
export interface BucketQuery extends QueryBase {
  bucket: Bucket;
}

export interface TableState {
  id: number;
  name: string;
  labels: ((value: unknown) => Readonly<Record<string, string>> | undefined) | undefined;
  namespace: ((value: unknown, key: string) => string) | undefined;
  sensitive: boolean;
  demand: Demand | undefined;
  cells: Map<string, Cell>;
  values: number;
  synced: boolean;
  /** The running wave takes in that the table became, or ceased to be, synced. */
  syncing: boolean;
  /** Keys with MARK_UNKNOWN. */
  unknown: Set<string>;
  indexes: Map<string, BucketIndex>;
  /** Those of declared indexes. */
  declared: Map<Index<unknown>, BucketIndex>;
  /** Names of declared indexes: queries are distinguished by them. */
  indexNames: Set<string>;
  queries: Map<string, ListQuery>;
  bucketQueries: number;
  whereQueries: number;
  warned: boolean;
  roots: Set<RootState>;
  /** Changes for the next wave: a value, or one of the marks wrapped. */
  incoming: Map<string, Incoming>;
  incomingSynced: boolean;
  /** Changes that the running wave takes in. */
  entering: Map<string, Incoming> | undefined;
  enteringSynced: boolean;
  demandedKeys: Set<string> | undefined;
  demandedLists: Map<string, Where> | undefined;
}

/** A pending change of a key: its value, or without one the mark it gets. */
export interface Incoming {
  value: unknown;
  mark: number;
}

export const FRESH = 0;
export const HAS_VALUE = 1;
export const HAS_ERROR = 2;
export const IS_SUSPENDED = 3;

/** The result of a node: `value` is the value, the Error, or the list of unknowns that it waits for. */
export interface Outcome {
  state: number;
  value: unknown;
}

export const FRESH_OUTCOME: Outcome = Object.freeze({ state: FRESH, value: undefined });

// Flags of a node.
export const DIRTY = 1;
export const QUEUED = 2;
export const RUNNING = 4;
/** Counted among the queued nodes that have readers. */
export const INFLUENCES = 8;
export const IDLE = 16;
export const DISPOSED = 32;
/** Computed without a value on which a function of an author failed: nothing may be removed because of it. */
export const INCOMPLETE = 64;

export interface Node {
  kind: typeof NODE;
  first: Edge | undefined;
  stamp: number;
  derivation: DerivationState;
  key: string;
  state: number;
  value: unknown;
  deps: readonly Edge[];
  /** Above that of every node it reads, cyclic edges excepted. Only grows. */
  height: number;
  flags: number;
  /** Roots that hold it. */
  holds: number;
  /** The wave of its last run. */
  ran: number;
  cycle: Cycle | undefined;
  fold: FoldState | undefined;
}

/** One cycle, the same for every member: its path begins at the smallest name. */
export interface Cycle {
  members: readonly Node[];
  names: readonly string[];
  canonical: string;
  error: Error;
}

export interface DerivationState {
  id: number;
  name: string;
  nodes: Map<string, Node>;
  compute: DerivationOptions<unknown>['compute'];
  /** Runs a node once, as an ordinary computation or as a fold. */
  attempt: (graph: Graph, node: Node) => RunFrame;
  equals: ((before: unknown, after: unknown) => boolean) | undefined;
  owner: string | undefined;
  sink: boolean;
  onCycle: ((members: readonly string[]) => unknown) | undefined;
  fold: FoldOptions<unknown, unknown, unknown> | undefined;
  /** One of its runs looked at the previous result. */
  remembers: boolean;
}

/** The state of a fold between its runs. */
export interface FoldState {
  state: unknown;
  parts: Map<string, FoldPart>;
  /** Members whose part is suspended: they are not in the state. */
  unsettled: Map<string, Outcome>;
  /** Members whose part, or whose entry into the state or the result, failed: the fold goes on without them. */
  left: Map<string, Outcome>;
  /** The cells of members that are shown to have failed. */
  blamed: Map<string, Cell>;
  /** Members that are left out because the result fails on them; each run tries them again. */
  spoiling: Set<string>;
  /** Members that moved since the last run. */
  moved: Set<string>;
  /** The state cannot be patched: fold afresh. */
  stale: boolean;
}

export interface FoldPart {
  /** The read of the part's node; none where the part is a projection. */
  edge: Edge | undefined;
  /** Whether the state includes it, and with which part. */
  included: boolean;
  part: unknown;
}

export interface RootState {
  derivation: DerivationState;
  table: TableState | undefined;
  query: Query | undefined;
  members: Map<string, Node>;
  stopped: boolean;
}

/** A function of an author that failed on the value of a cell. */
export interface CellFault {
  readonly error: Error;
  /** The next event of the cell does not try it again: the node that recorded it does. */
  readonly lasting: boolean;
}

/** A cell that changed in this wave. */
export interface CellEvent {
  cell: Cell;
  before: unknown;
  beforePresence: number;
  after: unknown;
  afterPresence: number;
}

export const KNOWN = 0;
export const ABSENT = 1;
export const UNKNOWN = 2;

/** The record of the last wave, kept until the next one for readers of causes. */
export interface WaveRecord {
  number: number;
  cells: Map<Cell, CellEvent>;
  queries: Map<Query, CellEvent[]>;
  /** The first outcome of every node that changed; of new nodes only sinks. */
  changed: Map<Node, Outcome>;
  runs: number;
  cutoffs: number;
  restarts: number;
  rerun: Map<Node, number>;
  /** The first event that made a node dirty, started it or ended it; for new nodes only sinks. */
  triggers: Map<Node, Source>;
  causes: Map<CellEvent, Map<unknown, Omit<Cause, 'via'>>>;
  /** When new objects have had their turn, if changes are waiting; and whether the least number of them ran. */
  newcomersUntil: number | undefined;
  newcomersRan: boolean;
}

/** A run in progress and, when it is over, its result. */
export interface RunFrame {
  node: Node;
  resultState: number;
  result: unknown;
  parent: RunFrame | undefined;
  /** The node takes part in this cycle, whatever its computation returned. */
  cycled: Cycle | undefined;
  /** The run met a node that is not settled yet: it counts for nothing and is created again. */
  restart: boolean;
  /** A value was left out because a function of an author failed on it. */
  incomplete: boolean;
}

/** A node that a root holds since its object appeared, and that has not run. */
export interface Newcomer {
  readonly node: Node;
  readonly event: CellEvent;
}

export interface Graph {
  clock: Clock;
  sliceMs: number;
  leastNewcomers: number;
  freeze: boolean;
  retain: boolean;
  maxRuns: number;
  onPending: (() => void) | undefined;
  warn: (message: string) => void;
  onFault: ((fault: Fault) => void) | undefined;
  faults: Map<Cell, Map<string, CellFault>>;
  /** Cells whose faults may differ from those that were announced. */
  accused: Set<Cell>;
  announced: Map<Cell, string>;
  onTime: ((now: number | undefined) => void) | undefined;
  recorder: EngineRecorder | undefined;
  replay: EngineReplay | undefined;
  sensitiveDigest: ((value: unknown, seen: unknown, owner: string | undefined) => string) | undefined;
  /** The digests of values that were named in a cause: the value after one change is the one before the next. */
  digests: WeakMap<object, string>;

  tables: TableState[];
  derivations: DerivationState[];
  nextId: number;
  /** Forgotten as soon as nothing is left in them. */
  retired: Set<TableState | DerivationState>;
  /** The run that may read now. */
  active: RunFrame | undefined;
  nextRun: number;
  nextEvent: number;
  predicateIds: WeakMap<object, number>;
  nextPredicate: number;

  pending: boolean;
  /** Changes to roots and invalidations: done at the start of the next wave. */
  operations: (() => void)[];

  /** In the order in which they came. No other node reads them yet: one that does runs them. */
  newcomers: Newcomer[];
  /** Dirty nodes by height; `low` is at most the lowest height in use. */
  queue: Node[][];
  low: number;
  /** The height that the wave has reached. */
  height: number;
  /** How many runs are under way, each within the one before. */
  depth: number;
  /** Queued nodes that have readers, so whose change others would see. */
  influencers: number;

  running: boolean;
  wave: WaveRecord;
  idleNodes: Node[];
  idleQueries: Query[];
  cyclic: Set<Node>;
  /** Nodes with retained edges to nodes. */
  retaining: Set<Node>;
  /** Some node lost a reader or a root in this wave. */
  released: boolean;
  grown: Set<Bucket>;
  demandKeys: Map<TableState, Set<string>>;
  demandLists: Map<TableState, Map<string, Query>>;

  edges: number;
  predicateEvaluations: number;
  runs: number;
}

export function presenceOf(cell: Cell): number {
  if (cell.value !== undefined) return KNOWN;
  if (cell.mark !== NO_MARK) return cell.mark === MARK_UNKNOWN ? UNKNOWN : ABSENT;
  return cell.table.synced ? ABSENT : UNKNOWN;
}

export function nodeName(node: { derivation: { name: string }; key: string }): string {
  return `${node.derivation.name}(${node.key})`;
}
