// Time as a table: the key is an instant, the value whether it has come. A timer runs only for instants that something
// waits for, so there is no other clock and no forgotten requeue.
import { type Clock, parseTime, type Timer } from '@capstan/kube';
import type { Engine, Table, Tracker } from '../engine/index.ts';
import { ReadErrors } from '../errors.ts';

export interface Instants {
  /** Whether an instant (milliseconds, or RFC 3339) has come; tracked. */
  reached(tracker: Tracker, instant: number | string): boolean;
  stop(): void;
}

export function createInstants(engine: Engine, clock: Clock): Instants {
  const timers = new Map<string, Timer>();
  let isStopped = false;
  const table: Table<boolean> = engine.table<boolean>({
    name: 'time',
    demand: {
      key(key) {
        const wait = Number(key) - clock.now();
        table.put(key, wait <= 0);
        if (wait <= 0 || isStopped) return;
        const timer = clock.after(wait, () => come(key));
        timers.set(key, timer);
      },
      idle(key) {
        timers.get(key)?.cancel();
        timers.delete(key);
        table.forget(key);
      },
    },
  });

  function come(key: string): void {
    timers.delete(key);
    table.put(key, true);
  }

  return {
    reached(tracker, instant) {
      const time = typeof instant === 'number' ? instant : parseTime(instant);
      if (Number.isNaN(time)) throw ReadErrors.NotAnInstant();
      // What is always or never so needs no timer.
      if (!Number.isFinite(time)) return time < 0;
      const key = String(time);
      // A first read need not wait for the table to hear of it: the clock knows. The value that follows is then the same.
      if (tracker.state(table, key) === 'unknown') return clock.now() >= time;
      return tracker.get(table, key) ?? false;
    },
    stop() {
      isStopped = true;
      for (const timer of timers.values()) timer.cancel();
      timers.clear();
    },
  };
}
