// Time is an argument: every component that waits takes a Clock, so that tests move time by hand and replay it.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once, `ms` from now, never synchronously. */
  after(ms: number, call: () => void): Timer;
  /** Lets other work of the event loop run, then resolves. */
  yield(): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    // setTimeout overflows beyond 2^31-1 ms (24.8 days) and would fire at once.
    const timer = ms > MAX_TIMEOUT ? chain(ms, call) : plain(ms, call);
    return timer;
  },
  yield: () => new Promise((resolve) => setImmediate(resolve)),
};

const MAX_TIMEOUT = 2 ** 31 - 1;

function plain(ms: number, call: () => void): Timer {
  const handle = setTimeout(call, ms);
  return { cancel: () => clearTimeout(handle) };
}

function chain(ms: number, call: () => void): Timer {
  let current = plain(MAX_TIMEOUT, () => {
    current = systemClock.after(ms - MAX_TIMEOUT, call);
  });
  return { cancel: () => current.cancel() };
}

/** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortReason(signal));
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(abortReason(signal));
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}

/** A source of random numbers in [0, 1). */
export type Random = () => number;

/** Resolves when the signal is aborted, or at once if it is already aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
