// Turns the inputs of the engine into lines of a history. Nothing here waits or writes: a wave costs its changes. Digests of results are
// computed later, in turns, from values that never change.
import { type Clock, sleep } from '@capstan/kube/cluster';
import {
  type DerivationState,
  DISPOSED,
  type Graph,
  HAS_VALUE,
  type Node,
  type TableState,
} from '../engine/graph/model.ts';
import { givenOrigin } from '../worlds/views.ts';
import { type Delta, deltaOf } from './delta.ts';
import type { HistoryInput, HistoryLine, SnapshotCell, WrittenAs } from './history.ts';
import type { RecordedWorld, RuntimeRecorder } from './hooks.ts';
import { createRedactor } from './redact.ts';
import { createSecretResults } from './secret-results.ts';
import { canonicalText, digestText, pack, unpack } from './text.ts';

export interface RecorderOptions {
  clock: Clock;
  /** Takes a line of the history. */
  line(line: HistoryLine): void;
  /** With a key secret content is replaced; without one it is recorded as it is, for an output that is encrypted. */
  redactionKey?: Uint8Array;
  /** Whether digests are computed in the background; false leaves them to `drain`. Default true. */
  inBackground?: boolean;
}

export interface Recorder extends RuntimeRecorder {
  /** Begins anew: the lines of everything that there is now, to be taken in turns. Lines that `line` gets from now on come after them. */
  snapshot(): Generator<HistoryLine>;
  /** Computes the digests that are left. */
  drain(): void;
  readonly wave: number;
}

/** Digests are computed for so long at a time. */
const TURN_MS = 4;
/** Work for the digests may wait for so long. */
const REST_MS = 20;

export function createRecorder(options: RecorderOptions): Recorder {
  const { clock, line } = options;
  const redactor = options.redactionKey === undefined ? undefined : createRedactor(options.redactionKey);
  const secret = redactor && createSecretResults({ redactor, derivationId, graph: () => graph as Graph });
  let graph: Graph | undefined;
  let tables = new Map<TableState, number>();
  let derivations = new Map<DerivationState, number>();
  const order = new Map<string, TableState[]>();
  const worlds = new Map<string, RecordedWorld>();
  const plans = new Set<string>();
  /** Tables whose values are views: the objects that these were built from are named. */
  const written = new Map<TableState, Map<string, WrittenAs>>();
  const digested = new WeakMap<Node, unknown>();
  let waiting: { of: number; node: Node; state: number; value: unknown }[] = [];
  let isDigesting = false;
  let hasServed = false;
  // The state of the running wave.
  let isRunning = false;
  let wave = 0;
  let at = 0;
  let inputs: HistoryInput[] = [];
  let newcomers: number[] = [];
  let ran = new Set<Node>();
  let gone = new Set<Node>();
  let held: HistoryLine[] = [];

  function emit(one: HistoryLine): void {
    if (isRunning) held.push(one);
    else line(one);
  }

  /** The number of a table, and its name at the first use. Definitions take effect at once. */
  function idOf(table: TableState): number {
    const known = tables.get(table);
    if (known !== undefined) return known;
    const id = tables.size;
    tables.set(table, id);
    const nth = (order.get(table.name) ?? []).indexOf(table);
    line({ table: id, name: table.name, nth, ...(table.sensitive && { sensitive: true as const }) });
    return id;
  }

  function derivationId(derivation: DerivationState): number {
    const known = derivations.get(derivation);
    if (known !== undefined) return known;
    const id = derivations.size;
    derivations.set(derivation, id);
    const { name, owner } = derivation;
    line({ derivation: id, name, ...(owner !== undefined && { owner }) });
    return id;
  }

  function packedIn(table: TableState, value: unknown): unknown {
    return table.sensitive && redactor !== undefined ? redactor.content(value) : pack(value).value;
  }

  function entered(
    table: TableState,
    key: string,
    given: unknown,
    before: unknown,
    after: unknown,
    mark: number,
  ): void {
    if (after === undefined) {
      written.get(table)?.delete(key);
      inputs.push([idOf(table), key, 0, mark]);
      return;
    }
    const as = writtenAs(given);
    const known = written.get(table) ?? new Map<string, WrittenAs>();
    if (as !== undefined) written.set(table, known.set(key, as));
    else known.delete(key);
    const end: [WrittenAs?] = as === undefined ? [] : [as];
    const isSecret = table.sensitive && redactor !== undefined;
    if (before === undefined || isSecret) inputs.push([idOf(table), key, 1, packedIn(table, after), ...end]);
    else {
      // The parts that stayed equal are the same objects: only the others are packed.
      const delta: Delta = deltaOf(before, after) ?? [1, {}, []];
      inputs.push([idOf(table), key, 2, packedDelta(delta), ...end]);
    }
  }

  function ended(): void {
    const results = secret?.take(ran) ?? [];
    isRunning = false;
    line({
      wave,
      at,
      ...(inputs.length > 0 && { inputs }),
      ...(results.length > 0 && { results }),
      ...(newcomers.some((count) => count > 0) && { newcomers }),
    });
    for (const one of held) line(one);
    for (const node of ran) if (isChecked(node)) expect(node);
    for (const node of gone) {
      secret?.forget(node);
      if (isChecked(node) && digested.has(node)) waiting.push({ of: wave, node, state: -1, value: undefined });
    }
    inputs = [];
    newcomers = [];
    ran = new Set();
    gone = new Set();
    held = [];
    if (waiting.length > 0 && options.inBackground !== false) void digestInTurns();
  }

  /** A plan, or a delivery to the outside: a replay must repeat it. */
  function isChecked({ derivation }: Node): boolean {
    return derivation.sink || plans.has(derivation.name);
  }

  function expect(node: Node): void {
    if ((node.flags & DISPOSED) !== 0) return;
    const mark = node.state === HAS_VALUE ? node.value : `${node.state} ${String(node.value)}`;
    if (digested.has(node) && digested.get(node) === mark && secret?.of(node) === undefined) return;
    digested.set(node, mark);
    waiting.push({ of: wave, node, state: node.state, value: shownValue(node) });
  }

  function shownValue(node: Node): unknown {
    const outcome = secret?.of(node)?.outcome;
    if (outcome === undefined) return node.value;
    return outcome.state === 'value'
      ? unpack(outcome.value)
      : outcome.state === 'error'
        ? new Error(outcome.message)
        : outcome.waitingFor;
  }

  async function digestInTurns(): Promise<void> {
    if (isDigesting) return;
    isDigesting = true;
    await sleep(clock, REST_MS).catch(() => {});
    while (waiting.length > 0) {
      digestSome(clock.now() + TURN_MS);
      await clock.yield();
    }
    isDigesting = false;
  }

  function digestSome(until: number): void {
    let of = waiting[0]?.of;
    let digests: [number, string, string][] = [];
    let taken = 0;
    const flush = () => {
      if (digests.length > 0 && of !== undefined) line({ digests, of });
      digests = [];
    };
    for (const one of waiting) {
      if (one.of !== of) flush();
      of = one.of;
      taken++;
      const { node, state, value } = one;
      digests.push([derivationId(node.derivation), node.key, state < 0 ? '' : outcomeDigest(state, value)]);
      if (clock.now() >= until) break;
    }
    flush();
    waiting = waiting.slice(taken);
  }

  function* snapshotLines(): Generator<HistoryLine> {
    digestSome(Number.POSITIVE_INFINITY);
    const live = (graph?.tables ?? []).map((table) => ({
      table,
      cells: [...table.cells.values()],
      isSynced: table.synced,
    }));
    const cells = live.map(({ table, cells: all }) => ({
      table,
      cells: all.flatMap(({ key, value, mark }) => (value === undefined && mark === 0 ? [] : [{ key, value, mark }])),
      as: new Map(written.get(table)),
    }));
    // Only tables of the snapshot count from now on, in their order.
    order.clear();
    for (const { table } of live) order.set(table.name, [...(order.get(table.name) ?? []), table]);
    tables = new Map();
    derivations = new Map();
    const lines: HistoryLine[] = [];
    const define = (table: TableState) => {
      const nth = (order.get(table.name) ?? []).indexOf(table);
      const id = tables.size;
      tables.set(table, id);
      lines.push({ table: id, name: table.name, nth, ...(table.sensitive && { sensitive: true as const }) });
    };
    for (const { table } of live) define(table);
    const synced = live.flatMap(({ table, isSynced }) => (isSynced ? [tables.get(table) as number] : []));
    const moment = { wave, at };
    const results = [...(secret?.all() ?? [])].map(([node, result]) => ({ node, result }));
    const checked = (graph?.derivations ?? []).flatMap((derivation) =>
      derivation.sink || plans.has(derivation.name) ? [...derivation.nodes.values()] : [],
    );
    const values = checked
      .filter(({ state }) => state !== 0)
      .map((node) => ({ node, state: node.state, value: shownValue(node) }));
    const remembered = (graph?.derivations ?? [])
      .filter(({ remembers }) => remembers)
      .flatMap((derivation) => [...derivation.nodes.values()])
      .filter((node) => node.state === HAS_VALUE && secret?.of(node) === undefined)
      .map((node) => ({ node, value: node.value }));
    const named = new Set([
      ...results.map(({ node }) => node.derivation),
      ...values.map(({ node }) => node.derivation),
      ...remembered.map(({ node }) => node.derivation),
    ]);
    for (const derivation of named) {
      const id = derivations.size;
      derivations.set(derivation, id);
      lines.push({
        derivation: id,
        name: derivation.name,
        ...(derivation.owner !== undefined && { owner: derivation.owner }),
      });
    }
    const known = [...worlds.values()];
    const ids = { tables, derivations };
    const wasServed = hasServed;
    yield* lines;
    yield { snapshot: 'begin', ...moment, synced };
    for (const world of known) yield { world };
    if (wasServed) yield { served: true };
    for (const { table, cells: all, as } of cells)
      for (const { key, value, mark } of all) {
        const origin = as.get(key);
        const cell: SnapshotCell = {
          table: ids.tables.get(table) as number,
          key,
          mark,
          ...(value !== undefined && { value: packedIn(table, value) }),
          ...(origin !== undefined && { as: origin }),
        };
        yield { cell };
      }
    for (const { node, result } of results)
      yield { result: { ...result, node: ids.derivations.get(node.derivation) as number } };
    for (const { node, value } of remembered) {
      const packed = pack(value, { hasKinds: true });
      const at = { node: ids.derivations.get(node.derivation) as number, key: node.key };
      yield { previous: packed.isWhole ? { ...at, value: packed.value } : { ...at, lost: true } };
    }
    yield { snapshot: 'end', ...moment, synced: [] };
    for (const { node, state, value } of values)
      yield {
        digests: [[ids.derivations.get(node.derivation) as number, node.key, outcomeDigest(state, value)]],
        of: moment.wave,
      };
  }

  return {
    get wave() {
      return wave;
    },
    drain() {
      digestSome(Number.POSITIVE_INFINITY);
    },
    snapshot() {
      const lines = snapshotLines();
      // The present state is taken now; the rest of the work comes with the lines.
      const first = lines.next();
      return (function* () {
        if (!first.done) yield first.value;
        yield* lines;
      })();
    },
    worldAdded(world) {
      worlds.set(world.name, world);
      emit({ world });
    },
    worldRemoved(name) {
      worlds.delete(name);
      emit({ gone: name });
    },
    served() {
      hasServed = true;
      emit({ served: true });
    },
    plans: (name) => void plans.add(name),
    lease: (operator, holds) => emit({ lease: operator, holds }),
    engine: {
      attach(given) {
        graph = given;
      },
      tableCreated(table) {
        order.set(table.name, [...(order.get(table.name) ?? []), table]);
      },
      waveBegins(number, now) {
        isRunning = true;
        wave = number;
        at = now;
      },
      waveEnded: ended,
      entered,
      listed: (table, isSynced) => void inputs.push([idOf(table), isSynced ? 1 : 0]),
      newcomers: (count) => void newcomers.push(count),
      ran(node) {
        // In the order of the last runs: the inputs of a run have run before it.
        ran.delete(node);
        ran.add(node);
      },
      disposed: (node) => void gone.add(node),
      invalidated: (derivation, key) => emit({ invalidated: derivationId(derivation), key }),
    },
  };
}

function packedDelta(delta: Delta): Delta {
  return pack(delta).value as Delta;
}

export function outcomeDigest(state: number, value: unknown): string {
  return digestText(`${state} ${canonicalText(value)}`);
}

function writtenAs(given: unknown): WrittenAs | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { kind } = givenOrigin(given) ?? {};
  return kind === undefined ? undefined : [kind.apiVersion, kind.kind];
}
