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
import {
  DISPOSED,
  FRESH,
  type Graph,
  HAS_VALUE,
  MARK_UNKNOWN,
  type Node,
  type TableState,
} from '../engine/graph/model.ts';
import { cellFor } from '../engine/graph/table.ts';
import type { EngineReplay, RecordedOutcome, RecordedRead } from '../engine/index.ts';
import { enqueue } from '../engine/wave/schedule.ts';
import type { Operator } from '../operator.ts';
import { createRuntime, type Runtime } from '../runtime/runtime.ts';
import { applyDelta, type Delta } from './delta.ts';
import type {
  HistoryHeader,
  HistoryInput,
  HistoryLine,
  HistoryResult,
  HistoryWave,
  SnapshotCell,
  WrittenAs,
} from './history.ts';
import type { RecordedWorld, ReplayDriver, RuntimeReplay } from './hooks.ts';
import { movedReads, readName } from './moved-reads.ts';
import { outcomeDigest } from './recorder.ts';
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
  const names = new Map<number, { name: string; nth: number }>();
  const derivations = new Map<number, { name: string; owner: string | undefined }>();
  /** Live tables by name, in the order in which they were created. */
  const order = new Map<string, TableState[]>();
  /** The first content of tables that do not exist yet. */
  const fills = new Map<string, Fill>();
  /** The values to which deltas apply. A delta shares the parts that it leaves as they are, so that a change costs its size. */
  const baseline = new Map<number, Map<string, unknown>>();
  const origins = new Map<string, WrittenAs>();
  const results = new Map<string, { outcome: RecordedOutcome; reads: readonly RecordedRead[] }>();
  const worlds = new Map<string, RecordedWorld>();
  let notRun = 0;
  let isInSnapshot = false;
  const atStart: (() => void)[] = [];
  let hasBegun = false;
  let ran = new Set<Node>();
  let gone = new Set<Node>();
  /** The last wave of each input, as `table/key`, and of each table; and that in which a node ran. */
  const enteredAt = new Map<string, number>();
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
    tableCreated(table) {
      const named = order.get(table.name) ?? [];
      const id = fillId(table.name, named.length);
      order.set(table.name, [...named, table]);
      const fill = fills.get(id);
      if (fill === undefined) return;
      fills.delete(id);
      fillTable(table, fill);
    },
    newcomers: () => (newcomers.length > 0 ? newcomers.shift() : undefined),
    outcome(node) {
      const recorded = results.get(idOfNode(node));
      if (recorded !== undefined) notRun++;
      return recorded;
    },
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
    const table = world === '' ? kindId(kind) : `${world}/${kindId(kind)}`;
    return origins.get(`${table} ${keyOfObject(view)}`);
  }

  function setOrigin(table: string, key: string, as: WrittenAs | undefined): void {
    if (as === undefined) origins.delete(`${table} ${key}`);
    else origins.set(`${table} ${key}`, as);
  }

  function known(id: number, key: string, value: unknown): unknown {
    const values = baseline.get(id) ?? new Map<string, unknown>();
    baseline.set(id, values.set(key, freezeDeep(value)));
    return value;
  }

  function tableOf(id: number): { table: TableState | undefined; name: string; nth: number } {
    const named = names.get(id) ?? { name: `table ${id}`, nth: 0 };
    return { table: order.get(named.name)?.[named.nth], ...named };
  }

  function fillOf(name: string, nth: number): Fill {
    const id = fillId(name, nth);
    const fill = fills.get(id) ?? { name, cells: new Map(), isSynced: false };
    fills.set(id, fill);
    return fill;
  }

  function enter(input: HistoryInput): void {
    const { table, name, nth } = tableOf(input[0]);
    if (input.length === 2) {
      if (table === undefined) fillOf(name, nth).isSynced = input[1] === 1;
      else {
        table.incomingSynced = input[1] === 1;
      }
      return;
    }
    const [id, key, how, given, as] = input;
    let value: unknown;
    if (how === 0) baseline.get(id)?.delete(key);
    else if (how === 1) value = known(id, key, unpack(given));
    else value = known(id, key, applyDelta(baseline.get(id)?.get(key), unpack(given) as Delta));
    setOrigin(name, key, as);
    enteredAt.set(`${name}/${key}`, wave).set(name, wave);
    const incoming = { value, mark: how === 0 ? given : 0 };
    if (table === undefined) fillOf(name, nth).cells.set(key, incoming);
    else table.incoming.set(key, incoming);
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

  function cell({ table: id, key, mark, value, as }: SnapshotCell): void {
    const { name, nth } = tableOf(id);
    const restored = value === undefined ? undefined : known(id, key, unpack(value));
    setOrigin(name, key, as);
    if (!hasBegun) fillOf(name, nth).cells.set(key, { value: restored, mark });
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
      movedSince: (since) => movedReads(node, { ranAt, enteredAt, since }),
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
    if ('table' in line) names.set(line.table, { name: line.name, nth: line.nth });
    else if ('derivation' in line) derivations.set(line.derivation, { name: line.name, owner: line.owner });
    else if ('snapshot' in line) return snapshot(line);
    else if ('cell' in line) cell(line.cell);
    else if ('result' in line) {
      if (!hasBegun) result(line.result);
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
      baseline.clear();
      if (hasBegun) reorder();
      else for (const id of line.synced) fillOf(tableOf(id).name, tableOf(id).nth).isSynced = true;
      at = hasBegun ? at : line.at;
      wave = hasBegun ? wave : line.wave;
      return undefined;
    }
    if (hasBegun) return undefined;
    hasBegun = true;
    // Tables of clusters are filled as they are created, so these come when all of the snapshot is known. Others are there already.
    for (const [name, tables] of order)
      for (const [nth, table] of tables.entries()) {
        const fill = fills.get(fillId(name, nth));
        if (fill !== undefined) fillTable(table, fill);
        fills.delete(fillId(name, nth));
      }
    for (const step of atStart) step();
    return beginAtSnapshot();
  }

  /** From a snapshot on, the count of tables restarts. */
  function reorder(): void {
    order.clear();
    for (const table of graph?.tables ?? []) order.set(table.name, [...(order.get(table.name) ?? []), table]);
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
    for (const input of line.inputs ?? []) enter(input);
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
    unknownTables: () => [...new Set([...fills.values()].map(({ name }) => name))].toSorted(),
  };
}

interface Fill {
  readonly name: string;
  readonly cells: Map<string, { value: unknown; mark: number }>;
  isSynced: boolean;
}

/** Before anything has read it. */
function fillTable(table: TableState, fill: Fill): void {
  for (const [key, { value, mark }] of fill.cells) {
    const cell = cellFor(table, key);
    cell.value = freezeDeep(value);
    cell.mark = mark;
    if (value !== undefined) table.values++;
    if (mark === MARK_UNKNOWN) table.unknown.add(key);
  }
  table.synced = fill.isSynced;
  table.incomingSynced = fill.isSynced;
}

function fillId(name: string, nth: number): string {
  return `${nth} ${name}`;
}
