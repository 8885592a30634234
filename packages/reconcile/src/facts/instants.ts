// Time as a table: the key is an instant, the value whether it has come. A timer runs only for instants that something
// waits for, so there is no other clock and no forgotten requeue.
import type { Clock, Timer } from '@capstan/kube';
import type { Engine, Table } from '../engine/index.ts';

export interface Instants {
  /** Keys are milliseconds since the epoch as decimal text. */
  readonly table: Table<boolean>;
  stop(): void;
}

export function createInstants(engine: Engine, clock: Clock): Instants {
  const timers = new Map<string, Timer>();
  const table: Table<boolean> = engine.table<boolean>({
    name: 'time',
    resolve: (key) => ({ value: clock.now() >= Number(key) }),
    demand: {
      key(key) {
        const wait = Number(key) - clock.now();
        if (wait <= 0) {
          table.put(key, true);
          return;
        }
        timers.set(key, clock.after(wait, () => come(key)));
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
    table,
    stop() {
      for (const timer of timers.values()) timer.cancel();
      timers.clear();
    },
  };
}
