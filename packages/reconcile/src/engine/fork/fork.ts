import type { Change, Derivation, Fork, Noted, Settled, Table } from '../engine-types.ts';
import { depsOf } from '../graph/edge.ts';
import { EngineErrors } from '../graph/errors.ts';
import {
  type DerivationState,
  FRESH,
  FRESH_OUTCOME,
  type Graph,
  HAS_VALUE,
  IS_SUSPENDED,
  NODE,
  type Node,
  type Outcome,
  type TableState,
} from '../graph/model.ts';
import { settledOf } from '../graph/settled.ts';
import { tableState } from '../graph/table.ts';
import { DEEPEST } from '../wave/read-node.ts';
import { compareChanges } from '../wave/wave.ts';
import { type Evaluation, forkNode, outcomeOf, type Shadow } from './evaluation.ts';
import { runInFork } from './fork-run.ts';
import { type Liveness, livenessOf } from './liveness.ts';
import { type Overlay, setOverlay } from './overlay.ts';
import { reachOf } from './reach.ts';

/**
 * A preview: the graph as of the last wave, seen through an overlay. It reads the main graph and changes nothing in it,
 * announces no demand and keeps no record; several may live at once, each until the next flush.
 */
export function createFork(graph: Graph, noted: readonly Table<unknown>[] = [], deepest = DEEPEST): Fork {
  const noting = new Set(noted.map(tableState));
  const createdAtWave = graph.wave.number;
  const overlay: Overlay = new Map();
  let current: { evaluation: Evaluation; liveness: Liveness; changes: Change[] } | undefined;
  const check = () => {
    if (graph.running) throw EngineErrors.busy('a preview was used');
    if (graph.wave.number !== createdAtWave) throw EngineErrors.forkStale(createdAtWave, graph.wave.number);
  };
  const evaluated = () => {
    check();
    return (current ??= evaluate(graph, overlay, noting, deepest));
  };
  const change = (table: Parameters<Fork['put']>[0], key: string, value: unknown) => {
    check();
    setOverlay(overlay, tableState(table), key, value);
    current = undefined;
  };
  return {
    put: (table, key, value) => change(table, key, value),
    delete: (table, key) => change(table, key, undefined),
    evaluate: () => [...evaluated().changes],
    valueOf<R>(derivation: Derivation<R>, key: string) {
      const { evaluation, liveness } = evaluated();
      const state = derivation as unknown as DerivationState;
      const node = state.nodes.get(key) ?? evaluation.created.get(state)?.get(key);
      if (node === undefined || !isLive(evaluation, liveness, node)) return undefined;
      return settledOf(outcomeOf(evaluation, node)) as Settled<R> | undefined;
    },
    evaluateKey<R>(derivation: Derivation<R>, key: string) {
      const { evaluation } = evaluated();
      const node = forkNode(evaluation, derivation as unknown as DerivationState, key);
      return settledOf(outcomeOf(evaluation, node)) as Settled<R> | undefined;
    },
    noted(table) {
      const found = [...evaluated().evaluation.shadows.values()].flatMap(({ noted: own }) => [
        ...(own?.get(tableState(table)) ?? []),
      ]);
      return [...new Set(found)];
    },
    notedBy(derivation, key) {
      const { evaluation } = evaluated();
      const state = derivation as unknown as DerivationState;
      const node = state.nodes.get(key) ?? evaluation.created.get(state)?.get(key);
      return node === undefined ? [] : notedBelow(evaluation, node);
    },
    ran(derivation) {
      const { evaluation, liveness } = evaluated();
      const state = derivation as unknown as DerivationState;
      return [...evaluation.shadows.values()].flatMap(({ node, ran }) =>
        ran && node.derivation === state && isLive(evaluation, liveness, node) ? [node.key] : [],
      );
    },
    get unknowns() {
      const { evaluation, liveness } = evaluated();
      const found = new Set<string>();
      for (const { node, outcome } of evaluation.shadows.values()) {
        if (outcome?.state !== IS_SUSPENDED || !isLive(evaluation, liveness, node)) continue;
        for (const unknown of outcome.value as readonly string[]) found.add(unknown);
      }
      return [...found].sort();
    },
  };
}

/** Returns the notes of the node and of all nodes that it reads, as far as they ran in the fork. */
function notedBelow({ shadows }: Evaluation, top: Node): Noted[] {
  const found: Noted[] = [];
  const met = new Set([top]);
  for (const node of met) {
    const shadow = shadows.get(node);
    if (shadow === undefined) continue;
    for (const [{ name }, keys] of shadow.noted ?? []) for (const key of keys) found.push({ table: name, key });
    const reads = shadow.ran
      ? shadow.reads
      : depsOf(node).flatMap(({ source }) => (source.kind === NODE ? [source] : []));
    for (const read of reads) met.add(read);
  }
  return found;
}

function evaluate(graph: Graph, overlay: Overlay, noting: ReadonlySet<TableState>, deepest: number) {
  const view = { overlay, lists: new Map() };
  const evaluation: Evaluation = {
    graph,
    view,
    reach: reachOf(view),
    shadows: new Map(),
    created: new Map(),
    stack: [],
    depth: 0,
    deepest,
    first: undefined,
    noting,
    active: undefined,
    run: runInFork,
  };
  for (const node of evaluation.reach.suspects.keys()) {
    if (node.holds > 0 || node.derivation.sink) outcomeOf(evaluation, node);
  }
  for (const [{ derivation }, key] of evaluation.reach.entered)
    outcomeOf(evaluation, forkNode(evaluation, derivation, key));
  // The nodes that a failed node keeps alive are not pulled by it, and yet would run.
  if (graph.retaining.size > 0 || (graph.retain && [...evaluation.shadows.values()].some(isTroubled))) {
    for (const node of evaluation.reach.suspects.keys()) outcomeOf(evaluation, node);
  }
  const liveness = livenessOf(evaluation);
  return { evaluation, liveness, changes: changesOf(evaluation, liveness) };
}

function isTroubled({ outcome, cycled }: Shadow): boolean {
  return cycled !== undefined || outcome?.state !== HAS_VALUE;
}

/** New nodes have to be reached from a root; those of the main graph are alive unless they were found dead. */
function isLive({ shadows }: Evaluation, { dead, isAlive }: Liveness, node: Node): boolean {
  return shadows.get(node)?.isNew ? isAlive(node) : !dead.has(node);
}

function changesOf(evaluation: Evaluation, liveness: Liveness): Change[] {
  const changes: [Node, Change][] = [];
  for (const { node, isNew, outcome } of evaluation.shadows.values()) {
    if (!node.derivation.sink || outcome === undefined || outcome === node) continue;
    if (isLive(evaluation, liveness, node))
      changes.push([node, newChange(node, isNew ? FRESH_OUTCOME : node, outcome)]);
  }
  for (const node of liveness.dead) {
    if (node.derivation.sink && node.state !== FRESH) changes.push([node, newChange(node, node, FRESH_OUTCOME)]);
  }
  return changes.sort(([a], [b]) => compareChanges(a, b)).map(([, change]) => change);
}

function newChange(node: Node, before: Outcome, after: Outcome): Change {
  return {
    derivation: node.derivation,
    key: node.key,
    before: settledOf(before),
    after: settledOf(after),
    causes: [],
  };
}
