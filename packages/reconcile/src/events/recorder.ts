// Events for users, written so that they can never become a problem of their own. The first occurrence of an event is
// written; the second turns it into a series; from then on the count is kept here and written every 30 minutes, and once
// more when nothing was heard for 6 minutes, which ends the series. An object with ever new events has 25
// Events at once and then one every 5 minutes. Recording never waits: writes go through a queue of their own, are tried 12
// times, and are dropped rather than piled up. Only the leader writes.

import {
  type Client,
  type Clock,
  Event,
  formatMicroTime,
  isAlreadyExists,
  isApiError,
  isNotFound,
  isServerError,
  isTooManyRequests,
  type KubeObject,
  type Logger,
  type Random,
  refOf,
  silentLogger,
  sleep,
  type Timer,
  untilAborted,
} from '@capstan/kube/cluster';
import type { Leadership } from '../leadership/index.ts';
import { type Bucket, createBucket, createQueue, done, type Outcome, retryAfter, runWorkers } from '../queue/index.ts';
import { type EventText, eventObject, type Reporter, seriesKey } from './event-object.ts';
import { createRecent } from './recent.ts';

export interface EventRecorderOptions extends Reporter {
  client: Client;
  clock: Clock;
  random: Random;
  leadership: Pick<Leadership, 'holds'>;
  logger?: Logger;
  observe?: EventObserver;
}

export interface EventObserver {
  written(): void;
  dropped(reason: DropReason): void;
}

export type DropReason = 'not-leading' | 'spam' | 'full' | 'refused' | 'failed';

export interface EventRecorder {
  /** Records an event about an object. Never waits, never throws. */
  record(regarding: KubeObject, text: EventText): void;
  /** Writes until the signal is aborted, then the rest for at most two seconds. Abort it before the lease is given back. */
  run(signal: AbortSignal): Promise<void>;
}

const SERIES_LIMIT = 4096;
const PENDING_LIMIT = 1000;
const SPAM_BURST = 25;
const SPAM_PER_SECOND = 1 / 300;
const REFRESH_MS = 30 * 60_000;
const FINISH_MS = 6 * 60_000;
const TRIES = 12;
const RETRY_MS = 10_000;
const FLUSH_MS = 2_000;

interface Series {
  readonly key: string;
  readonly event: Event;
  /** How often it was recorded, and when last. */
  count: number;
  lastAt: number;
  /** The part of the count that is on the server; 0 while the Event is not. */
  writtenCount: number;
  /** Tries of the current write. */
  tries: number;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock, random, leadership, logger = silentLogger, observe } = options;
  const queue = createQueue<Series>({ clock, name: 'events' });
  const pending = new Set<Series>();
  const known = createRecent<string, Series>(SERIES_LIMIT, (series) => {
    if (isBehind(series)) enqueue(series);
  });
  const buckets = createRecent<string, Bucket>(SERIES_LIMIT);

  function record(regarding: KubeObject, text: EventText): void {
    const now = clock.now();
    const event = eventObject(regarding, text, options, now);
    if (!leadership.holds) {
      observe?.dropped('not-leading');
      return;
    }
    const key = seriesKey(event, text.id);
    const series = known.get(key);
    // It happened once, however often it is reported.
    if (series !== undefined && text.id !== undefined) return;
    if (series === undefined) {
      begin({ key, event, count: 1, lastAt: now, writtenCount: 0, tries: 0 });
      return;
    }
    series.count += 1;
    series.lastAt = now;
    if (series.count === 2) enqueue(series);
  }

  function begin(series: Series): void {
    if (!bucketFor(series.event).take()) {
      observe?.dropped('spam');
      return;
    }
    if (pending.size >= PENDING_LIMIT) {
      observe?.dropped('full');
      return;
    }
    known.set(series.key, series);
    enqueue(series);
  }

  function bucketFor({ regarding }: Event): Bucket {
    const key = JSON.stringify(regarding);
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = createBucket(clock, SPAM_PER_SECOND, SPAM_BURST);
      buckets.set(key, bucket);
    }
    return bucket;
  }

  function enqueue(series: Series): void {
    pending.add(series);
    queue.add(series);
  }

  async function handle(series: Series, signal: AbortSignal): Promise<Outcome> {
    const outcome = await write(series, signal);
    if (outcome.type === 'done') {
      series.tries = 0;
      pending.delete(series);
    }
    return outcome;
  }

  async function write(series: Series, signal: AbortSignal): Promise<Outcome> {
    if (!leadership.holds) return drop(series, 'not-leading');
    const count = series.count;
    try {
      await (series.writtenCount === 0 ? create(series, signal) : update(series, signal));
      series.writtenCount = count;
      observe?.written();
      return done;
    } catch (error) {
      if (signal.aborted) return done;
      return failed(series, error);
    }
  }

  async function create(series: Series, signal: AbortSignal): Promise<void> {
    try {
      await client.create(Event, withSeries(series), { signal });
    } catch (error) {
      // An earlier try arrived after all, and only its answer did not.
      if (!isAlreadyExists(error)) throw error;
      if (series.count > 1) await update(series, signal);
    }
  }

  async function update(series: Series, signal: AbortSignal): Promise<void> {
    const ref = refOf(series.event);
    try {
      await client.patch(Event, ref, 'merge', { series: seriesOf(series) }, { signal });
    } catch (error) {
      // Servers keep Events for an hour or so; the series goes on.
      if (!isNotFound(error)) throw error;
      await client.create(Event, withSeries(series), { signal });
    }
  }

  function failed(series: Series, error: unknown): Outcome {
    series.tries += 1;
    const isPassing = !isApiError(error) || isTooManyRequests(error) || isServerError(error);
    const { name, namespace } = series.event.metadata;
    if (isPassing && series.tries < TRIES) {
      // The first retry at random, so that replicas and events that failed together do not come back together.
      return retryAfter(series.tries === 1 ? RETRY_MS * random() : RETRY_MS);
    }
    logger.warn('an event could not be written and is dropped', { event: `${namespace}/${name}`, error });
    return drop(series, isPassing ? 'failed' : 'refused');
  }

  /** Forgets the series: when it is recorded again, the event is a new one. */
  function drop(series: Series, reason: DropReason): Outcome {
    known.delete(series.key, series);
    observe?.dropped(reason);
    return done;
  }

  function refresh(): void {
    for (const [, series] of known.entries()) if (isBehind(series)) enqueue(series);
  }

  function finish(): void {
    const before = clock.now() - FINISH_MS;
    for (const [key, series] of known.entries()) {
      if (series.lastAt > before) continue;
      known.delete(key, series);
      if (isBehind(series)) enqueue(series);
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const workers = runWorkers({ queue, clock, concurrency: 4, handle, signal: stop.signal, logger });
    const timers = [every(clock, REFRESH_MS, refresh), every(clock, FINISH_MS, finish)];
    await untilAborted(signal);
    for (const timer of timers) timer.cancel();
    refresh();
    const drained = queue.shutDownWithDrain();
    await Promise.race([drained, sleep(clock, FLUSH_MS, stop.signal).catch(() => {})]);
    stop.abort();
    await workers;
  }

  return { record, run };
}

/** A first occurrence waits to be created anyway: only repetitions since the last write are behind. */
function isBehind({ count, writtenCount }: Series): boolean {
  return writtenCount > 0 && count > writtenCount;
}

function withSeries(series: Series): Event {
  return series.count > 1 ? { ...series.event, series: seriesOf(series) } : series.event;
}

function seriesOf({ count, lastAt }: Series): NonNullable<Event['series']> {
  return { count, lastObservedTime: formatMicroTime(lastAt) };
}

function every(clock: Clock, ms: number, call: () => void): Timer {
  let timer = clock.after(ms, tick);
  function tick(): void {
    timer = clock.after(ms, tick);
    call();
  }
  return { cancel: () => timer.cancel() };
}
