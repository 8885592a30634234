// A network and a server that misbehave, by seed. It wraps any Transport and injects the faults of a schedule: refused, lost, hung, slow
// and failing requests; watches that do not open, break, end, expire, repeat, lag, overtake one another or fall silent; and the death of
// the process between any two writes. Every fault is legal for a real API server seen over a real network, so correct code must survive it.
// The same seed on the same clock injects the same faults.
import type { ApiRequest, ApiResponse, Clock, Transport, WatchStream } from '@capstan/kube';
import { connectionRefused, connectionReset, requestTimedOut } from '../errors.ts';
import type { SeededRandom } from '../random.ts';
import { type InjectedFault, requestLine, targetOf } from './fault-log.ts';
import type { FaultSchedule, OpeningFault, RequestFault } from './fault-schedule.ts';
import { drawFault, OPENING_FAULTS, REQUEST_FAULTS } from './fault-schedule.ts';
import { createTraffic, faultyStream } from './faulty-stream.ts';
import { createMortality } from './mortality.ts';
import { pause } from './pause.ts';
import { expired, serverStatus } from './server-status.ts';

export interface FaultyTransport extends Transport {
  /** The injected faults, oldest first. */
  readonly faults: readonly InjectedFault[];
  /** Writes that the server carried out through this transport; dry runs do not count. */
  readonly writes: number;
  readonly dead: boolean;
  /** Resolves when the transport dies. */
  readonly died: Promise<void>;
  /** From here on no new fault. Connections that fell silent stay silent, as half-open ones do. */
  heal(): void;
  /**
   * The process dies as soon as `count` more writes have happened (0: now): no request leaves, no answer and no event
   * arrives any more. Requests then end only by their signal or by close.
   */
  crashAfterWrites(count: number): void;
}

export interface FaultyTransportOptions {
  random: SeededRandom;
  clock: Clock;
  schedule: FaultSchedule;
}

/** Wraps a transport so that requests and watches suffer the schedule's faults. */
export function faultyTransport(inner: Transport, options: FaultyTransportOptions): FaultyTransport {
  const { clock, schedule } = options;
  const random = options.random.fork('requests');
  const faults: InjectedFault[] = [];
  const mortality = createMortality(inner.address);
  const traffic = createTraffic();
  const { promise: died, resolve: announceDeath } = Promise.withResolvers<void>();
  let healthy = false;
  let writes = 0;
  let writesLeft = Number.POSITIVE_INFINITY;
  let watches = 0;

  const record = (fault: string, target: string, detail?: string) =>
    faults.push({ at: clock.now(), fault, target, ...(detail !== undefined && { detail }) });

  function die(): void {
    if (mortality.dead) return;
    record('crash', inner.address, `after ${writes} writes`);
    mortality.die();
    announceDeath();
  }

  async function forward(request: ApiRequest): Promise<ApiResponse> {
    if (mortality.dead) return mortality.hang(request.signal);
    const response = await inner.request(request);
    if (isWrite(request) && response.status < 300) {
      writes++;
      writesLeft--;
      if (writesLeft === 0) die();
    }
    return response;
  }

  /** Waits, or runs into the request's time-out. */
  async function wait(request: ApiRequest, ms: number): Promise<void> {
    const limit = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    await pause(clock, Math.min(ms, limit), request.signal, inner.address);
    if (ms >= limit) throw requestTimedOut(inner.address, requestLine(request));
  }

  const delay = (from: SeededRandom) => from.integer(...(schedule.delayMs ?? [1, 20_000]));

  function throttled(from: SeededRandom): ApiResponse {
    const seconds = from.integer(...(schedule.retryAfterSeconds ?? [1, 5]));
    return serverStatus(429, 'TooManyRequests', 'the server has received too many requests', seconds);
  }

  function unavailable(from: SeededRandom): ApiResponse {
    return from.chance(0.5)
      ? serverStatus(500, 'InternalError', 'an internal error occurred')
      : serverStatus(503, 'ServiceUnavailable', 'the server is currently unable to handle the request');
  }

  const requestFaults: Record<RequestFault, (request: ApiRequest, target: string) => Promise<ApiResponse>> = {
    async refused(request, target) {
      record('refused', target);
      throw (random.chance(0.5) ? connectionRefused : connectionReset)(inner.address, requestLine(request));
    },
    async lost(request, target) {
      record('lost', target);
      await forward(request);
      if (random.chance(0.5)) throw connectionReset(inner.address, requestLine(request));
      return serverStatus(504, 'Timeout', 'the request did not complete in the allotted time');
    },
    async hung(request, target) {
      const happens = random.chance(0.5);
      record('hung', target, happens ? 'it happened' : 'it did not happen');
      if (happens) await forward(request);
      await wait(request, Number.POSITIVE_INFINITY);
      throw connectionReset(inner.address, requestLine(request));
    },
    async conflict(_, target) {
      record('conflict', target);
      return serverStatus(409, 'Conflict', 'the object has been modified; apply your changes to the latest version');
    },
    async throttled(_, target) {
      record('throttled', target);
      return throttled(random);
    },
    async unavailable(_, target) {
      record('unavailable', target);
      return unavailable(random);
    },
    async expired(_, target) {
      record('expired', target);
      return expired();
    },
    async slow(request, target) {
      const ms = delay(random);
      const isAnswer = random.chance(0.5);
      record('slow', target, `${isAnswer ? 'the answer' : 'the request'} by ${ms} ms`);
      if (!isAnswer) await wait(request, ms);
      const response = await forward(request);
      if (isAnswer) await wait(request, ms);
      return response;
    },
  };

  const openingFaults: Record<
    OpeningFault,
    (request: ApiRequest, own: SeededRandom) => Promise<WatchStream | ApiResponse>
  > = {
    async refused(request, own) {
      throw (own.chance(0.5) ? connectionRefused : connectionReset)(inner.address, requestLine(request));
    },
    async hung(request) {
      await wait(request, Number.POSITIVE_INFINITY);
      throw connectionReset(inner.address, requestLine(request));
    },
    throttled: async (_, own) => throttled(own),
    unavailable: async (_, own) => unavailable(own),
    expired: async () => expired(),
    async slow(request, own) {
      await wait(request, delay(own));
      return inner.watch(request);
    },
  };

  function suffer(request: ApiRequest): Promise<ApiResponse> {
    const applicable = REQUEST_FAULTS.filter((fault) => befalls(fault, request));
    const fault = healthy ? undefined : drawFault(random, schedule.requests, applicable);
    return fault === undefined ? forward(request) : requestFaults[fault](request, targetOf(request));
  }

  function open(request: ApiRequest, own: SeededRandom): Promise<WatchStream | ApiResponse> {
    const applicable = OPENING_FAULTS.filter((fault) => fault !== 'expired' || resumes(request));
    const fault = healthy ? undefined : drawFault(own, schedule.openings, applicable);
    if (fault === undefined) return inner.watch(request);
    record(`watch ${fault}`, targetOf(request));
    return openingFaults[fault](request, own);
  }

  async function watch(request: ApiRequest): Promise<WatchStream | ApiResponse> {
    if (mortality.dead) return mortality.hang(request.signal);
    const own = options.random.fork(`watch ${watches++}`);
    // The server's side of the connection ends with the process, or when a fault breaks it.
    const connection = new AbortController();
    const abort = () => connection.abort(request.signal?.reason);
    request.signal?.addEventListener('abort', abort, { once: true });
    const forget = mortality.onDeath(() => connection.abort());
    const close = () => {
      forget();
      request.signal?.removeEventListener('abort', abort);
      connection.abort();
    };
    if (request.signal?.aborted) abort();
    try {
      const opened = await mortality.alive(open({ ...request, signal: connection.signal }, own), request.signal);
      if (!isStream(opened)) {
        close();
        return opened;
      }
      return faultyStream(opened, {
        random: own,
        clock,
        rates: () => (healthy ? undefined : schedule.batches),
        delay: () => delay(own),
        mortality,
        traffic,
        signal: request.signal,
        address: inner.address,
        line: requestLine(request),
        record: (fault, detail) => record(`watch ${fault}`, targetOf(request), detail),
        close,
      });
    } catch (error) {
      close();
      throw error;
    }
  }

  return {
    address: inner.address,
    request(request) {
      if (mortality.dead) return mortality.hang(request.signal);
      return mortality.alive(suffer(request), request.signal);
    },
    watch,
    async close() {
      mortality.release();
      await inner.close();
    },
    faults,
    get writes() {
      return writes;
    },
    get dead() {
      return mortality.dead;
    },
    died,
    heal() {
      if (healthy) return;
      healthy = true;
      record('healed', inner.address);
    },
    crashAfterWrites(count) {
      writesLeft = count;
      if (count === 0) die();
    },
  };
}

/** As documented for ApiRequest.timeoutMs. */
const DEFAULT_TIMEOUT_MS = 30_000;

function befalls(fault: RequestFault, request: ApiRequest): boolean {
  // A create is never refused as a conflict of versions: there is nothing yet to conflict with.
  if (fault === 'conflict') return request.method !== 'GET' && request.method !== 'POST';
  if (fault === 'expired') return request.method === 'GET' && request.query?.continue !== undefined;
  return true;
}

function isWrite({ method, query }: ApiRequest): boolean {
  return method !== 'GET' && query?.dryRun === undefined;
}

/** Only a watch that names a version can name one that is too old. */
function resumes({ query }: ApiRequest): boolean {
  const version = query?.resourceVersion ?? '';
  return version !== '' && version !== '0';
}

function isStream(opened: WatchStream | ApiResponse): opened is WatchStream {
  return Symbol.asyncIterator in opened;
}
