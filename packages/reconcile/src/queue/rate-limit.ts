import { backOff, type Clock } from '@capstan/kube/cluster';

/** How long a key that failed waits before its next try. */
export interface RetryLimits {
  /** After the first failure of a key; default 5. */
  baseMs?: number;
  /** The longest wait of a key; default 1,000,000 (16 min 40 s). */
  maxMs?: number;
  /** Retries of all keys together, a second, in the long run; default 10. Infinity switches the bucket off. */
  perSecond?: number;
  /** Retries of all keys together that may go out at once; default 100. */
  burst?: number;
}

export interface RetryLimiter<K> {
  /** Counts one more failure of the key and shows how many milliseconds its retry has to wait. */
  delay(key: K): number;
  /** How often the key has failed since it was forgotten. */
  failures(key: K): number;
  forget(key: K): void;
}

const BASE_MS = 5;
const MAX_MS = 1_000_000;

/** Returns how long a key that has failed so often waits at least. */
export function keyBackOff(failures: number, firstMs = BASE_MS, longestMs = MAX_MS): number {
  return backOff(failures, { firstMs, longestMs });
}

/** The longer of two waits: the key's own exponential one, and its turn in the bucket that all retries share. The bucket spreads them. */
export function createRetryLimiter<K>(clock: Clock, limits: RetryLimits = {}): RetryLimiter<K> {
  const { baseMs = BASE_MS, maxMs = MAX_MS, perSecond = 10, burst = 100 } = limits;
  const failures = new Map<K, number>();
  const bucket = createBucket(clock, perSecond, burst);
  return {
    delay(key) {
      const failed = failures.get(key) ?? 0;
      failures.set(key, failed + 1);
      return Math.max(keyBackOff(failed + 1, baseMs, maxMs), bucket.reserve());
    },
    failures: (key) => failures.get(key) ?? 0,
    forget(key) {
      failures.delete(key);
    },
  };
}

export interface Bucket {
  /** Takes a token, on credit if there is none, and returns the milliseconds until it is earned. */
  reserve(): number;
  /** Takes a token if there is one. */
  take(): boolean;
}

/** A token bucket: full at first, never above `burst`. */
export function createBucket(clock: Clock, perSecond: number, burst: number): Bucket {
  let tokens = burst;
  let filledAt = clock.now();

  function fill(): void {
    const now = clock.now();
    // A clock that is set back earns nothing, and must not take anything away.
    if (now > filledAt) tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * perSecond);
    filledAt = now;
  }

  return {
    reserve() {
      if (perSecond === Number.POSITIVE_INFINITY) return 0;
      fill();
      tokens -= 1;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
    },
    take() {
      fill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
