// When the engine evaluates: as soon as something is pending, once a turn of the event loop, so that what arrives together
// is taken in together. Whoever has just written asks for a wave at once.
import type { Clock, Logger } from '@capstan/kube';
import type { Engine, Wave } from '../engine/index.ts';

export interface Waves {
  /** To be called when changes become pending. */
  pending(): void;
  /** Takes in what is pending now; resolves after the wave's changes have been handed over. */
  settle(): Promise<void>;
  /** Whether nothing is pending or running. */
  readonly isIdle: boolean;
  stop(): Promise<void>;
}

export function createWaves(options: {
  clock: Clock;
  logger: Logger;
  engine: () => Engine;
  onWave(wave: Wave): void;
}): Waves {
  const { clock, logger } = options;
  let isScheduled = false;
  let running: Promise<void> | undefined;
  let isPending = false;
  let isStopped = false;

  async function flush(): Promise<void> {
    isPending = false;
    try {
      options.onWave(await options.engine().flush());
    } catch (error) {
      logger.error('a wave could not be finished; this is a bug', { error });
    }
  }

  /** One wave after the other, until nothing is pending. */
  async function drain(): Promise<void> {
    while (isPending && !isStopped) await flush();
  }

  function start(): Promise<void> {
    running ??= drain().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    pending() {
      isPending = true;
      if (isScheduled || isStopped) return;
      isScheduled = true;
      void clock.yield().then(() => {
        isScheduled = false;
        return start();
      });
    },
    async settle() {
      while ((isPending || running !== undefined) && !isStopped) await start();
    },
    get isIdle() {
      return !isPending && running === undefined;
    },
    async stop() {
      isStopped = true;
      await running;
    },
  };
}
