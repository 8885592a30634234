// Leader election by a Lease. A holder writes the lease every `retryMs`; it holds from the moment a write succeeds until `renewMs` after
// that write was *sent*. A contender takes the lease over when it has not seen it change for the lease's duration, counted by its own
// timers from when it saw it; times in the lease are for people to read. It sees each renewal through a watch, or at its next poll where it
// cannot watch. So clocks need not agree: a contender saw the last renewal after it was sent, and waits longer (15 s) than the holder holds
// (10 s); the difference is the permitted drift between the two. Every write carries a resourceVersion, so one of two writers gets
// Conflict, and a request that arrives late changes nothing.

import {
  type Client,
  type Clock,
  isNewerResourceVersion,
  Lease,
  type Logger,
  type ObjectRef,
  type OwnerReference,
  type Random,
  silentLogger,
  sleep,
} from '@capstan/kube/cluster';
import { LeadershipErrors } from '../errors.ts';
import { within } from '../within.ts';
import type { Leadership } from './leadership.ts';
import { heldLease, holderOf, type LeaseTimes, releasedLease } from './lease-record.ts';
import { createLeaseWatch } from './lease-watch.ts';
import { createPatience } from './patience.ts';
import { startTerm, type Term } from './term.ts';

export interface LeaderElectionOptions {
  client: Client;
  clock: Clock;
  random: Random;
  lease: Required<ObjectRef>;
  /** Unique to this process: the one that has the same identity shares the lease. */
  identity: string;
  /** Default 15 s, 10 s, 2 s, as client-go; each must be clearly less than the one before. */
  times?: Partial<LeaseTimes>;
  /**
   * The reason why this process must not lead now; asked before every try. A holder stops to write at once and does not renew:
   * others take the lease when it has run out, so that writes under way have ended by then. Default: it may always lead.
   */
  unfit?: () => string | undefined;
  /**
   * The object of the same namespace with which a Lease that this process creates is deleted; a Lease that exists is left as it is. Its
   * processes must have ended by then: a contender takes a deleted Lease at once. Default: none.
   */
  owner?: (signal: AbortSignal) => Promise<OwnerReference | undefined>;
  logger?: Logger;
  observe?: LeadershipObserver;
}

export interface LeadershipObserver {
  changed(holds: boolean): void;
  /** A renewal could not be made by one write and had to read the lease again. */
  slowPath(): void;
  /** A try to take or renew the lease ended, with the error that the server answered, if any. */
  tried?(error: unknown): void;
}

export interface LeaderElection extends Leadership {
  /** Who held the lease when it was last seen. */
  readonly holder: string | undefined;
}

/** Contenders wait up to this share longer between tries, so that they do not come all at once. */
const SPREAD = 0.2;
/** A holder renews every `retryMs`; a watch that has brought nothing for this many of them is not relied on. */
const MISSED_RENEWALS = 2;
/** A holder must be able to renew more than once before its term is over, as client-go demands it. */
const JITTER = 1.2;

export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { client, clock, random, identity, lease: ref, observe } = options;
  const times = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000, ...options.times };
  checkTimes(times);
  const logger = (options.logger ?? silentLogger).with({ lease: `${ref.namespace}/${ref.name}`, identity });
  const listeners = new Set<(holds: boolean) => void>();
  const patience = createPatience(clock, times.leaseMs);
  const watch = createLeaseWatch({
    client,
    clock,
    lease: ref,
    retryMs: times.retryMs,
    logger,
    see(lease) {
      if (!isNewerResourceVersion(patience.lease?.metadata.resourceVersion, lease.metadata.resourceVersion))
        patience.see(lease);
    },
  });
  /** Set while this process holds the lease, as far as it knows. */
  let term: Term | undefined;
  let waitingFor: string | undefined;
  let standsBackFor: string | undefined;
  /** A lease that ran out wakes once: when it cannot be taken then, the next try comes after the usual pause. */
  let wokenBy: Promise<void> | undefined;

  const holds = () => term !== undefined && !term.isOver;

  async function run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const reason = options.unfit?.();
        if (reason === undefined) await contend(signal);
        else standBack(reason);
        if (holds()) await sleep(clock, times.retryMs, signal);
        else await nextTry(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      lose('stopped');
      await watch.stop();
      await release();
      patience.end();
    }
  }

  /** A contender looks again after a while, at once when the lease is given back, and once when the lease runs out. */
  async function nextTry(signal: AbortSignal): Promise<void> {
    watch.start();
    for (;;) {
      const usual = times.retryMs * (1 + SPREAD * random());
      const over = patience.ranOut();
      const hasRunOut = over === wokenBy;
      const pauseMs = watch.isOpen && !hasRunOut ? Math.max(usual, times.retryMs * MISSED_RENEWALS) : usual;
      const waiting = new AbortController();
      const pause = sleep(clock, pauseMs, AbortSignal.any([signal, waiting.signal])).then(
        () => 'look' as const,
        () => 'look' as const,
      );
      const woken = over.then(() => {
        wokenBy = over;
        return 'look' as const;
      });
      const seen = watch.changed().then(() => 'seen' as const);
      const first = await Promise.race([pause, seen, ...(hasRunOut ? [] : [woken])]);
      waiting.abort();
      await pause;
      signal.throwIfAborted();
      if (first === 'look' || holderOf(patience.lease) === undefined) return;
    }
  }

  /** One try to take or renew the lease. */
  async function contend(signal: AbortSignal): Promise<void> {
    try {
      if (holds() && (await renewFast(signal))) return;
      const lease = await call(signal, (timed) => client.find(Lease, ref, { signal: timed }));
      if (lease !== undefined) patience.see(lease);
      if (patience.isOver(identity)) await write(lease, signal);
      else {
        lose(`held by ${patience.holder}`);
        reportWaiting();
      }
      observe?.tried?.(undefined);
    } catch (error) {
      if (signal.aborted) return;
      observe?.tried?.(error);
      logger.warn(holds() ? 'the lease could not be renewed; trying again' : 'the lease could not be taken', { error });
    }
  }

  /** Neither takes nor renews the lease. */
  function standBack(reason: string): void {
    lose(reason);
    if (reason === standsBackFor) return;
    standsBackFor = reason;
    logger.warn('the lease is left to other instances', { reason });
  }

  /** Once for each holder: an instance that seems to do nothing is explained by this line. */
  function reportWaiting(): void {
    const { holder } = patience;
    if (holder === waitingFor) return;
    waitingFor = holder;
    logger.info('waiting for the lease, which another instance holds', { holder });
  }

  /** A renewal is usually one write, based on our last one. */
  async function renewFast(signal: AbortSignal): Promise<boolean> {
    try {
      await write(patience.lease, signal);
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      observe?.slowPath();
      logger.debug('the lease moved on, or its server did not answer; reading it again', { error });
      return false;
    }
  }

  async function write(previous: Lease | undefined, signal: AbortSignal): Promise<void> {
    const next = heldLease(ref, previous, identity, times.leaseMs, clock.now());
    // Counted from before the request is sent: the server may have processed it at any time since.
    const granted = startTerm(clock, times.renewMs);
    try {
      patience.see(await call(signal, (timed) => put(next, timed)));
    } catch (error) {
      granted.end();
      throw error;
    }
    hold(granted);
  }

  async function put(lease: Lease, signal: AbortSignal): Promise<Lease> {
    if (lease.metadata.resourceVersion === undefined) {
      const owner = await options.owner?.(signal);
      const metadata = owner ? { ...lease.metadata, ownerReferences: [owner] } : lease.metadata;
      return client.create(Lease, { ...lease, metadata }, { signal });
    }
    return client.update(Lease, lease, { signal });
  }

  function hold(granted: Term): void {
    const isNew = term === undefined;
    term?.end();
    // An answer that took longer than the term is worth nothing.
    if (granted.isOver) {
      term = granted;
      lose('the answer to the renewal came too late');
      return;
    }
    term = granted;
    granted.onOver(() => lose(`not renewed for ${times.renewMs} ms`));
    waitingFor = undefined;
    standsBackFor = undefined;
    if (isNew) {
      // A holder knows its own renewals; the rest of the watch ends by itself.
      void watch.stop();
      announce(true, 'taken');
    }
  }

  function lose(reason: string): void {
    if (term === undefined) return;
    term.end();
    term = undefined;
    announce(false, reason);
  }

  function announce(state: boolean, reason: string): void {
    observe?.changed(state);
    logger.info(state ? 'leading' : 'no longer leading', { reason });
    for (const listener of listeners) {
      try {
        listener(state);
      } catch (error) {
        logger.error('a listener of the leadership threw', { error });
      }
    }
  }

  /** Gives the lease back, so that the next one need not wait; twice, because a renewal may have been under way. */
  async function release(): Promise<void> {
    try {
      let lease = patience.lease;
      for (let tries = 0; tries < 2 && lease !== undefined && holderOf(lease) === identity; tries++) {
        const released = releasedLease(ref, lease, clock.now());
        try {
          await call(undefined, (timed) => client.update(Lease, released, { signal: timed }));
          return;
        } catch (error) {
          logger.debug('the lease could not be given back at once', { error });
          lease = await call(undefined, (timed) => client.find(Lease, ref, { signal: timed }));
        }
      }
    } catch (error) {
      logger.warn('the lease could not be given back; others take it when it has run out', { error });
    }
  }

  /** No call may outlast the term that it is to renew. */
  function call<T>(signal: AbortSignal | undefined, make: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return within(clock, times.renewMs / 2, signal, make);
  }

  return {
    get holds() {
      return holds();
    },
    get holder() {
      return patience.holder;
    },
    run,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function checkTimes({ leaseMs, renewMs, retryMs }: LeaseTimes): void {
  if (retryMs <= 0) throw LeadershipErrors.NoRetry(retryMs);
  if (leaseMs <= renewMs) throw LeadershipErrors.LeaseTooShort(leaseMs, renewMs);
  if (renewMs <= retryMs * JITTER) throw LeadershipErrors.RenewTooShort(renewMs, retryMs);
}
