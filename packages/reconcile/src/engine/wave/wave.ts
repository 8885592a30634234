// A wave: close the intake, take in, run by height, dispose, publish. It is a generator that may be paused after every object and every
// node. Changes during a pause wait for the next wave, so a wave sees one snapshot.
import { equal } from '@capstan/kube/cluster';
import type { Change, Wave } from '../engine-types.ts';
import { EngineErrors } from '../graph/errors.ts';
import { announceFaults } from '../graph/fault.ts';
import {
  DISPOSED,
  FRESH,
  FRESH_OUTCOME,
  type Graph,
  HAS_VALUE,
  type Newcomer,
  type Node,
  type Outcome,
  type WaveRecord,
} from '../graph/model.ts';
import { chooseAgain } from '../graph/query.ts';
import { settledOf } from '../graph/settled.ts';
import { causesOf } from './causes.ts';
import { announceDemand } from './demand.ts';
import { collectIdle, forgetRetired } from './dispose.ts';
import { evaluate, sameFailure, settleCycles } from './evaluate.ts';
import { closeIntake, intake } from './intake.ts';
import { next } from './schedule.ts';

export function flushSync(graph: Graph): Wave {
  if (graph.running) throw EngineErrors.busy('flushSync was called');
  const steps = runWave(graph);
  for (;;) {
    const step = steps.next();
    if (step.done) return finish(graph, step.value);
  }
}

/** The same in slices: other work of the process goes on at least every `sliceMs`. */
export async function flush(graph: Graph): Promise<Wave> {
  const { clock, sliceMs } = graph;
  const steps = runWave(graph);
  let deadline = clock.now() + sliceMs;
  for (;;) {
    const step = steps.next();
    if (step.done) return finish(graph, step.value);
    if (clock.now() < deadline) continue;
    await clock.yield();
    deadline = clock.now() + sliceMs;
  }
}

export function newWaveRecord(number: number): WaveRecord {
  return {
    number,
    cells: new Map(),
    queries: new Map(),
    changed: new Map(),
    runs: 0,
    cutoffs: 0,
    restarts: 0,
    rerun: new Map(),
    triggers: new Map(),
    causes: new Map(),
    newcomersUntil: undefined,
    newcomersRan: false,
  };
}

function finish(graph: Graph, wave: Wave): Wave {
  announceFaults(graph);
  announceDemand(graph);
  return wave;
}

function* runWave(graph: Graph): Generator<void, Wave> {
  graph.running = true;
  try {
    graph.pending = false;
    graph.depth = 0;
    const started = graph.clock.now();
    const record = newWaveRecord(graph.wave.number + 1);
    graph.wave = record;
    graph.onTime?.(started);
    graph.recorder?.waveBegins(record.number, started);
    closeIntake(graph);
    const { operations } = graph;
    graph.operations = [];
    for (const operation of operations) operation();
    for (const table of graph.tables) yield* intake(graph, table);
    for (const bucket of graph.grown) chooseAgain(graph, bucket);
    graph.grown.clear();
    do {
      do {
        for (let node = next(graph); node !== undefined; node = next(graph)) {
          evaluate(graph, node);
          yield;
        }
      } while (settleCycles(graph));
    } while (yield* runNewcomers(graph, record));
    graph.low = 0;
    yield* collectIdle(graph);
    if (graph.retired.size > 0) forgetRetired(graph);
    const changes = yield* publish(graph, record);
    graph.runs += record.runs;
    graph.recorder?.waveEnded();
    return {
      number: record.number,
      changes,
      runs: record.runs,
      cutoffs: record.cutoffs,
      restarts: record.restarts,
      ms: graph.clock.now() - started,
    };
  } finally {
    graph.onTime?.(undefined);
    graph.running = false;
  }
}

/** The number of slices in which a wave runs new nodes while changes wait for the next one. */
const NEWCOMERS_SLICES = 2;

/**
 * Runs nodes of new objects, once all others are settled. When changes are waiting they take turns: an edit of one object is not held
 * up by thousands that were just created, which go on in the next waves. Returns whether one ran.
 */
function* runNewcomers(graph: Graph, record: WaveRecord): Generator<void, boolean> {
  const { newcomers } = graph;
  record.newcomersUntil ??= graph.clock.now() + NEWCOMERS_SLICES * graph.sliceMs;
  const allowed = graph.replay?.newcomers();
  let at = 0;
  for (; at < newcomers.length; at++) {
    const hadTurn = at >= graph.leastNewcomers || record.newcomersRan;
    const isOver = hadTurn && graph.pending && graph.clock.now() >= record.newcomersUntil;
    if (allowed === undefined ? isOver : at >= allowed) break;
    const { node, event } = newcomers[at] as Newcomer;
    const isHeld = (node.flags & DISPOSED) === 0 && (node.holds > 0 || node.first !== undefined);
    if (node.state !== FRESH || !isHeld) continue;
    if (!record.cells.has(event.cell)) record.cells.set(event.cell, event);
    record.triggers.set(node, event.cell);
    evaluate(graph, node);
    yield;
  }
  newcomers.splice(0, at);
  graph.recorder?.newcomers(at);
  record.newcomersRan = true;
  return at > 0;
}

function* publish(graph: Graph, record: WaveRecord): Generator<void, Change[]> {
  const changed = new Map<number, [Node, Outcome][]>();
  for (const entry of record.changed) {
    const { id, sink } = entry[0].derivation;
    if (!sink) continue;
    const group = changed.get(id);
    if (group === undefined) changed.set(id, [entry]);
    else group.push(entry);
  }
  const changes: Change[] = [];
  for (const [, group] of [...changed].sort(([a], [b]) => a - b)) {
    for (const [node, before] of group.sort(([a], [b]) => compareChanges(a, b))) {
      const after = (node.flags & DISPOSED) === 0 ? node : FRESH_OUTCOME;
      if (!isSame(node, before, after)) changes.push(new SinkChange(graph, record, node, before, after));
      yield;
    }
  }
  return changes;
}

/** A node may have changed there and back. */
export function isSame(node: Node, before: Outcome, after: Outcome): boolean {
  if (before.state !== after.state) return false;
  if (before.state !== HAS_VALUE) return before === after || sameFailure(before.state, before.value, after.value);
  try {
    return (node.derivation.equals ?? equal)(before.value, after.value);
  } catch {
    return false;
  }
}

/** A class, because an object with a getter of its own is several times as large, and a first wave has one for every key. */
class SinkChange implements Change {
  readonly derivation: Change['derivation'];
  readonly key: string;
  readonly before: Change['before'];
  readonly after: Change['after'];
  private readonly graph: Graph;
  private readonly record: WaveRecord;
  private readonly node: Node;
  private found: Change['causes'] | undefined;

  constructor(graph: Graph, record: WaveRecord, node: Node, before: Outcome, after: Outcome) {
    this.derivation = node.derivation;
    this.key = node.key;
    this.before = settledOf(before);
    this.after = settledOf(after);
    this.graph = graph;
    this.record = record;
    this.node = node;
    this.found = undefined;
  }

  get causes(): Change['causes'] {
    this.found ??= this.graph.wave === this.record ? causesOf(this.graph, this.record, this.node) : [];
    return this.found;
  }
}

/** Changes come by derivation, in the order of their making, then by key. */
export function compareChanges(a: Node, b: Node): number {
  return a.derivation.id - b.derivation.id || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}
