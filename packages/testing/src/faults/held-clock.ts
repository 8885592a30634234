// A clock that stands still while a test makes its edits. Delayed work after the last edit then depends on the edits alone, and not on the
// time that a busy machine takes between two of them.
import type { Clock, Timer } from '@capstan/kube';

export interface HeldClock extends Clock {
  /** From now on time stands still, and no timer fires. */
  hold(): void;
  /** Time continues from the instant at which it stood still. */
  release(): void;
}

interface Waiting {
  readonly at: number;
  readonly call: () => void;
  timer: Timer | undefined;
}

/** A view of `clock` that can be held. */
export function heldClock(clock: Clock): HeldClock {
  let heldAt: number | undefined;
  let behind = 0;
  const waiting = new Set<Waiting>();
  const now = () => heldAt ?? clock.now() - behind;
  const arm = (one: Waiting) => {
    one.timer = clock.after(Math.max(0, one.at - now()), () => {
      waiting.delete(one);
      one.call();
    });
  };
  return {
    now,
    after(ms, call) {
      const one: Waiting = { at: now() + ms, call, timer: undefined };
      waiting.add(one);
      if (heldAt === undefined) arm(one);
      return {
        cancel() {
          waiting.delete(one);
          one.timer?.cancel();
        },
      };
    },
    yield: () => clock.yield(),
    hold() {
      heldAt ??= now();
      for (const { timer } of waiting) timer?.cancel();
    },
    release() {
      if (heldAt === undefined) return;
      behind = clock.now() - heldAt;
      heldAt = undefined;
      for (const one of waiting) arm(one);
    },
  };
}
