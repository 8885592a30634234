import type { WatchEvent } from '../client/transport.ts';
import type { Logger } from '../logger.ts';
import type { FailureReason } from './failure.ts';

/** Hooks for metrics; each may be left out. Staleness is not pushed: read `informer.staleness()` when it is scraped. */
export interface InformerObserver {
  listed?(list: { durationMs: number; objects: number; pages: number; isStreamed: boolean }): void;
  /** A watch ended and another will follow: `ended` is the server's own, orderly end. */
  watchRestarted?(cause: RestartCause): void;
  /** `replayed` is the number of events in the batch without new information. */
  received?(batch: { counts: Readonly<Partial<Record<WatchEvent['type'], number>>>; replayed: number }): void;
}

export type RestartCause = 'ended' | FailureReason;

/** The same hooks; one that throws does no harm. */
export function safeObserver(observer: InformerObserver | undefined, logger: Logger): Required<InformerObserver> {
  const safely = (call: () => void): void => {
    try {
      call();
    } catch (error) {
      logger.error('a metrics hook of the informer threw', { error });
    }
  };
  return {
    listed: (list) => safely(() => observer?.listed?.(list)),
    watchRestarted: (cause) => safely(() => observer?.watchRestarted?.(cause)),
    received: (batch) => safely(() => observer?.received?.(batch)),
  };
}
