import type { Clock, Timer } from '../clock.ts';

// A silent TCP connection looks like a quiet one. The watchdog gets the longest silence that is allowed and is fed at every
// sign of life; when it is not fed in time it barks once.

export interface Watchdog {
  /** A sign of life; with `limitMs` the patience changes too. */
  feed(limitMs?: number): void;
  stop(): void;
}

export function createWatchdog(clock: Clock, limitMs: number, bark: () => void): Watchdog {
  let limit = limitMs;
  let fedAt = clock.now();
  let timer: Timer | undefined;

  // One timer is moved lazily: feeding happens at every batch and must cost nothing.
  function arm(delay: number): void {
    timer?.cancel();
    timer = clock.after(delay, () => {
      const left = fedAt + limit - clock.now();
      if (left > 0) arm(left);
      else bark();
    });
  }

  arm(limit);
  return {
    feed(limitMs) {
      fedAt = clock.now();
      if (limitMs === undefined || limitMs === limit) return;
      const isShorter = limitMs < limit;
      limit = limitMs;
      if (isShorter) arm(limit);
    },
    stop() {
      timer?.cancel();
    },
  };
}
