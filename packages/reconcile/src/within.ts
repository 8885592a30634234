import { type Clock, sleep } from '@capstan/kube/cluster';

/** Makes a call whose signal is aborted, and which rejects, after `ms` or with the outer signal, whether or not the call heeds it. */
export async function within<T>(
  clock: Clock,
  ms: number,
  outer: AbortSignal | undefined,
  make: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const over = Promise.withResolvers<never>();
  const give = (reason: Error) => {
    over.reject(reason);
    controller.abort(reason);
  };
  const stop = () => give(new Error('stopped', { cause: outer?.reason }));
  const timer = clock.after(ms, () => give(new Error(`no answer within ${ms} ms`)));
  outer?.addEventListener('abort', stop, { once: true });
  try {
    outer?.throwIfAborted();
    return await Promise.race([make(controller.signal), over.promise]);
  } finally {
    timer.cancel();
    outer?.removeEventListener('abort', stop);
  }
}

/** Ends when the work does or the signal is aborted, whichever is first: work that ignores its signal holds nothing up. */
export async function withSignal<V>(work: PromiseLike<V>, signal: AbortSignal): Promise<V> {
  const over = Promise.withResolvers<never>();
  const onAbort = () => over.reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits for work, whatever becomes of it, and no longer than `ms`. Returns whether it has ended. */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const stop = new AbortController();
  const ended = () => true;
  try {
    return await Promise.race([
      work.then(ended, ended),
      sleep(clock, ms, stop.signal).then(
        () => false,
        () => false,
      ),
    ]);
  } finally {
    stop.abort();
  }
}
