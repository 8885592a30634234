// A runtime that lives in a history: its tables take in the lines of the history, and nothing else. Nothing is watched, fetched, written or
// delivered.
import {
  type Clock,
  freezeDeep,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  type Logger,
  silentLogger,
} from '@capstan/kube/cluster';
import { DISPOSED, FRESH, type Graph, HAS_VALUE, type Node, type TableState } from '../engine/graph/model.ts';
import type { EngineReplay, RecordedOutcome, RecordedRead } from '../engine/index.ts';
import { enqueue } from '../engine/wave/schedule.ts';
import type { Operator } from '../operator.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { type Runtime } from '../runtime/runtime-types.ts';
import type { HistoryHeader, HistoryLine, HistoryPrevious, HistoryResult, HistoryWave, WrittenAs } from './history.ts';
import type { RecordedWorld, ReplayDriver, RuntimeReplay } from './hooks.ts';
import { movedReads, readName } from './moved-reads.ts';
import { outcomeDigest } from './recorder.ts';
import { createReplayTables } from './replay-tables.ts';
import { noServer, SILENT, worldOfHistory } from './replay-world.ts';
import { unpack } from './text.ts';

export interface History {
  readonly header: HistoryHeader;
  readonly lines: readonly HistoryLine[];
}

export interface Replay {
  readonly runtime: Runtime;
  /** The wave that was run last, and its time. */
  readonly wave: number;
  readonly at: number;
  /** The objects of a world as the caches had them, by kind id. */
  objects(world: string): ReadonlyMap<string, readonly KubeObject[]>;
}

/** A change by a wave among the results that are compared. */
export interface Changed {
  readonly value: unknown;
  digest(): string;
  reads(): readonly string[];
  /** Those of them that changed after a wave. */
  movedSince(wave: number): readonly string[];
}

export interface Session extends Replay {
  /** Applies a line; for a wave, returns its changes among the results that are compared. */
  take(line: HistoryLine): ReadonlyMap<string, Changed> | undefined;
  current(id: string): Changed | undefined;
  readonly notRun: number;
  /** Functions whose previous results are not in the snapshot. */
  unrestored(): readonly string[];
  unknownTables(): readonly string[];
}

export interface SessionOptions {
  readonly operators: readonly Operator[];
  readonly logger?: Logger;
  readonly checkPurity?: boolean;
}

export function idName(owner: string | undefined, name: string): string {
  return owner === undefined || name.startsWith(`${owner}.`) ? name : `${owner}: ${name}`;
}

function idOfNode({ derivation, key }: Node): string {
  return `${idName(derivation.owner, derivation.name)}\u0000${key}`;
}

/** The first waves of a replay that begins with a snapshot: keys of sinks are named by others, which takes some. */
const FIRST_WAVES = 20;

export function createSession({ header }: History, options: SessionOptions): Session {
  let graph: Graph | undefined;
  let driver: ReplayDriver | undefined;
  let at = Date.parse(header.started);
  let wave = 0;
  let newcomers: (number | undefined)[] = [];
  const plans = new Set<string>();
  const tables = createReplayTables();
  const derivations = new Map<number, { name: string; owner: string | undefined }>();
  const results = new Map<string, { outcome: RecordedOutcome; reads: readonly RecordedRead[] }>();
  /** Results at the snapshot of functions that look at their previous one, and the names of those that it does not have. */
  const previous = new Map<string, unknown>();
  const lost = new Set<string>();
  const worlds = new Map<string, RecordedWorld>();
  let notRun = 0;
  let isInSnapshot = false;
  const atStart: (() => void)[] = [];
  let hasBegun = false;
  let ran = new Set<Node>();
  let gone = new Set<Node>();
  /** The last wave in which a node ran. */
  const ranAt = new WeakMap<Node, number>();
  /** The last wave in which a result was equal, by node. */
  const shown = new WeakMap<Node, unknown>();

  const clock: Clock = {
    now: () => at,
    after: () => ({ cancel() {} }),
    yield: () => Promise.resolve(),
  };

  const engine: EngineReplay = {
    attach(given) {
      graph = given;
      given.recorder = {
        ...SILENT,
        ran(node) {
          ran.add(node);
          ranAt.set(node, wave);
        },
        disposed: (node) => void gone.add(node),
      };
    },
    tableCreated: (table) => tables.created(table),
    newcomers: () => (newcomers.length > 0 ? newcomers.shift() : undefined),
    outcome(node) {
      const recorded = results.get(idOfNode(node));
      if (recorded !== undefined) notRun++;
      return recorded;
    },
    previous: (node) => (previous.size === 0 ? undefined : previous.get(idOfNode(node))),
  };

  const replay: RuntimeReplay = {
    engine,
    begin(given) {
      driver = given;
    },
    plans: (name) => void plans.add(name),
    world: (world) => worldOfHistory(world, (kind, view) => originOf(world.name, kind, view)),
  };

  const runtime = createRuntime({
    operators: options.operators,
    clock,
    random: () => 0,
    logger: options.logger ?? silentLogger,
    serveFirst: header.serveFirst,
    whole: header.whole,
    replay,
    deliveryHistory: false,
    ...(options.checkPurity && { checkPurity: true }),
  });

  function originOf(world: string, kind: Kind, view: KubeObject): WrittenAs | undefined {
    return tables.originOf(world === '' ? kindId(kind) : `${world}/${kindId(kind)}`, keyOfObject(view));
  }

  function result({ node, key, outcome, reads = [] }: HistoryResult): void {
    const { name, owner } = derivations.get(node) ?? { name: '', owner: undefined };
    const id = `${idName(owner, name)}\u0000${key}`;
    if (outcome === undefined) results.delete(id);
    else {
      const value = outcome.state === 'value' ? { ...outcome, value: unpack(outcome.value) } : outcome;
      results.set(id, { outcome: value, reads });
    }
    graph?.operations.push(() => {
      const found = graph?.derivations.find((one) => one.name === name && one.owner === owner)?.nodes.get(key);
      if (graph === undefined || found === undefined || (found.flags & DISPOSED) !== 0 || found.state === FRESH) return;
      if (found.fold !== undefined) found.fold.stale = true;
      enqueue(graph, found);
    });
  }

  function remember({ node, key, value, lost: isLost }: HistoryPrevious): void {
    const { name, owner } = derivations.get(node) ?? { name: '', owner: undefined };
    if (isLost) lost.add(idName(owner, name));
    else previous.set(`${idName(owner, name)}\u0000${key}`, freezeDeep(unpack(value)));
  }

  function addWorld(world: RecordedWorld): void {
    if (worlds.has(world.name)) return;
    worlds.set(world.name, world);
    runtime.addWorld({ ...world, client: noServer() });
  }

  function runWave(): void {
    ran = new Set();
    gone = new Set();
    driver?.wave();
  }

  function changedOf(): ReadonlyMap<string, Changed> {
    const changed = new Map<string, Changed>();
    const isChecked = ({ derivation }: Node) => derivation.sink || plans.has(derivation.name);
    for (const node of ran) {
      if (!isChecked(node) || (node.flags & DISPOSED) !== 0) continue;
      const mark = node.state === HAS_VALUE ? node.value : `${node.state} ${String(node.value)}`;
      if (shown.has(node) && shown.get(node) === mark) continue;
      shown.set(node, mark);
      changed.set(idOfNode(node), changedNode(node));
    }
    for (const node of gone)
      if (isChecked(node) && shown.has(node))
        changed.set(idOfNode(node), { value: undefined, digest: () => '', reads: () => [], movedSince: () => [] });
    return changed;
  }

  function changedNode(node: Node): Changed {
    const { state, value } = node;
    let digest: string | undefined;
    return {
      value,
      digest: () => (digest ??= outcomeDigest(state, value)),
      reads: () => node.deps.map(readName),
      movedSince: (since) => movedReads(node, { ranAt, enteredAt: tables.enteredAt, since }),
    };
  }

  /** The state before the first wave: everything is evaluated, as it was. */
  function beginAtSnapshot(): ReadonlyMap<string, Changed> {
    const all = new Map<string, Changed>();
    for (let count = 0; count < FIRST_WAVES; count++) {
      runWave();
      const changed = changedOf();
      for (const [id, one] of changed) all.set(id, one);
      if (ran.size === 0) break;
    }
    return all;
  }

  function take(line: HistoryLine): ReadonlyMap<string, Changed> | undefined {
    if ('table' in line) tables.define(line.table, line.name, line.nth);
    else if ('derivation' in line) derivations.set(line.derivation, { name: line.name, owner: line.owner });
    else if ('snapshot' in line) return snapshot(line);
    else if ('cell' in line) tables.cell(line.cell, hasBegun);
    else if ('result' in line) {
      if (!hasBegun) result(line.result);
    } else if ('previous' in line) {
      if (!hasBegun) remember(line.previous);
    } else if ('world' in line) {
      if (!isInSnapshot) addWorld(line.world);
      else if (!hasBegun) atStart.push(() => addWorld(line.world));
    } else if ('gone' in line) {
      worlds.delete(line.gone);
      void runtime.removeWorld(line.gone);
    } else if ('served' in line) {
      if (isInSnapshot && !hasBegun) atStart.push(() => driver?.served());
      else driver?.served();
    } else if ('invalidated' in line) invalidate(line.invalidated, line.key);
    else if ('wave' in line) return runRecorded(line);
    return undefined;
  }

  function snapshot(line: Extract<HistoryLine, { snapshot: string }>): ReadonlyMap<string, Changed> | undefined {
    isInSnapshot = line.snapshot === 'begin';
    if (line.snapshot === 'begin') {
      tables.forget();
      if (hasBegun) tables.reorder(graph);
      else for (const id of line.synced) tables.synced(id);
      at = hasBegun ? at : line.at;
      wave = hasBegun ? wave : line.wave;
      return undefined;
    }
    if (hasBegun) return undefined;
    hasBegun = true;
    // Tables of clusters are filled as they are created, so these come when all of the snapshot is known. Others are there already.
    tables.fill();
    for (const step of atStart) step();
    const changed = beginAtSnapshot();
    // From here on a function has the previous result of the replay, or none.
    previous.clear();
    return changed;
  }

  function invalidate(id: number, key: string): void {
    const { name, owner } = derivations.get(id) ?? {};
    graph?.operations.push(() => {
      const found = graph?.derivations.find((one) => one.name === name && one.owner === owner)?.nodes.get(key);
      if (graph === undefined || found === undefined || (found.flags & DISPOSED) !== 0) return;
      if (found.fold !== undefined) found.fold.stale = true;
      enqueue(graph, found);
    });
  }

  function runRecorded(line: HistoryWave): ReadonlyMap<string, Changed> {
    hasBegun = true;
    wave = line.wave;
    at = line.at;
    for (const one of line.results ?? []) result(one);
    for (const input of line.inputs ?? []) tables.enter(input, wave);
    newcomers = [...(line.newcomers ?? [])];
    runWave();
    return changedOf();
  }

  return {
    runtime,
    get wave() {
      return wave;
    },
    get at() {
      return at;
    },
    get notRun() {
      return notRun;
    },
    objects(world) {
      const kinds = runtime.worlds.get(world)?.kinds ?? [];
      return new Map(
        kinds.map((kind) => {
          const table = runtime.worlds.get(world)?.readTable(kind) ?? runtime.worlds.get(world)?.childTable(kind);
          const cells = (table as unknown as { state: TableState } | undefined)?.state.cells.values() ?? [];
          return [kindId(kind), [...cells].flatMap(({ value }) => (value === undefined ? [] : [value as KubeObject]))];
        }),
      );
    },
    take,
    current(id) {
      const [name = '', key = ''] = id.split('\u0000');
      for (const derivation of graph?.derivations ?? []) {
        if (idName(derivation.owner, derivation.name) !== name) continue;
        const node = derivation.nodes.get(key);
        if (node !== undefined && node.state !== FRESH) return changedNode(node);
      }
      return undefined;
    },
    unrestored: () => [...lost].toSorted(),
    unknownTables: () => tables.unknown(),
  };
}
