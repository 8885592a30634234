import type { Clock } from '@capstan/kube/cluster';

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
