// The work queue: client-go's rules. A key is *dirty* from the moment it is added until a worker takes it, and
// *processing* from then until the worker is done with it. Adding a dirty key changes nothing (but may raise its priority
// or shorten its delay); a key that is added while it is processed waits, however often it is added, and is queued once
// when it is done. So no key runs twice at a time, no change is missed, and no change is run twice.
//
// A dirty key has exactly one entry, in one of three places: `ready` (in a level), `waiting` (in the heap of delays), or
// `held` (ready, but its key is being processed). Every operation is O(log n) in the keys that wait for a time, and O(1)
// in all others.

import type { Clock, Timer } from '@capstan/kube/cluster';
import { createHeap, type HeapItem } from './heap.ts';
import { createRetryLimiter, type RetryLimits } from './rate-limit.ts';
import { createReadyLevels, type Link } from './ready-levels.ts';

/** Changes that just happened. */
export const FRESH = 0;
/** Resyncs and the first list: they must not delay fresh changes. The number is controller-runtime's. */
export const RESYNC = -100;

export interface QueueOptions {
  clock: Clock;
  /** For metrics and messages. */
  name: string;
  limits?: RetryLimits;
  observe?: QueueObserver;
}

export interface QueueObserver {
  /** The queue was created; its state may be asked for at any time. */
  attached?(state: () => QueueState): void;
  /** A key became ready. */
  added(priority: number): void;
  /** A key was taken after it was ready for so long. */
  started(waitedMs: number): void;
  /** A key was given back after so long. */
  finished(workedMs: number): void;
  /** A key was queued for a time to come. */
  retried(): void;
}

export interface Taken<K> {
  readonly key: K;
  readonly priority: number;
}

export interface QueueState {
  /** Keys that could be taken now, by priority. */
  ready: ReadonlyMap<number, number>;
  /** Keys that wait for a time. */
  delayed: number;
  processing: number;
  /** Keys that were added while they are processed. */
  held: number;
  /** How long all keys in process have been so, together, and the longest of them. */
  unfinishedMs: number;
  longestMs: number;
}

export interface Queue<K> {
  readonly name: string;
  /** Queues a key; priority FRESH unless given. The highest priority and the shortest delay of several adds count. */
  add(key: K, priority?: number): void;
  addAfter(key: K, ms: number, priority?: number): void;
  /** Queues a key whose work went wrong: the wait grows with each failure until the key is forgotten. */
  addRateLimited(key: K, priority?: number): void;
  /** Forgets the failures of a key. */
  forget(key: K): void;
  failures(key: K): number;
  /** The next key, if one is ready. The one that takes a key must call `done` with it. */
  take(): Taken<K> | undefined;
  /** The next key, as soon as one is ready; undefined once the queue is shut down and empty. */
  get(): Promise<Taken<K> | undefined>;
  /** Gives back a key; it is queued again if it was added meanwhile. */
  done(key: K): void;
  state(): QueueState;
  readonly isShuttingDown: boolean;
  /** Refuses new keys and drops delayed ones; ready keys can still be taken. */
  shutDown(): void;
  /** Like shutDown, and resolves when every key that was ready is done. A later shutDown ends the waiting. */
  shutDownWithDrain(): Promise<void>;
}

interface Entry<K> extends Link<Entry<K>>, HeapItem, Taken<K> {
  priority: number;
  place: 'ready' | 'waiting' | 'held';
  /** When the key may be taken, while it is waiting; when it became ready, afterwards. */
  at: number;
  /** Keys that wait for the same time leave in the order in which they were queued. */
  turn: number;
}

export function createQueue<K>(options: QueueOptions): Queue<K> {
  const { clock, observe } = options;
  const limiter = createRetryLimiter<K>(clock, options.limits);
  const entries = new Map<K, Entry<K>>();
  const ready = createReadyLevels<Entry<K>>();
  const waiting = createHeap<Entry<K>>((a, b) => a.at < b.at || (a.at === b.at && a.turn < b.turn));
  /** Since when each key is processed. */
  const processing = new Map<K, number>();
  const getters: (() => void)[] = [];
  const drains: (() => void)[] = [];
  let turns = 0;
  let timer: Timer | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let isShuttingDown = false;
  /** The difference between the queue's time and the clock, because the clock was set back while a timer ran. */
  let ahead = 0;

  const now = () => clock.now() + ahead;

  function enqueue(key: K, delayMs: number, priority: number): void {
    if (isShuttingDown) return;
    if (delayMs > 0) observe?.retried();
    const entry = entries.get(key);
    if (entry === undefined) {
      const fresh: Entry<K> = {
        key,
        priority,
        place: 'waiting',
        at: 0,
        turn: 0,
        slot: -1,
        previous: undefined,
        next: undefined,
      };
      entries.set(key, fresh);
      queueAfter(fresh, delayMs);
      return;
    }
    if (priority > entry.priority) raise(entry, priority);
    if (entry.place !== 'waiting' || (delayMs > 0 && now() + delayMs >= entry.at)) return;
    waiting.remove(entry);
    queueAfter(entry, delayMs);
  }

  /** A raised key goes to the end of its new level: it must not overtake keys that had that priority before. */
  function raise(entry: Entry<K>, priority: number): void {
    const isReady = entry.place === 'ready';
    if (isReady) ready.remove(entry);
    entry.priority = priority;
    if (isReady) ready.append(entry);
  }

  function queueAfter(entry: Entry<K>, delayMs: number): void {
    if (delayMs <= 0) {
      becomeReady(entry);
      return;
    }
    entry.at = now() + delayMs;
    entry.turn = turns++;
    waiting.push(entry);
    arm();
  }

  function becomeReady(entry: Entry<K>): void {
    entry.at = now();
    observe?.added(entry.priority);
    if (processing.has(entry.key)) entry.place = 'held';
    else offer(entry);
  }

  function offer(entry: Entry<K>): void {
    entry.place = 'ready';
    ready.append(entry);
    // The getter takes the key in a later microtask: adds of the same turn are still merged and ranked.
    getters.pop()?.();
  }

  function arm(): void {
    const next = waiting.peek()?.at ?? Number.POSITIVE_INFINITY;
    // A timer that is early is left alone: it arms the right one when it fires.
    if (next >= timerAt) return;
    timer?.cancel();
    timerAt = next;
    timer = clock.after(Math.max(0, next - now()), fire);
  }

  function fire(): void {
    // Timers do not follow a clock that is set back; without this, the delays would grow by as much.
    ahead += Math.max(0, timerAt - now());
    timerAt = Number.POSITIVE_INFINITY;
    timer = undefined;
    const reached = now();
    for (let entry = waiting.peek(); entry !== undefined && entry.at <= reached; entry = waiting.peek()) {
      waiting.pop();
      becomeReady(entry);
    }
    arm();
  }

  function take(): Taken<K> | undefined {
    const entry = ready.shift();
    if (entry === undefined) return undefined;
    entries.delete(entry.key);
    const at = now();
    processing.set(entry.key, at);
    observe?.started(at - entry.at);
    return entry;
  }

  async function get(): Promise<Taken<K> | undefined> {
    for (;;) {
      const taken = take();
      if (taken !== undefined || isShuttingDown) return taken;
      await new Promise<void>((resolve) => getters.push(resolve));
    }
  }

  function done(key: K): void {
    const since = processing.get(key);
    if (since === undefined) return;
    processing.delete(key);
    observe?.finished(now() - since);
    const entry = entries.get(key);
    if (entry?.place === 'held') offer(entry);
    if (isShuttingDown && processing.size === 0 && entries.size === 0) settle(drains);
  }

  function state(): QueueState {
    const at = now();
    let unfinishedMs = 0;
    let longestMs = 0;
    for (const since of processing.values()) {
      unfinishedMs += at - since;
      longestMs = Math.max(longestMs, at - since);
    }
    const held = entries.size - ready.size - waiting.size;
    return {
      ready: ready.depths(),
      delayed: waiting.size,
      processing: processing.size,
      held,
      unfinishedMs,
      longestMs,
    };
  }

  function refuse(): void {
    isShuttingDown = true;
    timer?.cancel();
    for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) entries.delete(entry.key);
    settle(getters);
  }

  observe?.attached?.(state);
  return {
    name: options.name,
    add: (key, priority = FRESH) => enqueue(key, 0, priority),
    addAfter: (key, ms, priority = FRESH) => enqueue(key, ms, priority),
    addRateLimited(key, priority = FRESH) {
      if (!isShuttingDown) enqueue(key, limiter.delay(key), priority);
    },
    forget: limiter.forget,
    failures: limiter.failures,
    take,
    get,
    done,
    state,
    get isShuttingDown() {
      return isShuttingDown;
    },
    shutDown() {
      refuse();
      settle(drains);
    },
    shutDownWithDrain() {
      refuse();
      if (processing.size === 0 && entries.size === 0) return Promise.resolve();
      return new Promise((resolve) => drains.push(resolve));
    },
  };
}

function settle(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
