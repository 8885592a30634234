// A fold keeps its state between runs and is given the members that changed: one changed part of ten thousand is one `put`.
// Rebuilt from nothing it must come to the same. It first settles all parts that moved, then changes the state, so that
// a run that has to start again has changed nothing. Members that failed are left out of the state, and the fold is incomplete.
// Members that are suspended are left out too; the fold then waits for the first of them by key.

import { asError, isPromise, refusePromise, settledResult } from '../guard.ts';
import type { FoldOptions, Projection } from './engine-types.ts';
import { link, unlink } from './graph/edge.ts';
import { blame, isIncomplete, pardon } from './graph/fault.ts';
import {
  type Cycle,
  type DerivationState,
  type Edge,
  type FoldPart,
  type FoldState,
  type Graph,
  HAS_ERROR,
  HAS_VALUE,
  INCOMPLETE,
  IS_SUSPENDED,
  KEYS,
  LIST,
  type Node,
  type Outcome,
  type Query,
  RETAINED,
  RUNNING,
  type RunFrame,
  SETTLED,
  type Source,
} from './graph/model.ts';
import { hasMember, isSuspended, materialize, queryFor, waitingForList } from './graph/query.ts';
import { tableState } from './graph/table.ts';
import { follow, nodeFor, prepare } from './wave/read-node.ts';

type Options = FoldOptions<unknown, unknown, unknown>;

export function attemptFold(graph: Graph, node: Node): RunFrame {
  const frame: RunFrame = {
    node,
    resultState: HAS_VALUE,
    result: undefined,
    parent: graph.active,
    cycled: undefined,
    restart: false,
    incomplete: false,
  };
  const options = node.derivation.fold as Options;
  const fold = (node.fold ??= newFold());
  graph.active = frame;
  node.flags |= RUNNING;
  try {
    Object.assign(frame, foldOutcome(runFold(graph, frame, options, fold)));
  } catch (error) {
    frame.resultState = HAS_ERROR;
    frame.result = asError(error);
    if (!frame.restart) fold.stale = true;
  }
  node.flags &= ~RUNNING;
  graph.active = frame.parent;
  return frame;
}

function foldOutcome({ state, value }: Outcome): Pick<RunFrame, 'resultState' | 'result'> {
  return { resultState: state, result: value };
}

function newFold(): FoldState {
  return {
    state: undefined,
    parts: new Map(),
    unsettled: new Map(),
    left: new Map(),
    blamed: new Map(),
    spoiling: new Set(),
    moved: new Set(),
    stale: true,
  };
}

function runFold(graph: Graph, frame: RunFrame, options: Options, fold: FoldState): Outcome {
  const { node } = frame;
  const query = foldQuery(graph, node, options);
  if (isSuspended(query)) {
    fold.stale = true;
    leaveParts(graph, node, fold);
    return { state: IS_SUSPENDED, value: [waitingForList(query)] };
  }
  const cells = materialize(graph, query);
  if (fold.stale) {
    clearState(options, fold);
    fold.moved = new Set([...cells.map(({ key }) => key), ...fold.parts.keys()]);
    fold.stale = false;
  }
  // The present values of the others may let the result take these members again.
  for (const key of fold.spoiling) fold.moved.add(key);
  fold.spoiling.clear();
  if (!isProjection(options.part)) settleParts(graph, frame, options.part as unknown as DerivationState, fold, query);
  const { name } = node.derivation;
  const rebuild = () => {
    clearState(options, fold);
    fold.moved = new Set([...cells.map(({ key }) => key), ...fold.parts.keys()]);
  };
  const blamed = new Map<string, Outcome>();
  // A member on which `put` or `remove` fails may have left half a change: the state is built again without it.
  const applyAll = () => {
    while (applyMembers(options, fold, query, blamed)) rebuild();
    fold.moved.clear();
  };
  applyAll();
  let outcome = firstFailure(fold.unsettled) ?? resultOf(options, fold, name);
  if (outcome.state === HAS_ERROR) {
    const spoiling = spoilingMembers(options, fold.parts, name);
    if (spoiling.size > 0) {
      for (const [key, failure] of spoiling) blamed.set(key, failure);
      rebuild();
      applyAll();
      outcome = resultOf(options, fold, name);
    }
    fold.spoiling = new Set(spoiling.keys());
  }
  blameMembers(graph, fold, query, `the fold ${name}`);
  frame.incomplete = fold.left.size > 0 || isIncomplete(query) || (graph.faults.size > 0 && hasIncompletePart(fold));
  if (outcome.state === HAS_ERROR) throw outcome.value;
  return outcome;
}

function resultOf(options: Options, { state }: Pick<FoldState, 'state'>, name: string): Outcome {
  try {
    const value = options.result(state);
    if (isPromise(value)) refusePromise(`result of the fold ${name}`, value);
    return { state: HAS_VALUE, value };
  } catch (error) {
    return { state: HAS_ERROR, value: asError(error) };
  }
}

/**
 * Finds the members on which `result` fails: in the order of keys, each without which it no longer fails. None where it fails without
 * members too, or on so many that the function itself is to blame. It depends on the members alone, not on former states.
 */
export function spoilingMembers(
  options: Options,
  parts: ReadonlyMap<string, Pick<FoldPart, 'included' | 'part'>>,
  name: string,
): ReadonlyMap<string, Outcome> {
  let members = [...parts].filter(([, { included }]) => included).sort(([a], [b]) => (a < b ? -1 : 1));
  const failureOf = (count: number): Outcome | undefined => {
    const state = options.empty();
    for (const [key, { part }] of members.slice(0, count)) options.put(state, key, part, undefined);
    const outcome = resultOf(options, { state }, name);
    return outcome.state === HAS_ERROR ? outcome : undefined;
  };
  const spoiling = new Map<string, Outcome>();
  if (failureOf(0) !== undefined) return spoiling;
  for (let failure = failureOf(members.length); failure !== undefined; failure = failureOf(members.length)) {
    if (spoiling.size === MOST_SPOILING) return new Map();
    let [passes, fails] = [0, members.length];
    while (fails - passes > 1) {
      const middle = (passes + fails) >>> 1;
      const found = failureOf(middle);
      if (found === undefined) passes = middle;
      else [fails, failure] = [middle, found];
    }
    spoiling.set(members[passes]?.[0] ?? '', failure);
    members = members.toSpliced(passes, 1);
  }
  return spoiling;
}

const MOST_SPOILING = 16;

/** Shows on each member that is left out why, and no longer on those that are back. */
function blameMembers(graph: Graph, fold: FoldState, query: Query, what: string): void {
  for (const [key, cell] of fold.blamed) {
    if (fold.left.has(key)) continue;
    fold.blamed.delete(key);
    pardon(graph, cell, what);
  }
  for (const [key, { value }] of fold.left) {
    const cell = hasMember(query, key);
    if (cell === undefined) continue;
    fold.blamed.set(key, cell);
    blame(graph, cell, what, value, true);
  }
}

function clearState(options: Options, fold: FoldState): void {
  for (const part of fold.parts.values()) part.included = false;
  fold.unsettled.clear();
  fold.left.clear();
  fold.state = options.empty();
}

/** Brings the members that moved up to date; true when one of them failed, and is blamed from now on. */
function applyMembers(options: Options, fold: FoldState, query: Query, blamed: Map<string, Outcome>): boolean {
  for (const key of fold.moved) {
    const failure = blamed.get(key);
    if (failure !== undefined) {
      if (hasMember(query, key) !== undefined) fold.left.set(key, failure);
      continue;
    }
    try {
      applyMember(options, fold, query, key);
    } catch (error) {
      blamed.set(key, { state: HAS_ERROR, value: asError(error) });
      return true;
    }
  }
  return false;
}

function hasIncompletePart({ parts }: FoldState): boolean {
  for (const { edge } of parts.values())
    if (edge !== undefined && ((edge.source as Node).flags & INCOMPLETE) !== 0) return true;
  return false;
}

/** The list that is folded over: chosen once in the life of a node. */
function foldQuery(graph: Graph, node: Node, options: Options): Query {
  const known = node.deps[0];
  if (known !== undefined) return known.source as Query;
  const { table, where = {} } = options.over(node.key);
  const query = queryFor(graph, tableState(table), where);
  const edge = isProjection(options.part)
    ? newEdge(query, node, LIST, options.part)
    : newEdge(query, node, KEYS, undefined);
  link(graph, edge);
  node.deps = [edge];
  return query;
}

/** Settles the parts that moved. If there are several cycles, the first by name counts, so that the order of members does not matter. */
function settleParts(graph: Graph, frame: RunFrame, part: DerivationState, fold: FoldState, query: Query): void {
  let cycle: Cycle | undefined;
  graph.retaining.delete(frame.node);
  for (const key of fold.moved) {
    const entry = fold.parts.get(key);
    if (hasMember(query, key) === undefined) {
      if (entry?.edge !== undefined) unlink(graph, entry.edge);
      if (entry !== undefined) entry.edge = undefined;
      continue;
    }
    const child = nodeFor(part, key);
    const ready = prepare(graph, child);
    const edge = partEdge(graph, frame.node, entry ?? entryOf(fold, key), child);
    try {
      follow(graph, frame, edge, child, ready);
    } catch (signal) {
      if (frame.cycled === undefined) throw signal;
    }
    if (frame.cycled !== undefined && (cycle === undefined || frame.cycled.canonical < cycle.canonical))
      cycle = frame.cycled;
    frame.cycled = undefined;
  }
  frame.cycled = cycle;
  if (cycle !== undefined) throw cycle.error;
}

function partEdge(graph: Graph, node: Node, entry: FoldPart, child: Node): Edge {
  const old = entry.edge;
  if (old?.source === child) {
    old.mode &= ~RETAINED;
    return old;
  }
  const edge = newEdge(child, node, SETTLED, undefined);
  link(graph, edge);
  entry.edge = edge;
  if (old !== undefined) unlink(graph, old);
  return edge;
}

function applyMember(options: Options, fold: FoldState, query: Query, key: string): void {
  const cell = hasMember(query, key);
  if (cell === undefined) {
    const gone = fold.parts.get(key);
    fold.parts.delete(key);
    fold.unsettled.delete(key);
    fold.left.delete(key);
    if (gone?.included) options.remove(fold.state, key, gone.part);
    return;
  }
  const entry = entryOf(fold, key);
  const outcome =
    entry.edge === undefined ? projected(options.part as Projection, cell.value, key) : (entry.edge.source as Node);
  patchState(options, fold, key, entry, { state: outcome.state, value: outcome.value });
}

/** Brings one member of the state up to date. */
export function patchState(options: Options, fold: FoldState, key: string, entry: FoldPart, outcome: Outcome): void {
  const { included, part: previous } = entry;
  fold.left.delete(key);
  fold.unsettled.delete(key);
  if (outcome.state !== HAS_VALUE) {
    (outcome.state === HAS_ERROR ? fold.left : fold.unsettled).set(key, outcome);
    entry.included = false;
    entry.part = undefined;
    if (included) options.remove(fold.state, key, previous);
    return;
  }
  entry.included = true;
  entry.part = outcome.value;
  if (!included) options.put(fold.state, key, outcome.value, undefined);
  else if (previous !== outcome.value) options.put(fold.state, key, outcome.value, previous);
}

export function firstFailure(unsettled: ReadonlyMap<string, Outcome>): Outcome | undefined {
  let first: string | undefined;
  for (const key of unsettled.keys()) if (first === undefined || key < first) first = key;
  return first === undefined ? undefined : unsettled.get(first);
}

export function isProjection(part: Options['part']): part is Projection {
  return typeof part === 'function';
}

/** A part by projection, with its error if it throws. */
export function projected(project: Projection, value: unknown, key: string): Outcome {
  try {
    return { state: HAS_VALUE, value: settledResult('the part', project(value, key)) };
  } catch (error) {
    return { state: HAS_ERROR, value: asError(error) };
  }
}

export function entryOf(fold: FoldState, key: string): FoldPart {
  let entry = fold.parts.get(key);
  if (entry === undefined) fold.parts.set(key, (entry = { edge: undefined, included: false, part: undefined }));
  return entry;
}

/** Members are not known for now: their parts are kept alive, or let go. */
function leaveParts(graph: Graph, node: Node, fold: FoldState): void {
  for (const { edge } of fold.parts.values()) {
    if (edge === undefined) continue;
    if (graph.retain) edge.mode |= RETAINED;
    else unlink(graph, edge);
  }
  if (!graph.retain) fold.parts.clear();
  else if (!isProjection((node.derivation.fold as Options).part)) graph.retaining.add(node);
}

function newEdge(source: Source, reader: Node, mode: number, project: Projection | undefined): Edge {
  return { source, reader, project, mode, previous: undefined, next: undefined };
}
