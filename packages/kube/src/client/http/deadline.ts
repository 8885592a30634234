// Everything that can end a request from our side: its time-out, the caller's signal, the transport's close.
import type { Clock } from '../../clock.ts';

export type EndedBy = 'timeout' | 'aborted' | 'closed';

export interface Deadline {
  /** What ended it; undefined while nothing did. */
  readonly endedBy: EndedBy | undefined;
  end(by: EndedBy): void;
  /** Calls back when it ends, at once if it has; returns what forgets that. */
  onEnd(call: () => void): () => void;
  /** The answer is there: only the caller's signal and the close count from now on. */
  stopTimer(): void;
  /** Nothing counts any more, and nothing is left behind. */
  release(): void;
  /** The promise's outcome, or a rejection as soon as the deadline ends. The promise goes on by itself. */
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
