// All local reasons to end a request: its time-out, the caller's signal, the transport's close.
import type { Clock } from '../../clock.ts';

export type EndedBy = 'timeout' | 'aborted' | 'closed';

export interface Deadline {
  /** The reason of the end; undefined before it. */
  readonly endedBy: EndedBy | undefined;
  end(by: EndedBy): void;
  /** Calls back at the end, or at once if it has already ended. Returns a function that removes the callback. */
  onEnd(call: () => void): () => void;
  /** Stops the time-out once the answer has arrived. The caller's signal and the close still apply. */
  stopTimer(): void;
  /** Removes the timer and all listeners. */
  release(): void;
  /** Settles like the promise, or rejects as soon as the deadline ends. The promise itself continues. */
  race<T>(promise: Promise<T>): Promise<T>;
}

export function createDeadline(clock: Clock, timeoutMs: number, signal: AbortSignal | undefined): Deadline {
  const calls = new Set<() => void>();
  let endedBy: EndedBy | undefined;
  const end = (by: EndedBy) => {
    if (endedBy !== undefined) return;
    endedBy = by;
    release();
    for (const call of calls) call();
    calls.clear();
  };
  const onAbort = () => end('aborted');
  const timer = clock.after(timeoutMs, () => end('timeout'));
  const release = () => {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  };
  if (signal?.aborted) end('aborted');
  else signal?.addEventListener('abort', onAbort, { once: true });

  function onEnd(call: () => void): () => void {
    if (endedBy !== undefined) call();
    else calls.add(call);
    return () => void calls.delete(call);
  }

  return {
    get endedBy() {
      return endedBy;
    },
    end,
    onEnd,
    stopTimer: () => timer.cancel(),
    release,
    race: (promise) =>
      new Promise((resolve, reject) => {
        const forget = onEnd(() => reject(new Error('the deadline ended first')));
        promise.then(resolve, reject).finally(forget);
      }),
  };
}
