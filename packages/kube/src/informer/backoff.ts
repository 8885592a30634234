import type { Random } from '../clock.ts';

export interface Backoff {
  /** The next delay in milliseconds: doubles from 0.8 s to 30 s; a random half of each is taken off, so that clients spread. */
  next(): number;
  reset(): void;
}

export function createBackoff(random: Random): Backoff {
  let base = FIRST_MS;
  return {
    next() {
      const delay = base * (0.5 + random() / 2);
      base = Math.min(base * 2, LONGEST_MS);
      return delay;
    },
    reset() {
      base = FIRST_MS;
    },
  };
}

const FIRST_MS = 800;
const LONGEST_MS = 30_000;
