// The life and death of one incarnation's connections. A dead process receives nothing any more: its requests stay unanswered until the
// clean-up aborts them or closes the transport.
import { connectionClosed, requestAborted } from '../errors.ts';

export interface Mortality {
  readonly dead: boolean;
  /** Settles as `promise` does while alive, and never after death (but see `hang`). */
  alive<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  /** Settles only by the signal or by `release`, as a rejection. */
  hang(signal: AbortSignal | undefined): Promise<never>;
  /** Calls back at death; returns how to take that back. */
  onDeath(call: () => void): () => void;
  die(): void;
  /** Rejects everything that hangs, now and later. */
  release(): void;
}

export function createMortality(address: string): Mortality {
  let dead = false;
  let released = false;
  const mourners = new Set<() => void>();
  const hanging = new Set<() => void>();

  const hang = (signal: AbortSignal | undefined): Promise<never> =>
    new Promise((_, reject) => {
      const end = () => {
        hanging.delete(end);
        signal?.removeEventListener('abort', end);
        reject(signal?.aborted ? requestAborted(address, signal) : connectionClosed(address));
      };
      if (released || signal?.aborted) {
        end();
        return;
      }
      hanging.add(end);
      signal?.addEventListener('abort', end);
    });

  return {
    get dead() {
      return dead;
    },
    alive<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
      if (dead) {
        // The result reaches no reader any more.
        promise.catch(() => {});
        return hang(signal);
      }
      return new Promise<T>((resolve, reject) => {
        const mourn = () => void hang(signal).catch(reject);
        mourners.add(mourn);
        // The one that has died was taken off the list, and does not hear the answer any more.
        const hear = () => {
          if (mourners.delete(mourn)) resolve(promise);
        };
        promise.then(hear, hear);
      });
    },
    hang,
    onDeath(call) {
      mourners.add(call);
      return () => mourners.delete(call);
    },
    die() {
      dead = true;
      const calls = [...mourners];
      mourners.clear();
      for (const call of calls) call();
    },
    release() {
      released = true;
      for (const end of hanging) end();
    },
  };
}
