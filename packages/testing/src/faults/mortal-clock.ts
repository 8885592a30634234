// The clock of one incarnation of a process. A simulation that abandons an incarnation (a crash) must also silence its
// timers, or the dead would go on acting beside their successor.
import type { Clock, Timer } from '@capstan/kube';

export interface MortalClock extends Clock {
  /** From now on nothing that waits on this clock goes on; its timers are gone from the clock below. */
  kill(): void;
}

/** A view of `clock` that can be killed with everything that waits on it. */
export function mortalClock(clock: Clock): MortalClock {
  let dead = false;
  const timers = new Set<Timer>();
  return {
    now: () => clock.now(),
    after(ms, call) {
      if (dead) return { cancel() {} };
      const timer = clock.after(ms, () => {
        timers.delete(timer);
        call();
      });
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
    async yield() {
      await clock.yield();
      if (dead) await new Promise(() => {});
    },
    kill() {
      dead = true;
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}
