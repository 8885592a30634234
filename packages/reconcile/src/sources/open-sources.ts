// Keeps sources open while something reads them: one table and one state each, opened again with back-off when they end.
import { backOff, type Clock, type Logger, type Random, sleep, untilAborted } from '@capstan/kube/cluster';
import type { Engine, Table } from '../engine/index.ts';
import { SourceErrors } from '../errors.ts';
import { checkPlain, isPromise } from '../guard.ts';
import { factError } from '../read/fact.ts';
import type { SourceDefinition, SourceRow, SourceState, SourceTable } from '../read/source.ts';
import { atMost } from '../within.ts';

/** The tables for reads of a source. */
export interface SourceTables<V> {
  readonly rows: Table<SourceRow<V>>;
  /** One row, under the empty key. */
  readonly state: Table<SourceState>;
  /** When it was last complete, under the empty key. */
  readonly completions: Table<number>;
}

interface OpenSource extends SourceTables<unknown> {
  /** The keys that have a row, over all openings. */
  readonly known: Set<string>;
}

export interface Sources {
  /** The tables of a source, created on first use. */
  of<V>(source: SourceDefinition<V>): SourceTables<V>;
  /** Closes all; resolves when they have ended. */
  stop(): Promise<void>;
}

export interface SourcesOptions {
  engine: Engine;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const BACK_OFF = { firstMs: 1000, longestMs: 60_000 };
/** A source that ran for so long is healthy: the next failure starts with the first wait. */
const HEALTHY_MS = 60_000;
/** A source that is not complete by then is opened again. */
const COMPLETE_MS = 300_000;
/** A source that ignores its signal is not waited for longer than this. */
const STOP_MS = 10_000;

export const NOT_OPEN: SourceState = { isStale: true, error: undefined };

export function createSources(options: SourcesOptions): Sources {
  const open = new Map<SourceDefinition<unknown>, OpenSource>();
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();

  function openSource(source: SourceDefinition<unknown>): OpenSource {
    /** Keys and lists that something reads. */
    let readers = 0;
    let session: AbortController | undefined;
    const count = (change: 1 | -1) => {
      readers += change;
      if (readers > 0 && session === undefined && !stopping.signal.aborted) {
        session = new AbortController();
        const ended = keepOpen(source, tables, AbortSignal.any([session.signal, stopping.signal]), options);
        running.add(ended);
        void ended.finally(() => running.delete(ended));
      } else if (readers === 0) {
        session?.abort();
        session = undefined;
        tables.rows.drop('unknown');
        tables.known.clear();
        tables.state.put('', NOT_OPEN);
        tables.completions.drop('unknown');
      }
    };
    const { engine } = options;
    const rows = engine.table<SourceRow<unknown>>({
      name: `source ${source.name}`,
      ...(source.sensitive ? { sensitive: true } : {}),
      demand: { key: () => count(1), idle: () => count(-1), list: () => count(1), listIdle: () => count(-1) },
    });
    const state = engine.table<SourceState>({ name: `state of source ${source.name}` });
    state.synced();
    state.put('', NOT_OPEN);
    const completions = engine.table<number>({ name: `completions of source ${source.name}` });
    const tables: OpenSource = { rows, state, completions, known: new Set() };
    return tables;
  }

  return {
    of<V>(source: SourceDefinition<V>) {
      const key = source as SourceDefinition<unknown>;
      const found = open.get(key) ?? openSource(key);
      open.set(key, found);
      return found as unknown as SourceTables<V>;
    },
    async stop() {
      stopping.abort();
      const limit = new AbortController();
      await Promise.race([Promise.all(running), sleep(options.clock, STOP_MS, limit.signal).catch(() => {})]);
      limit.abort();
    },
  };
}

async function keepOpen(
  source: SourceDefinition<unknown>,
  tables: OpenSource,
  signal: AbortSignal,
  { clock, random, logger }: SourcesOptions,
): Promise<void> {
  const log = logger.with({ source: source.name });
  for (let failures = 0; !signal.aborted; ) {
    const opened = clock.now();
    const { timeoutMs = COMPLETE_MS } = source;
    const limit = new AbortController();
    const session = AbortSignal.any([signal, limit.signal]);
    const table = sessionTable(tables, session, clock);
    const timer = clock.after(timeoutMs, () => {
      if (!table.isComplete()) limit.abort(SourceErrors.NotComplete(source.name, timeoutMs));
    });
    let error: unknown;
    try {
      await untilEnded(source.open({ table, signal: session, clock, logger: log }), session, clock);
      error = limit.signal.aborted ? limit.signal.reason : SourceErrors.Closed(source.name);
    } catch (thrown) {
      error = limit.signal.aborted ? limit.signal.reason : thrown;
    }
    timer.cancel();
    table.end();
    if (signal.aborted) return;
    failures = clock.now() - opened >= HEALTHY_MS ? 1 : failures + 1;
    const wait = backOff(failures, source.backOff ?? BACK_OFF, random);
    tables.state.put('', { isStale: true, error: factError(error) });
    log.warn('the source closed; its rows are kept as stale and it is opened again', {
      error,
      waitMs: Math.round(wait),
    });
    await sleep(clock, wait, signal).catch(() => {});
  }
}

/** Waits for an opening to end, but not for one that ignores its signal for long: its later rows do not count. */
async function untilEnded(opening: Promise<void>, signal: AbortSignal, clock: Clock): Promise<void> {
  const work = Promise.resolve(opening);
  await Promise.race([work, untilAborted(signal)]);
  if (signal.aborted && (await atMost(clock, STOP_MS, work))) await work;
}

/**
 * The table of one opening. The rows of the first one are shown when it is complete; the rows of an earlier opening stay until a later one
 * is complete.
 */
interface SessionTable extends SourceTable<unknown> {
  isComplete(): boolean;
  end(): void;
}

function sessionTable(
  { rows, state, completions, known }: OpenSource,
  signal: AbortSignal,
  clock: Clock,
): SessionTable {
  const seen = new Set<string>();
  const held = known.size === 0 ? new Map<string, unknown>() : undefined;
  let isComplete = false;
  let isEnded = false;
  const isOver = () => isEnded || signal.aborted;
  const show = (key: string, row: unknown) => {
    seen.add(key);
    known.add(key);
    rows.put(key, { key, row });
  };
  return {
    put(key, row) {
      if (isOver()) return;
      checkPlain(`the row ${key} of ${rows.name}`, row);
      if (held !== undefined && !isComplete) held.set(key, row);
      else show(key, row);
    },
    delete(key) {
      if (isOver()) return;
      held?.delete(key);
      seen.delete(key);
      if (known.delete(key)) rows.delete(key);
    },
    batch(apply) {
      const result: unknown = apply();
      if (!isPromise(result)) return;
      result.then(undefined, () => undefined);
      throw SourceErrors.AsyncBatch(rows.name);
    },
    complete() {
      if (isOver()) return;
      completions.put('', clock.now());
      if (isComplete) return;
      isComplete = true;
      for (const [key, row] of held ?? []) show(key, row);
      held?.clear();
      for (const key of known) {
        if (seen.has(key)) continue;
        known.delete(key);
        rows.delete(key);
      }
      rows.synced();
      state.put('', { isStale: false, error: undefined });
    },
    isComplete: () => isComplete,
    end() {
      isEnded = true;
    },
  };
}
