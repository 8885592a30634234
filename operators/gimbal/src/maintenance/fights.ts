// Another client writes the same fields: a person who did not know about the maintenance, or a tool that restores the content of its
// repository. Each time is recorded with the route. Three times within ten minutes is a fight. Writing faster does not win a fight, so from
// then on the operator waits, longer each time.
import { backOff } from '@capstan/kube/values';
import type { Reader } from '@capstan/reconcile';

const WINDOW_S = 600;
const TOLERATED = 3;
const BACK_OFF = { firstMs: 30_000, longestMs: 600_000 };

export interface Fight {
  /** Times to remember, in seconds since 1970, the oldest first. */
  readonly times: readonly number[];
  /** Whether it has become one. */
  readonly isConflict: boolean;
  /** Not yet: the last one is too recent. */
  readonly isWaiting: boolean;
}

/** Decides the reaction to an overwrite now, given the earlier times. */
export function judgeFight(read: Pick<Reader, 'reached'>, before: readonly number[], now: () => number): Fight {
  const recent = before.filter((time) => !read.reached((time + WINDOW_S) * 1000));
  const last = recent.at(-1);
  if (last !== undefined && recent.length >= TOLERATED) {
    const waitMs = backOff(recent.length - TOLERATED + 1, BACK_OFF);
    if (!read.reached(last * 1000 + waitMs)) return { times: recent, isConflict: true, isWaiting: true };
  }
  const times = [...recent, now()].slice(-MOST);
  return { times, isConflict: times.length >= TOLERATED, isWaiting: false };
}

/** More are not needed to wait longest. */
const MOST = 8;

/** Whether a fight is still on: no other field manager has overwritten us just now, but the last time is recent. */
export function isFighting(read: Pick<Reader, 'reached'>, times: readonly number[]): boolean {
  return times.filter((time) => !read.reached((time + WINDOW_S) * 1000)).length >= TOLERATED;
}
