// Runs the work behind facts: starts it when something reads a key, retries with back-off, refreshes on its period, and
// stops when nothing reads the key any more.
import { backOff, type Clock, type Logger, type Random, type Timer } from '@capstan/kube/cluster';
import type { Engine, Table } from '../engine/index.ts';
import { checkPlain, guardedOr } from '../guard.ts';
import { type FactDefinition, type FactState, factError } from '../read/fact.ts';
import { withSignal } from '../within.ts';
import { createPlaces, type Places } from './places.ts';

/** A fact whatever its types are. */
export type AnyFact = FactDefinition<unknown, unknown, unknown>;

export interface Facts {
  /** The table for reads of this fact, created on first use. The input is the value behind the key. */
  table<V, I, E>(fact: FactDefinition<V, I, E>, key: string, input: I): Table<FactState<V, E>>;
  /** To be called after each wave: inputs of runs that were given up are dropped. */
  afterWave(): void;
  /** Fetches again now, for a caller that knows that the outside has changed. */
  refresh(fact: AnyFact, key: string): void;
  /** The facts that something has read so far. */
  opened(): readonly { readonly fact: AnyFact; readonly table: Table<FactState<unknown, unknown>> }[];
  /** Aborts running fetches; resolves when they have ended. */
  stop(): Promise<void>;
}

export interface FactsOptions {
  engine: Engine;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Which facts are performed: all by default. Any other one is not known. */
  performed?: 'all' | 'readOnly' | 'none';
  /** Notes an error of a function that the fact's author gave. */
  note?(what: string, key: string, error: unknown): void;
}

const RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;
const TIMEOUT_MS = 60_000;
const CONCURRENCY = 32;
/** No server may send us away for longer. */
const LONGEST_ASKED_MS = 600_000;

interface Entry {
  readonly key: string;
  readonly input: unknown;
  readonly abort: AbortController;
  failures: number;
  timer: Timer | undefined;
  running: boolean;
  /** Asked for while it was being fetched: the result may be older than the question. */
  again: boolean;
}

interface OpenFact {
  readonly fact: AnyFact;
  readonly table: Table<FactState<unknown, unknown>>;
  /** The reads of runs since the last wave: their demand follows after the wave, or never. */
  readonly offered: Map<string, unknown>;
  readonly entries: Map<string, Entry>;
  readonly places: Places;
}

export function createFacts(options: FactsOptions): Facts {
  const { engine, clock, random, logger } = options;
  const open = new Map<AnyFact, OpenFact>();
  const running = new Set<Promise<void>>();
  let isStopped = false;

  function isPerformed(fact: AnyFact): boolean {
    const { performed = 'all' } = options;
    return performed === 'all' || (performed === 'readOnly' && fact.readOnly === true);
  }

  function openFact(fact: AnyFact): OpenFact {
    const table: OpenFact['table'] = engine.table<FactState<unknown, unknown>>({
      name: `fact ${fact.name}`,
      ...(fact.sensitive ? { sensitive: true } : {}),
      demand: {
        key(key) {
          if (isStopped || opened.entries.has(key) || !isPerformed(fact)) return;
          const entry: Entry = {
            key,
            // A key that no run has offered is one that was read as text.
            input: opened.offered.has(key) ? opened.offered.get(key) : key,
            abort: new AbortController(),
            failures: 0,
            timer: undefined,
            running: false,
            again: false,
          };
          opened.entries.set(key, entry);
          own(attempt(opened, entry));
        },
        idle(key) {
          const entry = opened.entries.get(key);
          if (entry === undefined) return;
          opened.entries.delete(key);
          entry.timer?.cancel();
          entry.abort.abort();
          table.forget(key);
        },
      },
    });
    const opened: OpenFact = {
      fact,
      table,
      offered: new Map(),
      entries: new Map(),
      places: createPlaces(fact.concurrency ?? CONCURRENCY),
    };
    return opened;
  }

  async function attempt(opened: OpenFact, entry: Entry): Promise<void> {
    if (entry.abort.signal.aborted) return;
    if (entry.running) {
      entry.again = true;
      return;
    }
    entry.running = true;
    const leave = await opened.places.enter(entry.abort.signal);
    if (leave === undefined) return;
    // This fetch, which begins now, answers requests from while it waited.
    entry.again = false;
    try {
      await fetchOnce(opened, entry);
    } finally {
      leave();
      entry.running = false;
    }
    if (!entry.again) return;
    entry.again = false;
    schedule(opened, entry, 0);
  }

  async function fetchOnce(opened: OpenFact, entry: Entry): Promise<void> {
    const { fact, table } = opened;
    const previous = table.peek(entry.key)?.value;
    const limit = new AbortController();
    const timeoutMs = fact.timeoutMs ?? TIMEOUT_MS;
    const timer = clock.after(timeoutMs, () => limit.abort(new Error(`no result within ${timeoutMs / 1000} s`)));
    const signal = AbortSignal.any([entry.abort.signal, limit.signal]);
    try {
      const value = await withSignal(Promise.resolve(fact.fetch(entry.input, { signal, previous })), signal);
      if (entry.abort.signal.aborted) return;
      checkPlain(`the result of the fact ${fact.name}`, value);
      entry.failures = 0;
      table.put(entry.key, { value, error: undefined });
      if (fact.refreshMs !== undefined) schedule(opened, entry, fact.refreshMs);
    } catch (error) {
      if (!entry.abort.signal.aborted) failed(opened, entry, previous, error);
    } finally {
      timer.cancel();
    }
  }

  function failed(opened: OpenFact, entry: Entry, previous: unknown, error: unknown): void {
    const { fact, table } = opened;
    entry.failures++;
    table.put(entry.key, { value: previous, error: shownError(fact, entry.key, error) });
    logger.debug('could not fetch a fact; it is tried again', {
      fact: fact.name,
      key: entry.key,
      failures: entry.failures,
      error,
    });
    const limits = { firstMs: fact.retryMs ?? RETRY_MS, longestMs: fact.maxRetryMs ?? MAX_RETRY_MS };
    schedule(opened, entry, backOff(entry.failures, limits, random, askedWait(error)));
  }

  /** Returns the error for readers. If `errorOf` fails too, they see the error itself. */
  function shownError(fact: AnyFact, key: string, error: unknown): unknown {
    if (fact.errorOf === undefined) return factError(error);
    const what = `errorOf of the fact ${fact.name}`;
    const shown = guardedOr(
      what,
      () => {
        const made = fact.errorOf?.(error);
        checkPlain(`what ${what} returned`, made);
        return made;
      },
      (failure) => {
        options.note?.(what, key, failure);
        return factError(failure);
      },
    );
    return shown ?? factError(error);
  }

  function schedule(opened: OpenFact, entry: Entry, ms: number): void {
    entry.timer?.cancel();
    entry.timer = clock.after(ms, () => own(attempt(opened, entry)));
  }

  function own(work: Promise<void>): void {
    const settled = work
      .catch((error: unknown) => logger.error('the work of a fact ended by an error', { error }))
      .finally(() => running.delete(settled));
    running.add(settled);
  }

  return {
    table<V, I, E>(fact: FactDefinition<V, I, E>, key: string, input: I) {
      const found = open.get(fact) ?? openFact(fact);
      open.set(fact, found);
      if (!found.entries.has(key)) found.offered.set(key, input);
      return found.table as Table<FactState<V, E>>;
    },
    afterWave() {
      for (const { offered } of open.values()) if (offered.size > 0) offered.clear();
    },
    refresh(fact, key) {
      const found = open.get(fact);
      const entry = found?.entries.get(key);
      if (found === undefined || entry === undefined) return;
      entry.timer?.cancel();
      own(attempt(found, entry));
    },
    opened: () => [...open.values()].map(({ fact, table }) => ({ fact, table })),
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

/** How long a server that was asked wants to be left alone: `retryAfterMs` of an error. */
function askedWait(error: unknown): number {
  try {
    const asked = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
    return typeof asked === 'number' && asked > 0 ? Math.min(asked, LONGEST_ASKED_MS) : 0;
  } catch {
    return 0;
  }
}
