// The one back-off of the project. Each wait is twice the one before, up to a longest one. Clients that failed together must not
// come back together, so a random half is taken off each wait. A wait is exact, without `random`, only where users read it, where
// a pure function computes it, or where the retries of many keys share a bucket that spreads them.
import type { Random } from '../clock.ts';

export interface BackOffLimits {
  /** The wait after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** No wait is longer, except one that a server asked for. */
  readonly longestMs: number;
  /** Each wait is so many times the one before; default 2. */
  readonly factor?: number;
}

/**
 * Returns how many milliseconds to wait after so many failures in a row; 1 is the first failure. With `askedMs` the wait is never
 * shorter than the server asked for.
 */
export function backOff(failures: number, limits: BackOffLimits, random?: Random, askedMs = 0): number {
  const { firstMs, longestMs, factor = 2 } = limits;
  const whole = Math.min(firstMs * factor ** (failures - 1), longestMs);
  if (random === undefined) return Math.max(whole, askedMs);
  const own = spread(whole, random);
  return askedMs === 0 ? own : Math.max(own, askedMs * (1 + random() / 10));
}

/** Takes up to half off a wait, so that clients that wait together come back apart. */
export function spread(ms: number, random: Random): number {
  return ms * (0.5 + random() / 2);
}
