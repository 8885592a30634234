// A fold in a fork: a copy of the main graph's state, patched by the members that moved; or folded afresh where there is
// no way to copy, or nothing to patch.

import { asError, settledResult } from '../../guard.ts';
import type { FoldOptions } from '../engine-types.ts';
import { entryOf, firstFailure, isProjection, patchState, projected, spoilingMembers } from '../fold.ts';
import { depsOf } from '../graph/edge.ts';
import {
  type DerivationState,
  type FoldPart,
  type FoldState,
  HAS_ERROR,
  HAS_VALUE,
  IS_SUSPENDED,
  NODE,
  type Node,
  type Outcome,
  QUERY,
} from '../graph/model.ts';
import { predicateId, waitingForWhere } from '../graph/query.ts';
import { tableState } from '../graph/table.ts';
import { canonicalWhere } from '../graph/where.ts';
import {
  closeForkCycle,
  type Evaluation,
  forkNode,
  GIVEN_UP,
  isIncompleteIn,
  isRunning,
  outcomeOf,
  type Shadow,
} from './evaluation.ts';
import { isListUnknown, type Seen, viewList } from './overlay.ts';

type Options = FoldOptions<unknown, unknown, unknown>;

export function runFoldInFork(evaluation: Evaluation, shadow: Shadow): Outcome {
  const options = shadow.node.derivation.fold as Options;
  try {
    const { table, where = {} } = options.over(shadow.node.key);
    const state = tableState(table);
    const condition = where;
    if (isListUnknown(evaluation.view, state, condition)) {
      return { state: IS_SUSPENDED, value: [waitingForWhere(state, condition)] };
    }
    const canonical = canonicalWhere(condition, (predicate) => predicateId(evaluation.graph, predicate));
    const members = viewList(evaluation.view, state, condition, canonical);
    const main = shadow.node.fold;
    const fold =
      main === undefined ||
      main.stale ||
      main.left.size > 0 ||
      options.clone === undefined ||
      shadow.node.cycle !== undefined
        ? foldAfresh(evaluation, shadow, options, members)
        : foldOnOrAfresh(evaluation, shadow, options, main, members);
    if (shadow.cycled !== undefined) return { state: HAS_ERROR, value: shadow.cycled.error };
    shadow.incomplete ||= fold.left.size > 0;
    return fold.outcome;
  } catch (error) {
    if (error === GIVEN_UP) throw error;
    return { state: HAS_ERROR, value: asError(error) };
  }
}

interface Folded extends Pick<FoldState, 'left'> {
  readonly outcome: Outcome;
}

function folded(options: Options, { state, unsettled, left }: FoldState): Folded {
  const failure = firstFailure(unsettled);
  return { left, outcome: failure ?? { state: HAS_VALUE, value: settledResult('result', options.result(state)) } };
}

function foldAfresh(evaluation: Evaluation, shadow: Shadow, options: Options, members: readonly Seen[]): Folded {
  const outcomes = members.map((member) => partOf(evaluation, shadow, options, member));
  const dropped = (shadow.dropped = new Set<Node>());
  for (const { source } of depsOf(shadow.node))
    if (source.kind === NODE && !shadow.reads.has(source)) dropped.add(source);
  const blamed = new Map<string, Outcome>();
  let hasSearched = false;
  for (;;) {
    const fold = blank(options.empty(), new Map());
    if (!fillState(options, fold, members, outcomes, blamed)) continue;
    try {
      return folded(options, fold);
    } catch (error) {
      const spoiling = hasSearched ? [] : [...spoilingMembers(options, fold.parts, shadow.node.derivation.name)];
      if (spoiling.length === 0) throw error;
      hasSearched = true;
      for (const [key, failure] of spoiling) blamed.set(key, failure);
    }
  }
}

/** As in the main graph: a member that fails is left out, and the state is built again. */
function fillState(
  options: Options,
  fold: FoldState,
  members: readonly Seen[],
  outcomes: readonly Outcome[],
  blamed: Map<string, Outcome>,
): boolean {
  for (const [i, { key }] of members.entries()) {
    const outcome = blamed.get(key) ?? outcomes[i];
    if (outcome === undefined) continue;
    try {
      patchState(options, fold, key, entryOf(fold, key), outcome);
    } catch (error) {
      blamed.set(key, { state: HAS_ERROR, value: asError(error) });
      return false;
    }
  }
  return true;
}

/** A state on which a change fails is built afresh, which finds the member that it fails on. */
function foldOnOrAfresh(...parameters: Parameters<typeof foldOn>): Folded {
  try {
    return foldOn(...parameters);
  } catch (error) {
    if (error === GIVEN_UP) throw error;
    const [evaluation, shadow, options, , members] = parameters;
    return foldAfresh(evaluation, shadow, options, members);
  }
}

function foldOn(
  evaluation: Evaluation,
  shadow: Shadow,
  options: Options,
  main: FoldState,
  members: readonly Seen[],
): Folded {
  const moved = movedMembers(evaluation, shadow.node);
  const outcomes = new Map<string, Outcome | undefined>();
  for (const key of moved) {
    const member = find(members, key);
    outcomes.set(key, member === undefined ? undefined : partOf(evaluation, shadow, options, member));
  }
  const fold = blank(options.clone?.(main.state), new Map(main.unsettled));
  const dropped = (shadow.dropped = new Set<Node>());
  for (const [key, outcome] of outcomes) {
    const entry: FoldPart = { ...(main.parts.get(key) ?? { edge: undefined, included: false, part: undefined }) };
    if (outcome !== undefined) {
      patchState(options, fold, key, entry, outcome);
      continue;
    }
    if (entry.edge?.source.kind === NODE) dropped.add(entry.edge.source);
    fold.unsettled.delete(key);
    if (entry.included) options.remove(fold.state, key, entry.part);
  }
  return folded(options, fold);
}

function movedMembers(evaluation: Evaluation, node: Node): Set<string> {
  const moved = new Set<string>();
  for (const { source } of evaluation.reach.suspects.get(node) ?? []) {
    if (source.kind === NODE) moved.add(source.key);
    else if (source.kind === QUERY) for (const key of evaluation.reach.moved.get(source) ?? []) moved.add(key);
  }
  return moved;
}

function partOf(evaluation: Evaluation, shadow: Shadow, options: Options, { key, value }: Seen): Outcome {
  if (isProjection(options.part)) return projected(options.part, value, key);
  const child = forkNode(evaluation, options.part as unknown as DerivationState, key);
  shadow.reads.add(child);
  if (isRunning(evaluation, child)) return { state: HAS_ERROR, value: closeForkCycle(evaluation, child).error };
  const { state, value: part } = outcomeOf(evaluation, child);
  if (isIncompleteIn(evaluation, child)) shadow.incomplete = true;
  return { state, value: part };
}

function blank(state: unknown, unsettled: Map<string, Outcome>): FoldState {
  return {
    state,
    parts: new Map(),
    unsettled,
    left: new Map(),
    blamed: new Map(),
    spoiling: new Set(),
    moved: new Set(),
    stale: false,
  };
}

function find(members: readonly Seen[], key: string): Seen | undefined {
  let low = 0;
  let high = members.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((members[middle] as Seen).key < key) low = middle + 1;
    else high = middle;
  }
  return members[low]?.key === key ? members[low] : undefined;
}
