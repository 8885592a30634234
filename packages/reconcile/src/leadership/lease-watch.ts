// A contender learns of each renewal when it is written, so that it counts the Lease's duration from then and not from its next
// look, and of a Lease that is given back at once. The watch is a shortcut: without it (no permission, a server that does not
// answer) the contender looks by itself.
import {
  type Client,
  type Clock,
  isForbidden,
  isNewerResourceVersion,
  Lease,
  type Logger,
  type ObjectRef,
  sleep,
} from '@capstan/kube/cluster';

export interface LeaseWatchOptions {
  client: Client;
  clock: Clock;
  lease: Required<ObjectRef>;
  /** Between the end of one watch and the next. */
  retryMs: number;
  logger: Logger;
  /** Called with every state of the Lease that is newer than the last. */
  see(lease: Lease): void;
}

export interface LeaseWatch {
  /** Whether renewals are expected to be reported. */
  readonly isOpen: boolean;
  /** Resolves at the next state that is seen, or when the watch opens or ends. */
  changed(): Promise<void>;
  start(): void;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

/** A permission that is missing now may be granted by an upgrade later. */
const FORBIDDEN_PAUSE_MS = 60_000;
const TIMEOUT_SECONDS = 300;

export function createLeaseWatch(options: LeaseWatchOptions): LeaseWatch {
  const { client, clock, lease: ref, retryMs, logger } = options;
  let running: { stop: AbortController; ended: Promise<void> } | undefined;
  /** The signal of the run whose watch is open. */
  let open: AbortSignal | undefined;
  let next = Promise.withResolvers<void>();
  let newest: string | undefined;

  function announce(): void {
    next.resolve();
    next = Promise.withResolvers();
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pauseMs = retryMs;
      try {
        await follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isForbidden(error)) pauseMs = FORBIDDEN_PAUSE_MS;
        logger.debug('the lease cannot be watched; it is read from time to time', { error });
      } finally {
        if (open === signal) {
          open = undefined;
          announce();
        }
      }
      await sleep(clock, pauseMs, signal).catch(() => {});
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    const { namespace, name } = ref;
    const fieldSelector = `metadata.name=${name}`;
    const stream = await client.watch(Lease, { namespace, fieldSelector, timeoutSeconds: TIMEOUT_SECONDS, signal });
    if (signal.aborted) return;
    open = signal;
    announce();
    for await (const events of stream) {
      if (signal.aborted) return;
      for (const { type, object } of events) {
        // A version that is too old, for one: the next watch begins with the Lease as it is.
        if (type === 'ERROR') return;
        if (type === 'ADDED' || type === 'MODIFIED') take(object as Lease);
      }
      announce();
    }
  }

  /** A new watch may begin with a state that an earlier one has gone past. */
  function take(lease: Lease): void {
    const { resourceVersion } = lease.metadata;
    if (isNewerResourceVersion(newest, resourceVersion)) return;
    newest = resourceVersion;
    options.see(lease);
  }

  return {
    get isOpen() {
      return open !== undefined && !open.aborted;
    },
    changed: () => next.promise,
    start() {
      if (running !== undefined) return;
      const stop = new AbortController();
      running = { stop, ended: run(stop.signal) };
    },
    async stop() {
      const stopped = running;
      running = undefined;
      stopped?.stop.abort();
      await stopped?.ended;
    },
  };
}
