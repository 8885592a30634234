// Time as a table: the key is an instant, which has a value once it has come. A timer runs only for instants that a run waits for, so there
// is no other clock and no forgotten requeue. A timer counts the time that the process runs, not the time of the clock: after a suspended
// machine wakes up, or the clock is set forward, it is late by as much. So while a distant instant is waited for, the clock is compared
// with all of them once a minute.
import { type Clock, parseTime, type Timer } from '@capstan/kube/cluster';
import type { Engine, Table, Tracker } from '../engine/index.ts';
import { ReadErrors } from '../errors.ts';

export interface Instants {
  /** By instant, in milliseconds. */
  readonly table: Table<true>;
  now(): number;
  /** The one time that a wave sees, however long it lasts; undefined: it is over. */
  at(wave: number | undefined): void;
  /** Whether something waits for the instant already. */
  isAwaited(key: string): boolean;
  /** Whether an instant (milliseconds, or RFC 3339) has come; tracked. */
  reached(tracker: Tracker, instant: number | string): boolean;
  stop(): void;
}

const CHECK_MS = 60_000;

export function createInstants(engine: Engine, clock: Clock): Instants {
  const timers = new Map<string, Timer>();
  let check: Timer | undefined;
  let isStopped = false;
  let waveTime: number | undefined;
  const table: Table<true> = engine.table<true>({
    name: 'time',
    demand: {
      key(key) {
        const wait = Number(key) - clock.now();
        if (wait <= 0) table.put(key, true);
        if (wait <= 0 || isStopped) return;
        arm(key, wait);
        if (wait > CHECK_MS) check ??= clock.after(CHECK_MS, compare);
      },
      idle(key) {
        timers.get(key)?.cancel();
        timers.delete(key);
        table.delete(key);
        rest();
      },
    },
  });

  table.synced();

  function arm(key: string, wait: number): void {
    timers.get(key)?.cancel();
    timers.set(
      key,
      clock.after(wait, () => {
        const left = Number(key) - clock.now();
        // The clock was set back meanwhile.
        if (left > 0) arm(key, left);
        else come(key);
      }),
    );
  }

  function come(key: string): void {
    timers.get(key)?.cancel();
    timers.delete(key);
    table.put(key, true);
    rest();
  }

  /** An instant that the clock has passed has come, whatever its timer counts. */
  function compare(): void {
    check = clock.after(CHECK_MS, compare);
    for (const key of timers.keys()) if (Number(key) <= clock.now()) come(key);
  }

  function rest(): void {
    if (timers.size > 0) return;
    check?.cancel();
    check = undefined;
  }

  return {
    table,
    now: () => clock.now(),
    at(wave) {
      waveTime = wave;
    },
    isAwaited: (key) => timers.has(key),
    reached(tracker, instant) {
      const time = typeof instant === 'number' ? instant : parseTime(instant);
      if (Number.isNaN(time)) throw ReadErrors.NotAnInstant();
      // An instant that is infinitely far away needs no timer.
      if (!Number.isFinite(time)) return time < 0;
      const key = String(time);
      if (tracker.get(table, key) === true) return true;
      // A first read need not wait for the table to hear of it: the clock knows.
      if ((waveTime ?? clock.now()) < time) return false;
      // The clock has jumped over it: whatever else waits for it is woken too, by a wave of its own.
      if (timers.has(key)) arm(key, 0);
      return true;
    },
    stop() {
      isStopped = true;
      for (const timer of timers.values()) timer.cancel();
      timers.clear();
      rest();
    },
  };
}
