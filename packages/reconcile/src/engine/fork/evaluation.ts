// One evaluation of a fork, by pulling: a node's outcome is asked for, and found in the main graph unless the overlay
// reaches it. Nodes that run leave a shadow; nodes that the main graph does not have are shadows only.
import { EngineErrors } from '../graph/errors.ts';
import {
  CELL,
  type Cycle,
  type DerivationState,
  type Edge,
  FRESH,
  type Graph,
  HAS_ERROR,
  HAS_VALUE,
  INCOMPLETE,
  MODE,
  NODE,
  type Node,
  nodeName,
  type Outcome,
  QUERY,
  SETTLED,
  type TableState,
} from '../graph/model.ts';
import { canonicalCycle } from '../wave/cycle.ts';
import { cycleOutcome, projectionChanged, sameFailure, sharedResult } from '../wave/evaluate.ts';
import { newNode } from '../wave/read-node.ts';
import type { View } from './overlay.ts';
import type { Reach } from './reach.ts';

/** What became of a node in the fork. `node` is the main graph's, or a stand-in for one that it does not have. */
export interface Shadow {
  node: Node;
  isNew: boolean;
  outcome: Outcome | undefined;
  running: boolean;
  /** Whether it ran; otherwise the main graph's outcome and reads hold. */
  ran: boolean;
  /** Nodes that it read in its run. A fold lists those that it reads in addition, and those no longer. */
  reads: Set<Node>;
  dropped: Set<Node> | undefined;
  /** Keys of noted tables that it read. */
  noted: Map<TableState, Set<string>> | undefined;
  cycled: Cycle | undefined;
  /** Something was left out because a function of an author failed on it. */
  incomplete: boolean;
}

export interface Evaluation {
  graph: Graph;
  view: View;
  reach: Reach;
  shadows: Map<Node, Shadow>;
  created: Map<DerivationState, Map<string, Node>>;
  /** Shadows that run now, outermost first. */
  stack: Shadow[];
  /** Tables whose reads are remembered. */
  noting: ReadonlySet<TableState>;
  /** The run that may read now. */
  active: object | undefined;
  /** Runs a node's computation in the fork. */
  run: (evaluation: Evaluation, shadow: Shadow) => Outcome;
}

/** The node of a key: the main graph's, or a stand-in. */
export function forkNode(evaluation: Evaluation, derivation: DerivationState, key: string): Node {
  const main = derivation.nodes.get(key);
  if (main !== undefined) return main;
  let nodes = evaluation.created.get(derivation);
  if (nodes === undefined) evaluation.created.set(derivation, (nodes = new Map<string, Node>()));
  let node = nodes.get(key);
  if (node === undefined) nodes.set(key, (node = newNode(derivation, key)));
  return node;
}

/** What a node comes to in the fork. Must not be asked of a node that is running: see `isRunning`. */
export function outcomeOf(evaluation: Evaluation, node: Node): Outcome {
  const known = evaluation.shadows.get(node);
  if (known?.outcome !== undefined) return known.outcome;
  const isNew = node.derivation.nodes.get(node.key) !== node;
  // Of an object whose turn has not come in the main graph.
  const isWaiting = node.state === FRESH;
  const suspects = evaluation.reach.suspects.get(node);
  if (!isNew && !isWaiting && suspects === undefined) return node;
  const shadow: Shadow = {
    node,
    isNew,
    outcome: undefined,
    running: true,
    ran: false,
    reads: new Set(),
    dropped: undefined,
    noted: undefined,
    cycled: undefined,
    incomplete: false,
  };
  evaluation.shadows.set(node, shadow);
  evaluation.stack.push(shadow);
  if (isNew || isWaiting || node.cycle !== undefined || suspects?.some((edge) => hasChanged(evaluation, edge))) {
    shadow.ran = true;
    shadow.outcome = settle(shadow, evaluation.run(evaluation, shadow));
  } else {
    shadow.outcome = node;
  }
  shadow.running = false;
  evaluation.stack.pop();
  return shadow.outcome;
}

/** Whether what a node came to in the fork lacks something. */
export function isIncompleteIn({ shadows }: Evaluation, node: Node): boolean {
  const shadow = shadows.get(node);
  return shadow?.ran ? shadow.incomplete : (node.flags & INCOMPLETE) !== 0;
}

export function isRunning(evaluation: Evaluation, node: Node): boolean {
  return evaluation.shadows.get(node)?.running ?? false;
}

/** The run on top has met a node that runs already: all from there on are in a cycle. */
export function closeForkCycle(evaluation: Evaluation, met: Node): Cycle {
  const { stack } = evaluation;
  const members = stack.slice(stack.findIndex(({ node }) => node === met));
  const cycle = canonicalCycle(members.map(({ node }) => node));
  for (const member of members) member.cycled = cycle;
  return cycle;
}

function hasChanged(evaluation: Evaluation, edge: Edge): boolean {
  const { source, project, mode } = edge;
  if (source.kind === CELL || source.kind === QUERY) return true;
  if (source.kind === NODE && isRunning(evaluation, source)) return true;
  const after = outcomeOf(evaluation, source);
  if (after === source) return false;
  if (after.state !== source.state) return true;
  if (after.state !== HAS_VALUE) return !sameFailure(after.state, source.value, after.value);
  if (project === undefined || (mode & MODE) === SETTLED) return after.value !== source.value;
  return projectionChanged(project, source.value, after.value, source.key);
}

/** Gives the main graph's own outcome where the fork comes to the same. */
function settle({ node, isNew, cycled }: Shadow, result: Outcome): Outcome {
  const outcome = cycled === undefined ? result : cycleOutcome(node.derivation, cycled);
  if (isNew || outcome.state !== node.state) return outcome;
  if (outcome.state !== HAS_VALUE) return sameFailure(outcome.state, node.value, outcome.value) ? node : outcome;
  try {
    const value = sharedResult(node.derivation, node.value, outcome.value);
    return value === node.value ? node : { state: HAS_VALUE, value };
  } catch (error) {
    return { state: HAS_ERROR, value: EngineErrors.notComparable(nodeName(node), error) };
  }
}
