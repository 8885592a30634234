// Errors that no part of the program has caught. One of them concerns a connection, a timer or a promise, and all other work goes on: it is
// logged and counted, and Envoys are served.
import type { Clock, Logger } from '@capstan/kube';

export interface LastResort {
  /** Errors since the start. */
  readonly count: number;
  close(): void;
}

/** A process; tests have others. */
export interface ErrorSource {
  on(event: 'uncaughtException' | 'unhandledRejection', listener: (reason: unknown) => void): unknown;
  off(event: 'uncaughtException' | 'unhandledRejection', listener: (reason: unknown) => void): unknown;
}

/** Errors that follow one another faster are counted, and the next line has their number. */
const LOG_EVERY_MS = 1_000;

export function keepServing(source: ErrorSource, { clock, logger }: { clock: Clock; logger: Logger }): LastResort {
  let count = 0;
  let unlogged = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  const take = (reason: unknown) => {
    count += 1;
    unlogged += 1;
    if (clock.now() < loggedAt + LOG_EVERY_MS) return;
    loggedAt = clock.now();
    logger.error('an error was not handled where it occurred; Sesame goes on serving', {
      errors: unlogged,
      error: reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
    });
    unlogged = 0;
  };
  source.on('uncaughtException', take);
  source.on('unhandledRejection', take);
  return {
    get count() {
      return count;
    },
    close() {
      source.off('uncaughtException', take);
      source.off('unhandledRejection', take);
    },
  };
}
