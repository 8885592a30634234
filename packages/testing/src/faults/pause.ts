import type { Clock } from '@capstan/kube';
import { requestAborted } from '../errors.ts';

/** Resolves after `ms`, or earlier when `subscribe` calls back; rejects as a transport does when the signal is aborted. */
export function pause(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  address: string,
  subscribe?: (wake: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      timer.cancel();
      unsubscribe?.();
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(requestAborted(address, signal));
      else resolve();
    };
    const timer = clock.after(ms, end);
    const unsubscribe = subscribe?.(end);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end);
  });
}
