// The times of evaluation: as soon as a change is pending, once a turn of the event loop, so that changes that arrive together are taken in
// together. After a write, a wave is requested at once.
import { type Clock, type Logger, sleep } from '@capstan/kube/cluster';
import type { Engine, Wave } from '../engine/index.ts';

export interface Waves {
  /** To be called when changes become pending. */
  pending(): void;
  /**
   * Takes in the pending changes; resolves after the changes of their wave have been handed over. It does not wait for later waves: keys
   * that change all the time must not hold up the others.
   */
  settle(): Promise<void>;
  /** Resolves when every new object has been evaluated, or after a while: serving many new objects goes before reporting about them. */
  caughtUp(): Promise<void>;
  /** Whether nothing is pending or running. */
  readonly isIdle: boolean;
  stop(): Promise<void>;
}

/** So that reports go on, slowly, while new objects keep coming faster than they can be evaluated. */
const CATCH_UP_MS = 500;
/** How often it is asked whether there is more to gather. */
const GATHER_MS = 10;

export function createWaves(options: {
  clock: Clock;
  logger: Logger;
  engine: () => Engine;
  onWave(wave: Wave): void;
  /** While it returns true, pending changes wait for more; settled ones do not. */
  isGathering?(): boolean;
}): Waves {
  const { clock, logger } = options;
  let isScheduled = false;
  let running: Promise<void> | undefined;
  let isPending = false;
  let isStopped = false;
  /** How many waves have begun, and how many of them are over. */
  let begun = 0;
  let ended = 0;
  const waiters = new Set<{ readonly wave: number; resolve(): void }>();

  async function flush(): Promise<void> {
    isPending = false;
    begun++;
    try {
      const engine = options.engine();
      options.onWave(await engine.flush());
      engine.forgetWave();
    } catch (error) {
      logger.error('a wave could not be finished; this is a bug', { error });
    }
    ended = begun;
    release((wave) => wave <= ended);
  }

  function release(isOver: (wave: number) => boolean): void {
    for (const waiter of waiters) {
      if (!isOver(waiter.wave)) continue;
      waiters.delete(waiter);
      waiter.resolve();
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

  async function settle(): Promise<void> {
    if (isStopped || (!isPending && running === undefined)) return;
    const wave = isPending ? begun + 1 : begun;
    void start();
    if (ended < wave) await new Promise<void>((resolve) => waiters.add({ wave, resolve }));
  }

  async function schedule(): Promise<void> {
    isScheduled = true;
    await clock.yield();
    while (options.isGathering?.() && !isStopped) await sleep(clock, GATHER_MS);
    isScheduled = false;
    await start();
  }

  return {
    pending() {
      isPending = true;
      if (!isScheduled && !isStopped) void schedule();
    },
    settle,
    async caughtUp() {
      const deadline = clock.now() + CATCH_UP_MS;
      const isBehind = () => options.engine().newcomers > 0 && (isPending || running !== undefined);
      while (!isStopped && isBehind() && clock.now() < deadline) await settle();
    },
    get isIdle() {
      return !isPending && running === undefined;
    },
    async stop() {
      isStopped = true;
      await running;
      release(() => true);
    },
  };
}
