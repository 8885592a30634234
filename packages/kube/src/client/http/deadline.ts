// Everything that can end a request from our side, as one signal: its time-out, the caller's signal, the transport's close.
import type { Clock } from '../../clock.ts';

export type EndedBy = 'timeout' | 'aborted' | 'closed';

export interface Deadline {
  readonly signal: AbortSignal;
  /** What ended it; undefined while nothing did. */
  readonly endedBy: EndedBy | undefined;
  end(by: EndedBy): void;
  /** The answer is there: only the caller's signal and the close count from now on. */
  stopTimer(): void;
  /** Nothing counts any more, and nothing is left behind. */
  release(): void;
  /** The promise's outcome, or a rejection as soon as the deadline ends. The promise goes on by itself. */
  race<T>(promise: Promise<T>): Promise<T>;
}

export function createDeadline(clock: Clock, timeoutMs: number, signal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let endedBy: EndedBy | undefined;
  const end = (by: EndedBy) => {
    if (endedBy !== undefined) return;
    endedBy = by;
    release();
    controller.abort();
  };
  const onAbort = () => end('aborted');
  const timer = clock.after(timeoutMs, () => end('timeout'));
  const release = () => {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  };
  if (signal?.aborted) end('aborted');
  else signal?.addEventListener('abort', onAbort, { once: true });

  return {
    signal: controller.signal,
    get endedBy() {
      return endedBy;
    },
    end,
    stopTimer: () => timer.cancel(),
    release,
    race: (promise) =>
      new Promise((resolve, reject) => {
        const lost = () => reject(new Error('the deadline ended first'));
        const settle = () => controller.signal.removeEventListener('abort', lost);
        if (controller.signal.aborted) lost();
        else controller.signal.addEventListener('abort', lost, { once: true });
        promise.then(resolve, reject).finally(settle);
      }),
  };
}
