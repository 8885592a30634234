import { AuthorErrors, asError, isPromise, refusePromise, settledResult } from '../../guard.ts';
import type { Derivation, Index, Presence, Projection, Settled, Table, Tracker } from '../engine-types.ts';
import { link, unlink } from '../graph/edge.ts';
import { EngineErrors, Suspended } from '../graph/errors.ts';
import { blame, faultOf, isIncomplete, isMisuse } from '../graph/fault.ts';
import {
  type Cell,
  type Cycle,
  type DerivationState,
  type Edge,
  FRESH,
  type Graph,
  HAS_ERROR,
  HAS_VALUE,
  INCOMPLETE,
  IS_SUSPENDED,
  KEYS,
  KNOWN,
  LIST,
  MODE,
  NODE,
  type Node,
  nodeName,
  PRESENCE,
  presenceOf,
  type Query,
  RETAINED,
  RUNNING,
  type RunFrame,
  SETTLED,
  type Source,
  UNKNOWN,
  VALUE,
} from '../graph/model.ts';
import { bucketQueryFor, isSuspended, materialize, queryFor, waitingForList } from '../graph/query.ts';
import { settledOf } from '../graph/settled.ts';
import { cellFor, tableState } from '../graph/table.ts';
import type { Where } from '../graph/where.ts';
import { follow, nodeFor, prepare, RESTART } from './read-node.ts';

/** Runs an ordinary computation once and records its reads. */
export function attemptRun(graph: Graph, node: Node, compute = node.derivation.compute): RunFrame {
  const run = new Run(graph, node);
  graph.active = run;
  node.flags |= RUNNING;
  try {
    run.result = compute(node.key, run, previousOf(graph, node));
    if (isPromise(run.result)) refusePromise(nodeName(node), run.result);
    run.resultState = HAS_VALUE;
  } catch (error) {
    run.resultState = HAS_ERROR;
    run.result = asError(error);
  }
  node.flags &= ~RUNNING;
  graph.active = run.parent;
  run.finish();
  return run;
}

/** The value before this wave, however often the node has run in it. */
function previousOf(graph: Graph, node: Node): unknown {
  const before = graph.wave.changed.get(node) ?? node;
  // A replay that begins with a snapshot goes on from the results of that moment.
  if (before.state === FRESH) return graph.replay?.previous(node);
  return before.state === HAS_VALUE ? before.value : undefined;
}

/**
 * One run of one node. Reads are compared with those of the run before by a cursor: the same read at the same place
 * keeps its edge. New edges are linked during the run, old ones unlinked after it, so that nothing is freed in between.
 */
class Run implements Tracker, RunFrame {
  readonly node: Node;
  readonly parent: RunFrame | undefined;
  resultState = 0;
  result: unknown = undefined;
  cycled: Cycle | undefined = undefined;
  restart = false;
  incomplete = false;
  private readonly graph: Graph;
  private readonly id: number;
  private cursor = 0;
  /** The edges of this run, once they differ from the old ones. */
  private collected: Edge[] | undefined = undefined;
  private dropped: Edge[] | undefined = undefined;
  private waiting: readonly string[] | undefined = undefined;

  constructor(graph: Graph, node: Node) {
    this.graph = graph;
    this.node = node;
    this.parent = graph.active;
    this.id = ++graph.nextRun;
  }

  get<V, P>(table: Table<V>, key: string, project?: Projection<V, P>): V | P | undefined {
    this.check();
    const cell = cellFor(tableState(table), key);
    this.trackCell(cell, project as Projection | undefined, VALUE);
    const value = cell.value as V | undefined;
    if (value === undefined) {
      if (presenceOf(cell) === UNKNOWN) this.suspend([`${cell.table.name}/${key}`]);
      return undefined;
    }
    return project === undefined ? value : this.projectCell(project, cell);
  }

  list<V, P>(table: Table<V>, where: Where<V> = {}, project?: Projection<V, P>): readonly (V | P)[] {
    const query = this.query(table, where, project as Projection | undefined, LIST);
    const cells = materialize(this.graph, query);
    if (project === undefined) return cells.map((cell) => cell.value as V);
    return this.projectAll(project, cells);
  }

  keys<V>(table: Table<V>, where: Where<V> = {}): readonly string[] {
    return materialize(this.graph, this.query(table, where, undefined, KEYS)).map((cell) => cell.key);
  }

  by<V, P>(index: Index<V>, value: string, project?: Projection<V, P>): readonly (V | P)[] {
    this.check();
    const query = bucketQueryFor(this.graph, tableState(index.table), index as Index<unknown>, value);
    const cells = materialize(this.graph, this.read(query, project as Projection | undefined, LIST));
    if (project === undefined) return cells.map((cell) => cell.value as V);
    return this.projectAll(project, cells);
  }

  derived<R, P>(derivation: Derivation<R>, key: string, project?: Projection<R, P>): R | P {
    const child = this.meet(derivation, key, project as Projection | undefined, VALUE);
    if (child.state === HAS_ERROR) throw child.value as Error;
    if (child.state === IS_SUSPENDED) this.suspend(child.value as string[]);
    if (project === undefined) return child.value as R;
    try {
      return this.project(project, child.value as R, key);
    } catch (error) {
      throw isMisuse(error) ? error : AuthorErrors.Threw(`${projectionName(project)} on ${nodeName(child)}`, error);
    }
  }

  settled<R>(derivation: Derivation<R>, key: string): Settled<R> {
    return settledOf(this.meet(derivation, key, undefined, SETTLED)) as Settled<R>;
  }

  remembers(): void {
    this.node.derivation.remembers = true;
  }

  state<V>(table: Table<V>, key: string): Presence {
    this.check();
    const cell = cellFor(tableState(table), key);
    this.trackCell(cell, undefined, PRESENCE);
    return presenceName(presenceOf(cell));
  }

  finish(): void {
    const old = this.node.deps;
    if (this.restart) {
      // Keep the old reads: the next attempt may need them.
      if (this.collected !== undefined) {
        this.node.deps = [...this.collected, ...(this.dropped ?? []), ...old.slice(this.cursor)];
      }
      return;
    }
    if (this.waiting !== undefined) {
      this.resultState = IS_SUSPENDED;
      this.result = this.waiting;
    }
    const hasFailed = this.graph.retain && (this.resultState !== HAS_VALUE || this.cycled !== undefined);
    if (hasFailed) this.retain();
    else this.release();
  }

  private release(): void {
    const { graph, node, cursor, collected, dropped } = this;
    const old = node.deps;
    if (collected !== undefined) node.deps = collected.slice();
    else if (cursor < old.length) node.deps = old.slice(0, cursor);
    if (dropped !== undefined) for (const edge of dropped) unlink(graph, edge);
    for (let i = cursor; i < old.length; i++) unlink(graph, old[i] as Edge);
    if (graph.retaining.size > 0) graph.retaining.delete(node);
  }

  private retain(): void {
    const { graph, node, cursor } = this;
    const kept = [...(this.dropped ?? []), ...node.deps.slice(cursor)];
    if (kept.length === 0) return this.release();
    node.deps = [...(this.collected ?? node.deps.slice(0, cursor)), ...kept];
    let nodes = false;
    for (const edge of kept) {
      edge.mode = (edge.mode & MODE) | RETAINED;
      nodes ||= edge.source.kind === NODE;
    }
    if (nodes) graph.retaining.add(node);
    else graph.retaining.delete(node);
  }

  private query<V>(table: Table<V>, where: Where<V>, project: Projection | undefined, mode: number): Query {
    this.check();
    return this.read(queryFor(this.graph, tableState(table), where), project, mode);
  }

  private read(query: Query, project: Projection | undefined, mode: number): Query {
    if (query.stamp !== this.id) {
      this.track(query, project, mode);
      if (mode === LIST && project === undefined) query.stamp = this.id;
    }
    if (isSuspended(query)) this.suspend([waitingForList(query)]);
    if (isIncomplete(query)) this.incomplete = true;
    return query;
  }

  private meet(derivation: Derivation<unknown>, key: string, project: Projection | undefined, mode: number): Node {
    this.check();
    const child = nodeFor(derivation as unknown as DerivationState, key);
    if (child.stamp === this.id && mode === VALUE) return child;
    if (child.state === FRESH && child.derivation.sink) this.graph.wave.triggers.set(child, this.node);
    const ready = prepare(this.graph, child);
    follow(this.graph, this, this.track(child, project, mode), child, ready);
    if (project === undefined && mode === VALUE) child.stamp = this.id;
    if ((child.flags & INCOMPLETE) !== 0) this.incomplete = true;
    return child;
  }

  private trackCell(cell: Cell, project: Projection | undefined, mode: number): void {
    if (cell.stamp === this.id) return;
    this.track(cell, project, mode);
    if (project === undefined && mode === VALUE) cell.stamp = this.id;
  }

  private track(source: Source, project: Projection | undefined, mode: number): Edge {
    const old = this.node.deps;
    const expected = old[this.cursor];
    if (expected !== undefined && isRead(expected, source, project, mode)) {
      this.cursor++;
      this.collected?.push(expected);
      expected.mode &= ~RETAINED;
      return expected;
    }
    this.collected ??= old.slice(0, this.cursor);
    const following = expected === undefined ? undefined : old[this.cursor + 1];
    if (expected !== undefined && following !== undefined && isRead(following, source, project, mode)) {
      (this.dropped ??= []).push(expected);
      this.cursor += 2;
      this.collected.push(following);
      following.mode &= ~RETAINED;
      return following;
    }
    const edge: Edge = { source, reader: this.node, project, mode, previous: undefined, next: undefined };
    link(this.graph, edge);
    this.collected.push(edge);
    return edge;
  }

  /** One value was asked for: without it the reader cannot go on. */
  private projectCell<V, P>(project: Projection<V, P>, cell: Cell): P {
    try {
      return this.project(project, cell.value as V, cell.key);
    } catch (error) {
      if (isMisuse(error)) throw error;
      const what = projectionName(project);
      blame(this.graph, cell, what, error);
      throw faultOf(cell, what, error);
    }
  }

  /** Many values were asked for: one on which the projection fails is left out. */
  private projectAll<V, P>(project: Projection<V, P>, cells: readonly Cell[]): readonly P[] {
    const found: P[] = [];
    for (const cell of cells) {
      try {
        found.push(this.project(project, cell.value as V, cell.key));
      } catch (error) {
        if (isMisuse(error)) throw error;
        blame(this.graph, cell, projectionName(project), error);
        this.incomplete = true;
      }
    }
    return found;
  }

  private project<V, P>(project: Projection<V, P>, value: V, key: string): P {
    this.graph.active = undefined;
    try {
      return settledResult('the projection', project(value, key));
    } finally {
      this.graph.active = this;
    }
  }

  private suspend(waitingFor: readonly string[]): never {
    this.waiting = this.waiting === undefined ? waitingFor : [...new Set([...this.waiting, ...waitingFor])].sort();
    throw new Suspended(waitingFor);
  }

  /** A computation that swallowed the engine's signals does not get further by it. */
  private check(): void {
    if (this.graph.active !== this) throw EngineErrors.outsideRun(nodeName(this.node));
    if (this.restart) throw RESTART;
    if (this.cycled !== undefined) throw this.cycled.error;
  }
}

export function projectionName({ name }: { readonly name: string }): string {
  return name === '' ? 'a projection' : `the projection ${name}`;
}

function isRead(edge: Edge, source: Source, project: Projection | undefined, mode: number): boolean {
  return edge.source === source && edge.project === project && (edge.mode & MODE) === mode;
}

export function presenceName(presence: number): Presence {
  return presence === KNOWN ? 'known' : presence === UNKNOWN ? 'unknown' : 'absent';
}
