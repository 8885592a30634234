import type { Clock, Timer } from '@capstan/kube/cluster';

/**
 * A span of time that is over as soon as either the clock or a timer reports its end. The clock alone is not enough: set back, it would
 * stretch the term. The timer alone is not enough: in a process that was paused it fires late.
 */
export interface Term {
  readonly isOver: boolean;
  /** Calls once, when the timer ends the term. */
  onOver(call: () => void): void;
  /** Ends the term without a call. */
  end(): void;
}

export function startTerm(clock: Clock, ms: number): Term {
  const until = clock.now() + ms;
  let isOver = false;
  let call: (() => void) | undefined;
  const timer: Timer = clock.after(ms, () => {
    isOver = true;
    call?.();
  });
  return {
    get isOver() {
      return isOver || clock.now() >= until;
    },
    onOver(listener) {
      call = listener;
    },
    end() {
      isOver = true;
      timer.cancel();
    },
  };
}
