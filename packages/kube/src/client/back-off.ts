// The one back-off of the project. Each wait is twice the previous one, up to a limit. Clients that failed together must not retry
// together, so up to half of each wait is removed at random. A wait is exact (without `random`) only if users read it, if a pure function
// computes it, or if the retries of many keys share a bucket that spreads them.
import type { Random } from '../clock.ts';

export interface BackOffLimits {
  /** The wait after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** No wait is longer, except one that a server requested. */
  readonly longestMs: number;
  /** The ratio of each wait to the previous one. Default: 2. */
  readonly factor?: number;
}

/**
 * Returns the milliseconds to wait after this many consecutive failures; 1 is the first failure. The wait is never shorter than `askedMs`,
 * which the server requested.
 */
export function backOff(failures: number, limits: BackOffLimits, random?: Random, askedMs = 0): number {
  const { firstMs, longestMs, factor = 2 } = limits;
  const whole = Math.min(firstMs * factor ** (failures - 1), longestMs);
  if (random === undefined) return Math.max(whole, askedMs);
  const own = spread(whole, random);
  return askedMs === 0 ? own : Math.max(own, askedMs * (1 + random() / 10));
}

/** Removes up to half of a wait, so that clients that wait together retry at different times. */
export function spread(ms: number, random: Random): number {
  return ms * (0.5 + random() / 2);
}
