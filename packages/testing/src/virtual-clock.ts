// Time that stands still until a test moves it. Timers fire in the order of their time, equal times in the order in which
// they were set, and everything that one timer set going (promises, ticks, yields) comes to rest before the next one
// fires: the same program with the same seed therefore takes the same steps, every time, on every machine.
//
// Rest is recognised by a turn of the event loop: Node empties its promise and tick queues before it goes on, so one
// setImmediate (about a microsecond) drains them however long the chains are. Real I/O, workers and system timers are outside this clock:
// they do not belong in a simulation. A stage on a real server reports by `outside` when its connections are at rest.
import type { Clock } from '@capstan/kube';
import { TestingErrors } from './errors.ts';

export interface VirtualClock extends Clock {
  /** Runs everything that falls due in the next `ms`, then stands at exactly that time. */
  advance(ms: number): Promise<void>;
  /**
   * Jumps from timer to timer: `idle` when none is left, `held` as soon as `until` is true (asked whenever all is at
   * rest), `late` when `maxMs` have passed; then, as after advance, everything due within `maxMs` has run.
   */
  runUntilIdle(maxMs: number, until?: () => boolean): Promise<'idle' | 'held' | 'late'>;
  /** Lets everything that can go on without time passing come to rest. */
  settle(): Promise<void>;
  /** Timers that are set, neither fired nor cancelled. */
  readonly pendingTimers: number;
}

export interface VirtualClockOptions {
  /** Milliseconds since the epoch; default 2026-01-01T00:00:00Z. */
  start?: number;
  /**
   * Waits until activities that this clock cannot see are at rest too; true if one of them did something meanwhile. Default: there are
   * none.
   */
  outside?: () => Promise<boolean>;
}

/** A clock that tests move by hand. */
export function createVirtualClock({
  start = Date.UTC(2026, 0, 1),
  outside = async () => false,
}: VirtualClockOptions = {}): VirtualClock {
  let now = start;
  let sequence = 0;
  let yields = 0;
  let running = false;
  // Ascending by time, then by sequence.
  const timers: PendingTimer[] = [];

  /** Fires timers up to `limit`; `until` is asked at rest, before each one. */
  async function run(limit: number, until: () => boolean): Promise<'idle' | 'held' | 'late'> {
    if (running) throw TestingErrors.ReentrantClock();
    running = true;
    try {
      let firedNow = 0;
      for (;;) {
        await settle();
        if (until()) return 'held';
        const next = timers[0];
        if (next === undefined) return 'idle';
        if (next.at > limit) return 'late';
        firedNow = next.at > now ? 0 : firedNow + 1;
        if (firedNow > MAX_STEPS) throw TestingErrors.EndlessTimers(MAX_STEPS, now);
        now = Math.max(now, next.at);
        timers.shift();
        next.call();
      }
    } finally {
      running = false;
    }
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < MAX_STEPS; turn++) {
      await eventLoopTurn();
      if (yields === 0 && !(await outside())) return;
    }
    throw TestingErrors.EndlessYields(MAX_STEPS, now);
  }

  return {
    now: () => now,
    after(ms, call) {
      const timer: PendingTimer = { at: now + (ms > 0 ? ms : 0), sequence: sequence++, call };
      timers.splice(placeOf(timers, timer), 0, timer);
      return {
        cancel() {
          const place = placeOf(timers, timer);
          if (timers[place] === timer) timers.splice(place, 1);
        },
      };
    },
    async yield() {
      yields++;
      await eventLoopTurn();
      yields--;
    },
    async advance(ms) {
      const target = now + ms;
      await run(target, () => false);
      now = target;
    },
    async runUntilIdle(maxMs, until = () => false) {
      const limit = now + maxMs;
      const outcome = await run(limit, until);
      if (outcome === 'late') now = limit;
      return outcome;
    },
    settle,
    get pendingTimers() {
      return timers.length;
    },
  };
}

interface PendingTimer {
  readonly at: number;
  readonly sequence: number;
  readonly call: () => void;
}

/** More steps than this without time passing is a loop that will never rest. */
const MAX_STEPS = 100_000;

/** Where `timer` is, or belongs, in the ascending list. */
function placeOf(timers: readonly PendingTimer[], timer: PendingTimer): number {
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = timers[middle];
    const isBefore =
      other !== undefined && (other.at < timer.at || (other.at === timer.at && other.sequence < timer.sequence));
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}

function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
