// One thread serves every client. A burst of requests, or of long answers, would be worked off within one turn of the event loop, and
// requests that arrive meanwhile would wait for all of it. Work is therefore spread over turns: each turn has a budget, and the
// rest waits in a queue that is fair to users and connections.
import { createFairQueue, type Sender } from './fair-queue.ts';

export interface LoopTurns {
  /** Undefined: go on at once. Otherwise a promise that resolves when the sender may go on. */
  next(sender: Sender): Promise<void> | undefined;
}

export interface LoopTurnsOptions {
  /** Default performance.now. */
  now?: () => number;
  /** Calls back in the next turn; default setImmediate. */
  defer?: (call: () => void) => void;
}

/** A client notices less than this, and a commit of this many milliseconds of writes is large enough to be worth its fsync. */
const BUDGET_MS = 10;

export function createLoopTurns({
  now = () => performance.now(),
  defer = setImmediate,
}: LoopTurnsOptions = {}): LoopTurns {
  const waiting = createFairQueue<() => void>();
  let began: number | undefined;

  const hasTime = (): boolean => {
    if (began !== undefined) return now() - began < BUDGET_MS;
    began = now();
    defer(() => {
      began = undefined;
    });
    return true;
  };
  // One callback for each that waits: promises run between callbacks, so the time that one has taken is known before the next.
  const serve = (): void => {
    if (hasTime()) waiting.shift()?.();
    else defer(serve);
  };

  return {
    next(sender) {
      if (waiting.size === 0 && hasTime()) return undefined;
      return new Promise((resolve) => {
        waiting.push(sender, resolve);
        defer(serve);
      });
    },
  };
}
