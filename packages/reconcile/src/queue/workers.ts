// Workers take keys from a queue and hand them to one function. They end when the queue is shut down and empty (a graceful
// stop: `queue.shutDownWithDrain()`), or when the signal is aborted (a stop at once: nothing new starts, running handlers are
// aborted by their signal). Either way the promise settles only after the last handler has.

import { type Clock, type Logger, silentLogger, type Timer } from '@capstan/kube/cluster';
import { done, type Outcome, retry } from './outcome.ts';
import type { Queue, Taken } from './queue.ts';

export interface WorkerOptions<K> {
  queue: Queue<K>;
  clock: Clock;
  /** Keys at a time; default 1, as controller-runtime. */
  concurrency?: number;
  /**
   * Works on one key. Its signal is aborted by the workers' signal and by `timeoutMs`. An error that it throws is counted as a panic and
   * retried.
   */
  handle(key: K, signal: AbortSignal, park: Park): Promise<Outcome> | Outcome;
  signal: AbortSignal;
  /** Aborts a handler's signal after so long; default: never. */
  timeoutMs?: number;
  logger?: Logger;
  /** How the key is shown in log lines; default String(key). */
  describe?(key: K): string;
  observe?: WorkerObserver;
}

/** Waits for work that may last: another worker takes the place meanwhile, so that the keys that wait go on. */
export type Park = <T>(work: Promise<T>) => Promise<T>;

/** So many places are given away at most: work that lasts must not pile up without end. */
const MOST_PARKED = 256;

/** The shared state of the workers of a queue. */
interface Crew {
  yieldedAt: number;
  parked: number;
  readonly substitutes: Set<Promise<void>>;
}

export interface WorkerObserver {
  started(): void;
  finished(end: WorkerEnd): void;
}

export interface WorkerEnd {
  result: 'success' | 'error' | 'requeue_after';
  ms: number;
  terminal: boolean;
  panicked: boolean;
  timedOut: boolean;
}

/** Runs until the queue is drained or the signal is aborted. */
export async function runWorkers<K>(options: WorkerOptions<K>): Promise<void> {
  const { queue, clock, signal } = options;
  const concurrency = Math.max(1, options.concurrency ?? 1);
  const shutDown = () => queue.shutDown();
  if (signal.aborted) shutDown();
  signal.addEventListener('abort', shutDown, { once: true });
  const crew: Crew = { yieldedAt: clock.now(), parked: 0, substitutes: new Set() };
  try {
    await Promise.all(Array.from({ length: concurrency }, () => work(options, crew)));
    await Promise.all(crew.substitutes);
  } finally {
    signal.removeEventListener('abort', shutDown);
  }
}

/** Handlers that never wait would keep timers and sockets waiting: the event loop gets its turn at least this often. */
const YIELD_MS = 10;

async function work<K>(options: WorkerOptions<K>, crew: Crew, isOver = () => false): Promise<void> {
  const { queue, clock, signal } = options;
  for (;;) {
    if (signal.aborted || isOver()) return;
    const taken = queue.take() ?? (await queue.get());
    if (taken === undefined) return;
    if (signal.aborted) {
      queue.done(taken.key);
      return;
    }
    await workOn(options, crew, taken);
    if (clock.now() - crew.yieldedAt >= YIELD_MS) {
      await clock.yield();
      crew.yieldedAt = clock.now();
    }
  }
}

/** Waits for work while a substitute works on other keys; the substitute leaves after the key that it is on. */
async function park<K, T>(options: WorkerOptions<K>, crew: Crew, task: Promise<T>): Promise<T> {
  if (crew.parked >= MOST_PARKED) return task;
  let isOver = false;
  const substitute = work(options, crew, () => isOver).finally(() => crew.substitutes.delete(substitute));
  crew.substitutes.add(substitute);
  crew.parked++;
  try {
    return await task;
  } finally {
    crew.parked--;
    isOver = true;
  }
}

async function workOn<K>(options: WorkerOptions<K>, crew: Crew, taken: Taken<K>): Promise<void> {
  const { queue, clock, signal, observe } = options;
  const { key } = taken;
  const startedAt = clock.now();
  const limit = createLimit(options);
  let panicked = false;
  let outcome: Outcome;
  observe?.started();
  try {
    outcome = await options.handle(key, limit.signal, (task) => park(options, crew, task));
  } catch (error) {
    // A handler that ends by an exception because it was asked to stop has not failed.
    if (signal.aborted) outcome = done;
    else {
      panicked = true;
      outcome = retry(error);
    }
  } finally {
    limit.end();
  }
  settle(options, taken, outcome, panicked);
  queue.done(key);
  observe?.finished({
    result: RESULTS[outcome.type],
    ms: clock.now() - startedAt,
    terminal: outcome.type === 'terminal',
    panicked,
    timedOut: limit.isOver(),
  });
}

const RESULTS = { done: 'success', retry: 'error', retryAfter: 'requeue_after', terminal: 'error' } as const;

/** Queues the key again according to its outcome, before it is given back, so that it never looks settled in between. */
function settle<K>(options: WorkerOptions<K>, taken: Taken<K>, outcome: Outcome, panicked: boolean): void {
  const { queue, logger = silentLogger, describe = String } = options;
  const { key, priority } = taken;
  switch (outcome.type) {
    case 'done':
      queue.forget(key);
      return;
    case 'retryAfter':
      if (!outcome.keepsFailures) queue.forget(key);
      queue.addAfter(key, outcome.ms, priority);
      return;
    case 'terminal':
      queue.forget(key);
      logger.error('reconcile ended in an error that no retry changes', {
        object: describe(key),
        error: outcome.error,
      });
      return;
    case 'retry': {
      queue.addRateLimited(key, priority);
      const failures = queue.failures(key);
      const message = panicked
        ? 'reconcile threw: this is a bug; it is retried'
        : 'reconcile did not succeed; it is retried';
      logger.error(message, { object: describe(key), failures, error: outcome.error });
      return;
    }
  }
}

/** A handler's signal: the workers' own unless there is a time limit, because one per key costs more than the rest of the loop. */
function createLimit<K>(options: WorkerOptions<K>): { signal: AbortSignal; end(): void; isOver(): boolean } {
  const { clock, signal, timeoutMs } = options;
  if (timeoutMs === undefined) return { signal, end() {}, isOver: () => false };
  const controller = new AbortController();
  let isOver = false;
  const stop = () => controller.abort(signal.reason);
  const timer: Timer = clock.after(timeoutMs, () => {
    isOver = true;
    controller.abort(new Error(`reconcile took longer than its limit of ${timeoutMs} ms`));
  });
  signal.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    end() {
      timer.cancel();
      signal.removeEventListener('abort', stop);
    },
    isOver: () => isOver,
  };
}
