import type {
  Derivation,
  DerivationOptions,
  Engine,
  EngineOptions,
  Explanation,
  Index,
  Settled,
} from './engine-types.ts';
import { explainNode, graphStats } from './explain.ts';
import { attemptFold } from './fold.ts';
import { createFork } from './fork/fork.ts';
import { EngineErrors } from './graph/errors.ts';
import { type DerivationState, DISPOSED, type Graph } from './graph/model.ts';
import { requestWave } from './graph/pending.ts';
import { settledOf } from './graph/settled.ts';
import { createTable, tableState } from './graph/table.ts';
import { inputsOf } from './inputs.ts';
import { readersOfCell, readersOfNode, readingsOf, tableChanges } from './readers.ts';
import { attemptReplayed } from './wave/replayed.ts';
import { createEach, createHold } from './wave/root.ts';
import { attemptRun } from './wave/run.ts';
import { enqueue } from './wave/schedule.ts';
import { flush, flushSync, newWaveRecord } from './wave/wave.ts';

/**
 * The incremental engine: tables of plain data, derivations whose reads are recorded, and waves that run exactly the derivations that a
 * change concerns. It knows nothing of Kubernetes. One thread; computations are synchronous and pure.
 */
export function createEngine(options: EngineOptions): Engine {
  const graph = newGraph(options);
  options.recorder?.attach(graph);
  options.replay?.attach(graph);
  let flushing: Promise<unknown> = Promise.resolve();
  const engine: Engine = {
    table: (tableOptions) => createTable(graph, tableOptions),
    index: <V>(table: Index<V>['table'], name: string, keysOf: Index<V>['keysOf']): Index<V> => {
      const { indexNames } = tableState(table);
      if (indexNames.has(name)) throw EngineErrors.indexExists(table.name, name);
      indexNames.add(name);
      return { name, table, keysOf };
    },
    derive: <R>(declaration: DerivationOptions<R>) => newDerivation(graph, declaration, attemptRun),
    fold: (fold) => {
      const derivation = newDerivation(graph, { ...pick(fold), compute: () => undefined }, attemptFold);
      derivation.fold = fold as unknown as DerivationState['fold'];
      return derivation;
    },
    each: (table, where, derivation) => createEach(graph, tableState(table), where, stateOf(derivation)),
    hold: (derivation, key) => createHold(graph, stateOf(derivation), key),
    invalidate(derivation, key) {
      if (graph.replay !== undefined) return;
      graph.recorder?.invalidated(stateOf(derivation), key);
      graph.operations.push(() => {
        const node = stateOf(derivation).nodes.get(key);
        if (node === undefined || (node.flags & DISPOSED) !== 0) return;
        if (node.fold !== undefined) node.fold.stale = true;
        enqueue(graph, node);
      });
      requestWave(graph);
    },
    retire(...handles) {
      for (const handle of handles) {
        if ('put' in handle) graph.retired.add(tableState(handle));
        else graph.retired.add(stateOf(handle));
      }
      requestWave(graph);
    },
    flush() {
      const next = flushing.then(() => flush(graph));
      const over = () => undefined;
      flushing = next.then(over, over);
      return next;
    },
    between(use) {
      const next = flushing.then(use);
      const over = () => undefined;
      flushing = next.then(over, over);
      return next;
    },
    flushSync: () => flushSync(graph),
    tableChanges: () => tableChanges(graph),
    forgetWave() {
      if (!graph.running) graph.wave = newWaveRecord(graph.wave.number);
    },
    valueOf: (derivation, key) => valueOf(graph, derivation, key),
    keysOf: (derivation) => keysOf(derivation),
    fork: (noted, deepest) => createFork(graph, noted, deepest),
    stats: () => graphStats(graph),
    get newcomers() {
      return graph.newcomers.length;
    },
    explain: (derivation, key): Explanation | undefined => explainNode(stateOf(derivation), key),
    readsOf: (derivation, key) => readingsOf(graph, stateOf(derivation), key),
    readersOf: (source, key) =>
      'put' in source ? readersOfCell(graph, tableState(source), key) : readersOfNode(stateOf(source), key),
    inputs: (derivation, key) => inputsOf(graph, stateOf(derivation), key),
  };
  return engine;
}

function stateOf(derivation: Derivation<unknown>): DerivationState {
  return derivation as unknown as DerivationState;
}

function keysOf(derivation: Derivation<unknown>): string[] {
  return [...stateOf(derivation).nodes.keys()];
}

/** While a wave runs, the former value counts. */
function valueOf<R>(graph: Graph, derivation: Derivation<R>, key: string): Settled<R> | undefined {
  const node = stateOf(derivation).nodes.get(key);
  if (node === undefined) return undefined;
  const before = graph.running ? graph.wave.changed.get(node) : undefined;
  return settledOf(before ?? node) as Settled<R> | undefined;
}

function newDerivation<R>(
  graph: Graph,
  declaration: DerivationOptions<R>,
  attempt: DerivationState['attempt'],
): DerivationState {
  const { name, equals, onCycle } = declaration;
  const derivation: DerivationState = {
    id: graph.nextId++,
    name,
    nodes: new Map(),
    compute: (key, read, previous) => declaration.compute(key, read, previous),
    attempt: graph.replay === undefined ? attempt : (of, node) => attemptReplayed(of, node, attempt),
    equals: equals?.bind(declaration) as DerivationState['equals'],
    owner: declaration.owner,
    sink: declaration.sink ?? false,
    onCycle: onCycle?.bind(declaration),
    fold: undefined,
    remembers: false,
  };
  graph.derivations.push(derivation);
  return derivation;
}

function pick(fold: { name: string; equals?: unknown; sink?: boolean; owner?: string }): {
  name: string;
  sink: boolean;
} {
  const { name, sink = false, owner } = fold;
  return {
    name,
    sink,
    ...(owner === undefined ? {} : { owner }),
    ...(fold.equals === undefined ? {} : { equals: fold.equals }),
  };
}

function newGraph(options: EngineOptions): Graph {
  return {
    clock: options.clock,
    sliceMs: options.sliceMs ?? 10,
    leastNewcomers: options.leastNewcomers ?? 64,
    freeze: options.freeze ?? true,
    retain: options.retain ?? true,
    maxRuns: options.maxRuns ?? 100,
    onPending: options.onPending?.bind(options),
    warn: (message) => options.onWarning?.(message),
    onFault: options.onFault?.bind(options),
    faults: new Map(),
    accused: new Set(),
    announced: new Map(),
    sensitiveDigest: options.sensitiveDigest?.bind(options),
    onTime: options.onTime?.bind(options),
    recorder: options.recorder,
    replay: options.replay,
    digests: new WeakMap(),
    tables: [],
    derivations: [],
    nextId: 0,
    retired: new Set(),
    active: undefined,
    nextRun: 0,
    nextEvent: 0,
    predicateIds: new WeakMap(),
    nextPredicate: 0,
    pending: false,
    operations: [],
    newcomers: [],
    queue: [],
    low: 0,
    height: 0,
    depth: 0,
    influencers: 0,
    running: false,
    wave: newWaveRecord(0),
    idleNodes: [],
    idleQueries: [],
    cyclic: new Set(),
    retaining: new Set(),
    released: false,
    grown: new Set(),
    demandKeys: new Map(),
    demandLists: new Map(),
    edges: 0,
    predicateEvaluations: 0,
    runs: 0,
  };
}
