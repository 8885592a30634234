// The steps of large requests. One of them runs at a time, in an order that is fair to users and requests. The event loop is then left to
// other requests for as long as the step took, so that a request with several turns of the loop meets one step and not one in each turn.
import { createFairQueue, type Sender } from './fair-queue.ts';

export interface LargeSteps {
  /** Resolves when the next step of a large request may run. */
  next(sender: Sender): Promise<void>;
}

export interface LargeStepsOptions {
  /** Default performance.now. */
  now?: () => number;
  /** Calls back in the next turn of the event loop; default setImmediate. */
  defer?: (call: () => void) => void;
  /** Calls back after some milliseconds; default setTimeout. */
  after?: (ms: number, call: () => void) => void;
}

/** Steps that are shorter follow each other at once. */
const SHORT_MS = 5;
/** A step that took longer than this was interrupted by other programs of the machine. */
const MAX_GAP_MS = 100;

export function createLargeSteps({
  now = () => performance.now(),
  defer = setImmediate,
  after = (ms, call) => setTimeout(call, ms),
}: LargeStepsOptions = {}): LargeSteps {
  const waiting = createFairQueue<() => void>();
  let isBusy = false;

  const run = (): void => {
    const step = waiting.shift();
    isBusy = step !== undefined;
    if (!step) return;
    let began = 0;
    defer(() => {
      began = now();
      step();
    });
    // The step runs in the microtasks between the two callbacks.
    defer(() => {
      const took = now() - began;
      if (took < SHORT_MS) run();
      else after(Math.min(took, MAX_GAP_MS), run);
    });
  };

  return {
    next(sender) {
      return new Promise((resolve) => {
        waiting.push(sender, resolve);
        if (!isBusy) run();
      });
    },
  };
}
