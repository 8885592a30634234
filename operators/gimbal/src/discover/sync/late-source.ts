// A source that can be opened only with credentials that are there and can be read. Until then it is not live and shows why; it
// is retried, because a Secret that is missing now may be created later, and restarting the process would not help.
import { backOff, type Clock, type Logger, sleep } from '@capstan/kube/cluster';
import { ABSENT } from '../mirror/mirror.ts';
import type { Problem } from '../mirror/problem.ts';
import { createListeners, type Source } from './source.ts';

export interface LateSourceOptions {
  /** Throws when it cannot be opened. */
  open(signal: AbortSignal): Promise<Source>;
  problemOf(error: unknown): Problem;
  clock: Clock;
  logger: Logger;
}

const BACK_OFF = { firstMs: 5_000, longestMs: 300_000 };

export function createLateSource({ open, problemOf, clock, logger }: LateSourceOptions): Source {
  const listeners = createListeners();
  let source: Source | undefined;
  let failure: Problem | undefined;

  async function opened(signal: AbortSignal): Promise<Source | undefined> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await open(signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        failure = problemOf(error);
        logger.error(failure.message, { type: failure.type });
        listeners.state();
        await sleep(clock, backOff(failures, BACK_OFF), signal).catch(() => {});
      }
    }
    return undefined;
  }

  return {
    get isSynced() {
      return source?.isSynced ?? false;
    },
    get isLive() {
      return source?.isLive ?? false;
    },
    get failure() {
      return source === undefined ? failure : source.failure;
    },
    get identity() {
      return source?.identity;
    },
    keys: () => source?.keys() ?? [],
    find: (key) => source?.find(key) ?? ABSENT,
    problems: () => source?.problems() ?? [],
    subscribe: (listener) => listeners.add(listener),
    async run(signal) {
      source = await opened(signal);
      if (source === undefined) return;
      const end = source.subscribe(listeners);
      listeners.state();
      await source.run(signal);
      end();
    },
  };
}
