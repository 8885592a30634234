// Runs the work behind facts: starts it when something reads a key, retries with back-off, refreshes on its period, and
// stops when nobody reads the key any more.
import { type Clock, type Logger, type Random, reasonOf, type Timer } from '@capstan/kube';
import type { Engine, Table } from '../engine/index.ts';
import type { FactDefinition, FactState } from '../read/index.ts';
import { createPlaces, type Places } from './places.ts';

/** Where durable facts outlive the process. */
export interface FactStore {
  load(fact: string, key: string): Promise<StoredFact | undefined>;
  save(fact: string, key: string, stored: StoredFact): Promise<void>;
}

export interface StoredFact {
  readonly value: unknown;
  /** When it was fetched, milliseconds since the epoch. */
  readonly at: number;
}

export interface Facts {
  /** The table that reads of this fact go to; made on first use. */
  table<V>(fact: FactDefinition<V>): Table<FactState<V>>;
  /** Fetches again now, for whoever learns that the outside has changed. */
  refresh(fact: FactDefinition<unknown>, key: string): void;
  /** Aborts what is under way; resolves when it has ended. */
  stop(): Promise<void>;
}

export interface FactsOptions {
  engine: Engine;
  clock: Clock;
  random: Random;
  logger: Logger;
  store?: FactStore;
}

const RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;
const TIMEOUT_MS = 60_000;
const CONCURRENCY = 32;
/** No server may send us away for longer. */
const LONGEST_ASKED_MS = 600_000;

interface Entry {
  readonly key: string;
  /** Of the fact: how many of its keys may be fetched at the same time. */
  readonly places: Places;
  readonly abort: AbortController;
  failures: number;
  timer: Timer | undefined;
  running: boolean;
  /** Asked for while it was being fetched: what comes may be older than the question. */
  again: boolean;
}

export function createFacts(options: FactsOptions): Facts {
  const { engine, clock, random, logger, store } = options;
  const open = new Map<FactDefinition<unknown>, { table: Table<FactState<unknown>>; entries: Map<string, Entry> }>();
  const running = new Set<Promise<void>>();
  let isStopped = false;

  function openFact(fact: FactDefinition<unknown>) {
    const entries = new Map<string, Entry>();
    const places = createPlaces(fact.concurrency ?? CONCURRENCY);
    const table: Table<FactState<unknown>> = engine.table<FactState<unknown>>({
      name: `fact ${fact.name}`,
      demand: {
        key(key) {
          if (isStopped || entries.has(key)) return;
          const entry: Entry = {
            key,
            places,
            abort: new AbortController(),
            failures: 0,
            timer: undefined,
            running: false,
            again: false,
          };
          entries.set(key, entry);
          own(begin(fact, table, entry));
        },
        idle(key) {
          const entry = entries.get(key);
          if (entry === undefined) return;
          entries.delete(key);
          entry.timer?.cancel();
          entry.abort.abort();
          table.forget(key);
        },
      },
    });
    return { table, entries };
  }

  /** What is durable is there at once, and fetched again only when its period has passed. */
  async function begin(fact: FactDefinition<unknown>, table: Table<FactState<unknown>>, entry: Entry): Promise<void> {
    entry.running = true;
    const stored = fact.durable && store !== undefined ? await loadQuietly(fact, entry) : undefined;
    entry.running = false;
    if (entry.abort.signal.aborted) return;
    if (stored !== undefined) {
      table.put(entry.key, { value: stored.value, error: undefined });
      if (fact.refreshMs !== undefined)
        schedule(fact, table, entry, Math.max(0, stored.at + fact.refreshMs - clock.now()));
      if (!entry.again) return;
      entry.again = false;
    }
    await attempt(fact, table, entry);
  }

  async function attempt(fact: FactDefinition<unknown>, table: Table<FactState<unknown>>, entry: Entry): Promise<void> {
    if (entry.abort.signal.aborted) return;
    if (entry.running) {
      entry.again = true;
      return;
    }
    entry.running = true;
    const leave = await entry.places.enter(entry.abort.signal);
    if (leave === undefined) return;
    // Whatever was asked while it waited is answered by this fetch, which begins now.
    entry.again = false;
    const previous = table.peek(entry.key)?.value;
    const limit = new AbortController();
    const stopLimit = () => limit.abort(entry.abort.signal.reason);
    entry.abort.signal.addEventListener('abort', stopLimit, { once: true });
    const timer = clock.after(fact.timeoutMs ?? TIMEOUT_MS, () =>
      limit.abort(new Error(`no result within ${(fact.timeoutMs ?? TIMEOUT_MS) / 1000} s`)),
    );
    try {
      const value = await withSignal(fact.fetch(entry.key, { signal: limit.signal, previous }), limit.signal);
      if (entry.abort.signal.aborted) return;
      entry.failures = 0;
      table.put(entry.key, { value, error: undefined });
      if (fact.durable && store !== undefined) own(saveQuietly(fact, entry.key, value));
      if (fact.refreshMs !== undefined) schedule(fact, table, entry, fact.refreshMs);
    } catch (error) {
      if (entry.abort.signal.aborted) return;
      entry.failures++;
      table.put(entry.key, { value: previous, error: reasonOf(error) });
      logger.debug('a fact could not be had; it is tried again', {
        fact: fact.name,
        key: entry.key,
        failures: entry.failures,
        error,
      });
      const longest = fact.maxRetryMs ?? MAX_RETRY_MS;
      const wait = Math.min((fact.retryMs ?? RETRY_MS) * 2 ** (entry.failures - 1), longest);
      // Up to a quarter less, so that many that failed together do not come back together; never before the time that was asked for.
      schedule(fact, table, entry, Math.max(wait * (1 - random() / 4), askedWait(error)));
    } finally {
      leave();
      entry.running = false;
      timer.cancel();
      entry.abort.signal.removeEventListener('abort', stopLimit);
    }
    if (!entry.again) return;
    entry.again = false;
    schedule(fact, table, entry, 0);
  }

  function schedule(fact: FactDefinition<unknown>, table: Table<FactState<unknown>>, entry: Entry, ms: number): void {
    entry.timer?.cancel();
    entry.timer = clock.after(ms, () => own(attempt(fact, table, entry)));
  }

  function own(work: Promise<void>): void {
    const settled = work.finally(() => running.delete(settled));
    running.add(settled);
  }

  async function loadQuietly(fact: FactDefinition<unknown>, entry: Entry): Promise<StoredFact | undefined> {
    try {
      return store && (await withSignal(store.load(fact.name, entry.key), entry.abort.signal));
    } catch (error) {
      if (!entry.abort.signal.aborted)
        logger.warn('a stored fact could not be read; it is fetched anew', { fact: fact.name, key: entry.key, error });
      return undefined;
    }
  }

  async function saveQuietly(fact: FactDefinition<unknown>, key: string, value: unknown): Promise<void> {
    try {
      await store?.save(fact.name, key, { value, at: clock.now() });
    } catch (error) {
      logger.warn('a fact could not be stored; it will be fetched anew after a restart', {
        fact: fact.name,
        key,
        error,
      });
    }
  }

  return {
    table<V>(fact: FactDefinition<V>) {
      const found = open.get(fact) ?? openFact(fact);
      open.set(fact, found);
      return found.table as Table<FactState<V>>;
    },
    refresh(fact, key) {
      const found = open.get(fact);
      const entry = found?.entries.get(key);
      if (found === undefined || entry === undefined) return;
      entry.timer?.cancel();
      own(attempt(fact, found.table, entry));
    },
    async stop() {
      isStopped = true;
      for (const { entries } of open.values()) {
        for (const entry of entries.values()) {
          entry.timer?.cancel();
          entry.abort.abort();
        }
      }
      await Promise.all(running);
    },
  };
}

/** Ends when the work does or the signal is aborted, whichever is first: work that ignores its signal holds nothing up. */
function withSignal<V>(work: Promise<V>, signal: AbortSignal): Promise<V> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** How long whoever was asked wants to be left alone: `retryAfterMs` of an error. */
function askedWait(error: unknown): number {
  const asked = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  return typeof asked === 'number' && asked > 0 ? Math.min(asked, LONGEST_ASKED_MS) : 0;
}
