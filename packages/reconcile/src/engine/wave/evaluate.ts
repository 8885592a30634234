import { equal, freezeDeep, share } from '@capstan/kube/cluster';
import { asError, settledResult } from '../../guard.ts';
import type { Projection } from '../engine-types.ts';
import { EngineErrors } from '../graph/errors.ts';
import {
  type Cycle,
  type DerivationState,
  FRESH,
  FRESH_OUTCOME,
  type Graph,
  HAS_ERROR,
  HAS_VALUE,
  INCOMPLETE,
  IS_SUSPENDED,
  MODE,
  type Node,
  nodeName,
  type Outcome,
  RETAINED,
  SETTLED,
} from '../graph/model.ts';
import { nodesInCycles, setCycle, shortestCycle } from './cycle.ts';
import { enqueue, mark, takeUp } from './schedule.ts';

/** Runs a node and settles its result; false when the run has to be repeated later in the wave. */
export function evaluate(graph: Graph, node: Node): boolean {
  takeUp(graph, node);
  if (node.ran === graph.wave.number) {
    const times = (graph.wave.rerun.get(node) ?? 1) + 1;
    graph.wave.rerun.set(node, times);
    if (times > graph.maxRuns) {
      setCycle(graph, node, undefined);
      settle(graph, node, HAS_ERROR, EngineErrors.unsettled(nodeName(node), graph.maxRuns));
      return true;
    }
  }
  graph.depth++;
  const run = node.derivation.attempt(graph, node);
  graph.depth--;
  if (run.restart) {
    graph.wave.restarts++;
    enqueue(graph, node);
    return false;
  }
  node.ran = graph.wave.number;
  graph.wave.runs++;
  // Members above that still run have not linked their reads: then the cycle as it was met has to do for now.
  const cycle = run.cycled === undefined ? undefined : (shortestCycle(node) ?? run.cycled);
  setCycle(graph, node, cycle);
  setIncomplete(graph, node, run.incomplete);
  if (cycle === undefined) settle(graph, node, run.resultState, run.result);
  else settleAs(graph, node, cycleOutcome(node.derivation, cycle));
  graph.recorder?.ran(node);
  return true;
}

/** Gives every node in a cycle its canonical one; true when something has to run again for it. */
export function settleCycles(graph: Graph): boolean {
  let changed = false;
  if (graph.cyclic.size === 0) return false;
  for (const node of new Set([...graph.cyclic, ...nodesInCycles(graph.cyclic)])) {
    const cycle = shortestCycle(node);
    if (cycle !== undefined && cycle.canonical === node.cycle?.canonical) continue;
    if (node.first === undefined && node.holds === 0) continue;
    changed = true;
    if (cycle === undefined) {
      enqueue(graph, node);
      continue;
    }
    node.cycle = cycle;
    graph.cyclic.add(node);
    settleAs(graph, node, cycleOutcome(node.derivation, cycle));
    graph.recorder?.ran(node);
  }
  return changed;
}

/** Returns the result of a node that takes part in a cycle. */
export function cycleOutcome({ onCycle }: DerivationState, cycle: Cycle): Outcome {
  if (onCycle === undefined) return { state: HAS_ERROR, value: cycle.error };
  try {
    return { state: HAS_VALUE, value: settledResult('onCycle', onCycle(cycle.names)) };
  } catch (error) {
    return { state: HAS_ERROR, value: asError(error) };
  }
}

function settleAs(graph: Graph, node: Node, { state, value }: Outcome): void {
  settle(graph, node, state, value);
}

function settle(graph: Graph, node: Node, state: number, result: unknown): void {
  const { state: beforeState, value: before } = node;
  let value = result;
  if (state === beforeState) {
    if (state === HAS_VALUE) {
      try {
        value = sharedResult(node.derivation, before, result);
      } catch (error) {
        settle(graph, node, HAS_ERROR, EngineErrors.notComparable(nodeName(node), error));
        return;
      }
      if (value === before) return cutOff(graph);
    } else if (sameFailure(state, before, result)) return cutOff(graph);
  }
  if (graph.freeze && state === HAS_VALUE) freezeDeep(value);
  if (!graph.wave.changed.has(node)) {
    if (beforeState !== FRESH) graph.wave.changed.set(node, { state: beforeState, value: before });
    else if (node.derivation.sink) graph.wave.changed.set(node, FRESH_OUTCOME);
  }
  node.state = state;
  node.value = value;
  if (node.first !== undefined) wakeReaders(graph, node, beforeState, before);
}

/** Returns the result with equal parts shared with the former one, or the former one itself if all is equal. */
export function sharedResult({ name, equals }: DerivationState, before: unknown, result: unknown): unknown {
  if (equals === undefined) return share(before, result);
  return settledResult(`equals of ${name}`, equals(before, result)) ? before : result;
}

/** A result that lacks something moves its readers, also where it is equal: they may remove nothing meanwhile. */
function setIncomplete(graph: Graph, node: Node, incomplete: boolean): void {
  if (incomplete === ((node.flags & INCOMPLETE) !== 0)) return;
  node.flags ^= INCOMPLETE;
  for (let edge = node.first; edge !== undefined; edge = edge.next)
    if ((edge.mode & RETAINED) === 0) mark(graph, edge.reader, node);
}

function cutOff(graph: Graph): void {
  graph.wave.cutoffs++;
}

/** Errors are equal by message, so that a fresh error object for the same failure moves nothing. */
export function sameFailure(state: number, before: unknown, after: unknown): boolean {
  if (state === HAS_ERROR) return (before as Error).message === (after as Error).message;
  return state === IS_SUSPENDED && equal(before, after);
}

function wakeReaders(graph: Graph, node: Node, beforeState: number, before: unknown): void {
  const comparable = beforeState === HAS_VALUE && node.state === HAS_VALUE;
  let lastProject: Projection | undefined;
  let lastChanged = true;
  for (let edge = node.first; edge !== undefined; edge = edge.next) {
    const { project, reader } = edge;
    if ((edge.mode & RETAINED) !== 0) continue;
    if (comparable && project !== undefined && (edge.mode & MODE) !== SETTLED) {
      if (project !== lastProject) {
        lastProject = project;
        lastChanged = projectionChanged(project, before, node.value, node.key);
      }
      if (!lastChanged) continue;
    }
    if (reader.fold !== undefined) reader.fold.moved.add(node.key);
    mark(graph, reader, node);
  }
}

/** Whether a read through the projection would give something else. One that throws is left to the reader to meet. */
export function projectionChanged(project: Projection, before: unknown, after: unknown, key: string): boolean {
  try {
    const was = before === undefined ? undefined : project(before, key);
    const is = after === undefined ? undefined : project(after, key);
    return !equal(was, is);
  } catch {
    return true;
  }
}
