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

/** The state of a node in the fork. `node` is the main graph's, or a stand-in for one that it does not have. */
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
  /** Shadows that run now, outermost first; those whose runs were given up for a longer chain stay here until they run again. */
  stack: Shadow[];
  /** Runs that are under way within each other, each with frames of the stack. */
  depth: number;
  /** So many of them may be. */
  readonly deepest: number;
  /** The node that has to be evaluated first, when the chain above it is too long: all runs are given up. */
  first: Node | undefined;
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

/** Thrown through computations when a chain is too long for the stack; only `Evaluation.first` counts. */
export const GIVEN_UP = new Error(
  'the chain of reads is too long for one run; the engine repeats the runs from its lower end',
);

/** The outcome of a node in the fork. Must not be asked of a node that is running: see `isRunning`. */
export function outcomeOf(evaluation: Evaluation, node: Node): Outcome {
  const known = evaluation.shadows.get(node);
  if (known?.outcome !== undefined) return known.outcome;
  const isNew = node.derivation.nodes.get(node.key) !== node;
  // An object may wait for its turn in the main graph.
  if (!isNew && node.state !== FRESH && !evaluation.reach.suspects.has(node)) return node;
  if (evaluation.depth >= evaluation.deepest) {
    evaluation.first = node;
    throw GIVEN_UP;
  }
  const shadow = begin(evaluation, node, isNew);
  return evaluation.depth > 0 ? run(evaluation, shadow) : runFromBelow(evaluation, shadow);
}

function begin({ shadows, stack }: Evaluation, node: Node, isNew: boolean): Shadow {
  const shadow: Shadow = { node, isNew, running: true, outcome: undefined, cycled: undefined, ...noReads() };
  shadows.set(node, shadow);
  stack.push(shadow);
  return shadow;
}

function noReads(): Pick<Shadow, 'ran' | 'reads' | 'dropped' | 'noted' | 'incomplete'> {
  return { ran: false, reads: new Set(), dropped: undefined, noted: undefined, incomplete: false };
}

/** Runs a shadow that no other one reads, and before it the lower parts of chains that are too long for the stack. */
function runFromBelow(evaluation: Evaluation, outermost: Shadow): Outcome {
  for (let shadow = outermost; ; ) {
    try {
      const outcome = run(evaluation, shadow);
      if (shadow === outermost) return outcome;
      shadow = evaluation.stack.at(-1) as Shadow;
      // It was given up, and reads again; in a cycle it keeps the reads that led there.
      if (shadow.cycled === undefined) Object.assign(shadow, noReads());
    } catch (error) {
      const { first } = evaluation;
      if (error !== GIVEN_UP || first === undefined) throw error;
      evaluation.first = undefined;
      shadow = begin(evaluation, first, first.derivation.nodes.get(first.key) !== first);
    }
  }
}

/** Runs the shadow on top of the stack. */
function run(evaluation: Evaluation, shadow: Shadow): Outcome {
  evaluation.depth++;
  try {
    shadow.outcome = evaluated(evaluation, shadow);
  } finally {
    evaluation.depth--;
  }
  shadow.running = false;
  evaluation.stack.pop();
  return shadow.outcome;
}

function evaluated(evaluation: Evaluation, shadow: Shadow): Outcome {
  const { node, isNew } = shadow;
  const suspects = evaluation.reach.suspects.get(node);
  const isCyclic = node.cycle !== undefined || shadow.cycled !== undefined;
  if (!isNew && node.state !== FRESH && !isCyclic && !suspects?.some((edge) => hasChanged(evaluation, edge)))
    return node;
  shadow.ran = true;
  const result = evaluation.run(evaluation, shadow);
  // A computation may have caught the error.
  if (evaluation.first !== undefined) throw GIVEN_UP;
  return settle(shadow, result);
}

/** Whether the result of a node in the fork is incomplete. */
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
