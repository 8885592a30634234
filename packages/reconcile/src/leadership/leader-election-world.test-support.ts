import { ApiError, type Client, type Clock, type Lease, sleep, TransportError, type WatchEvent } from '@capstan/kube';
import { createRandom, createVirtualClock, type SeededRandom, type VirtualClock } from '@capstan/testing';
import { createLeaderElection, type LeaderElectionOptions } from './leader-election.ts';

export type Fault = 'refuse' | 'lose the request' | 'lose the answer' | 'never answer';

interface Server {
  lease: Lease | undefined;
  writtenAt: number;
  fail(process: string, verb: string): Fault | undefined;
  delayMs(): number;
}

/** One lease on a server, and processes with clocks of their own that can be paused. */
export function createWorld(random: SeededRandom = createRandom(1)) {
  const clock = createVirtualClock();
  const server: Server = { lease: undefined, writtenAt: 0, fail: () => undefined, delayMs: () => 0 };
  let revision = 0;
  /** The callbacks of every open watch. */
  const watchers = new Set<(lease: Lease) => void>();

  function put(lease: Lease, expected: string | undefined): Lease {
    if (expected !== server.lease?.metadata.resourceVersion) throw refusal(409, server.lease ? 'Conflict' : 'NotFound');
    revision += 1;
    server.writtenAt = clock.now();
    server.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(revision) } };
    for (const write of watchers) write(server.lease);
    return server.lease;
  }

  function start(name: string, options: Partial<LeaderElectionOptions> & { skew?: number; rate?: number } = {}) {
    const process = createProcess(clock, options.skew ?? 0, options.rate ?? 1);

    async function call<T>(verb: string, serve: () => T): Promise<T> {
      const fault = server.fail(name, verb);
      await delay(clock, server.delayMs());
      if (fault === 'refuse') throw refusal(500, 'InternalError');
      if (fault === 'lose the request') throw new TransportError('reset', 'test');
      const result = attempt(serve);
      await delay(clock, server.delayMs());
      await process.awake();
      if (fault === 'lose the answer') throw new TransportError('reset', 'test');
      if (fault === 'never answer') return new Promise<never>(() => {});
      return result();
    }

    async function* events(signal: AbortSignal): AsyncGenerator<WatchEvent[]> {
      const queue: Lease[] = server.lease === undefined ? [] : [server.lease];
      let wake = Promise.withResolvers<void>();
      const write = (lease: Lease) => {
        queue.push(lease);
        wake.resolve();
      };
      watchers.add(write);
      const stop = () => wake.resolve();
      signal.addEventListener('abort', stop);
      try {
        for (;;) {
          if (queue.length === 0) await wake.promise;
          if (signal.aborted) return;
          wake = Promise.withResolvers();
          await delay(clock, server.delayMs());
          await process.awake();
          if (signal.aborted) return;
          const fault = server.fail(name, 'watch');
          // A stream breaks, or is silent for ever.
          if (fault === 'never answer')
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          else if (fault !== undefined) throw new TransportError('reset', 'test');
          const batch = queue.splice(0).map((object) => ({ type: 'MODIFIED' as const, object }));
          if (batch.length > 0) yield batch;
        }
      } finally {
        watchers.delete(write);
        signal.removeEventListener('abort', stop);
      }
    }

    const client = {
      async watch(_: unknown, { signal }: { signal: AbortSignal }) {
        if (server.fail(name, 'watch') !== undefined) throw refusal(403, 'Forbidden');
        return events(signal);
      },
      find: () => call('find', () => server.lease),
      create: (_: unknown, lease: Lease) => call('create', () => put(lease, undefined)),
      update: (_: unknown, lease: Lease) => call('update', () => put(lease, lease.metadata.resourceVersion)),
    } as unknown as Client;
    const election = createLeaderElection({
      client,
      clock: process.clock,
      random: random.fork(name),
      lease: { namespace: 'capstan', name: 'operator' },
      identity: name,
      ...options,
    });
    const stop = new AbortController();
    let hasStopped = false;
    const ended = election.run(stop.signal).then(() => {
      hasStopped = true;
    });
    return {
      name,
      election,
      process,
      pause: process.pause,
      resume: process.resume,
      get holds() {
        return election.holds;
      },
      get hasStopped() {
        return hasStopped;
      },
      async stop() {
        stop.abort();
        await ended;
      },
    };
  }

  return { clock, server, start };
}

/** No delay needs no time, so that a process can stop while time stands still. */
async function delay(clock: Clock, ms: number): Promise<void> {
  if (ms > 0) await sleep(clock, ms);
}

/** Runs now, returns or throws later. */
function attempt<T>(serve: () => T): () => T {
  try {
    const result = serve();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function refusal(code: number, reason: string): ApiError {
  return new ApiError({ code, status: { reason }, method: 'PUT', path: '/lease', address: 'test' });
}

/** A process: its clock is ahead by `skew` and runs at its own rate; while it is paused, none of its timers fires. */
function createProcess(base: VirtualClock, skew: number, rate: number) {
  const bornAt = base.now();
  let isPaused = false;
  const deferred: (() => void)[] = [];
  const whenAwake = (call: () => void) => {
    if (isPaused) deferred.push(call);
    else call();
  };
  const process = {
    skew,
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      for (const call of deferred.splice(0)) call();
    },
    awake: () => new Promise<void>((resolve) => whenAwake(resolve)),
  };
  const clock: Clock = {
    now: () => bornAt + (base.now() - bornAt) * rate + process.skew,
    after(ms, call) {
      let isCancelled = false;
      const timer = base.after(ms / rate, () =>
        whenAwake(() => {
          if (!isCancelled) call();
        }),
      );
      return {
        cancel() {
          isCancelled = true;
          timer.cancel();
        },
      };
    },
    yield: () => base.yield(),
  };
  return Object.assign(process, { clock });
}
