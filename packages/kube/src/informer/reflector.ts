import { backOff, spread } from '../client/back-off.ts';
import type { WatchEvent } from '../client/transport.ts';
import type { Timer } from '../clock.ts';
import type { KubeObject, ObjectMeta } from '../object.ts';
import { isNewerResourceVersion } from '../resource-version.ts';
import { type ConnectionEnd, connect, type Signs } from './connection.ts';
import {
  type Failure,
  failureOf,
  failureOfErrorEvent,
  InformerFault,
  isRefusalOfStreaming,
  malformed,
} from './failure.ts';
import type { InformerOptions, InformerState, ListProgress } from './informer.ts';
import type { Ingest } from './ingest.ts';
import { listPages } from './list-pages.ts';
import type { InformerObserver } from './observer.ts';
import type { Change, Listing, Store } from './store.ts';

// The loop that makes the store follow the server: list (streamed where the server can, else in pages), watch from there,
// and after whatever ends the watch resume from the last resourceVersion, or list again where that is not possible.
//
// Pace: a watch that ended in order or expired is followed by the next at once, but only once until a watch has lived for 25 s;
// everything else waits, 0.8 s doubling to 30 s. A watch that lived for 25 s makes the next wait short again.

export interface ReflectorOptions<T extends KubeObject> extends InformerOptions<T> {
  ingest: Ingest<T>;
  store: Store<T>;
  observe: Required<InformerObserver>;
  state(): InformerState;
  become(state: Omit<InformerState, 'since'>): void;
  /** The copy was current at this time. */
  proven(at: number): void;
  changed(changes: readonly Change<T>[]): void;
  /** Like changed, after a complete list. */
  listed(changes: readonly Change<T>[]): void;
}

export interface Reflector {
  run(signal: AbortSignal): Promise<void>;
  poke(): void;
  progress(): ListProgress | undefined;
}

export function createReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector {
  const { client, kind, clock, random, logger, ingest, store, observe } = options;
  /** Waits in a row; the next one is longer. */
  let waits = 0;
  let pageSize = options.pageSize ?? DEFAULT_PAGE_SIZE;
  let mustList = true;
  /** False once the server has refused, or has ignored the request twice. */
  let canStream = options.streaming ?? true;
  /** A streamed list that broke is followed by a paged one, so that no peculiarity of streaming keeps us from a list. */
  let skipsStream = false;
  let ignoredStreams = 0;
  /** Whether the one reconnect without waiting has been used since the last healthy watch. */
  let hasHurried = false;
  /** The number of consecutive watches whose content was invalid and that brought nothing new. */
  let fruitless = 0;
  let poked = false;
  /** The list that is under way. */
  let current: { readonly listing: Pick<Listing<T>, 'count'>; remaining?: number | undefined } | undefined;
  let wake: (() => void) | undefined;

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      poked = false;
      if (mustList) become('listing');
      const end = await attempt(signal);
      if (signal.aborted) return;
      await pause(end, signal);
    }
  }

  /** One list, if one is due, and one watch. */
  async function attempt(signal: AbortSignal): Promise<End> {
    if (mustList && canStream && !skipsStream) {
      const end = await stream(signal);
      if (end !== 'refused') return end;
    }
    if (mustList) {
      try {
        await listInPages(signal);
      } catch (error) {
        return { livedMs: 0, hasReceived: false, failure: failureOf(error), isWatch: false };
      }
      if (signal.aborted) return { livedMs: 0, hasReceived: false, isWatch: false };
    }
    const before = store.resourceVersion;
    const end = await watch(signal, undefined);
    const isFruitless = end.failure && CARRIED.has(end.failure.reason) && store.resourceVersion === before;
    fruitless = isFruitless ? fruitless + 1 : 0;
    if (fruitless >= MOST_FRUITLESS) mustList = true;
    return end;
  }

  async function stream(signal: AbortSignal): Promise<End | 'refused'> {
    const end = await watch(signal, { begun: clock.now(), listing: store.beginListing() });
    if (!mustList) {
      ignoredStreams = 0;
      return end;
    }
    if (isRefusalOfStreaming(end.error)) {
      canStream = false;
      logger.debug('the server does not stream lists; paged lists are used', { reason: end.failure?.message });
      return 'refused';
    }
    // An older server takes the request for an ordinary watch: events, but never the bookmark that ends the list.
    const isIgnored = end.failure?.reason === 'Silent' || end.failure === undefined;
    ignoredStreams = isIgnored ? ignoredStreams + 1 : 0;
    if (ignoredStreams >= 2) canStream = false;
    skipsStream = true;
    return end;
  }

  async function listInPages(signal: AbortSignal): Promise<void> {
    const begun = clock.now();
    let listing: Listing<T> | undefined;
    try {
      const list = await listPages({
        client,
        kind,
        selection: options,
        pageSize,
        clock,
        signal,
        begin() {
          listing = store.beginListing();
          current = { listing };
        },
        take(page) {
          if (current) current.remaining = page.remainingItemCount;
          for (const item of page.items) listing?.add(ingest.check(item));
        },
      });
      if (listing && !signal.aborted) commit(listing, list.resourceVersion, list.readAt, { begun, pages: list.pages });
    } catch (error) {
      if (failureOf(error).isTooLarge) pageSize = Math.max(1, Math.floor(pageSize / 2));
      throw error;
    }
  }

  function commit(
    listing: Listing<T>,
    resourceVersion: string,
    readAt: number,
    { begun, pages }: { begun: number; pages: number },
  ): void {
    const objects = listing.count;
    current = undefined;
    const changes: Change<T>[] = [];
    listing.commit(resourceVersion, changes);
    mustList = false;
    skipsStream = false;
    fruitless = 0;
    options.proven(readAt);
    observe.listed({ durationMs: clock.now() - begun, objects, pages, isStreamed: pages === 0 });
    options.listed(changes);
  }

  async function watch(signal: AbortSignal, initial: { begun: number; listing: Listing<T> } | undefined): Promise<End> {
    let listing = initial?.listing;
    if (listing) current = { listing };
    const resumedFrom = initial ? undefined : store.resourceVersion;

    function take(events: readonly WatchEvent[]): Signs {
      // Events before a bad event count and are published.
      const changes: Change<T>[] = [];
      let replayed = 0;
      const counts: Partial<Record<WatchEvent['type'], number>> = {};
      let isProof = false;
      try {
        for (const event of events) {
          counts[event.type] = (counts[event.type] ?? 0) + 1;
          switch (event.type) {
            case 'ADDED':
            case 'MODIFIED': {
              const raw = ingest.check(event.object);
              if (listing) listing.add(raw);
              else if (store.upserted(raw, changes) === 'replayed') replayed++;
              break;
            }
            case 'DELETED': {
              const raw = ingest.check(event.object);
              if (listing) listing.remove(raw);
              else if (store.deleted(raw, changes) === 'replayed') replayed++;
              break;
            }
            case 'BOOKMARK': {
              const { resourceVersion, annotations } = metadataOf(event.object);
              if (resourceVersion === undefined) throw malformed('the server sent a bookmark without resourceVersion');
              if (!listing) {
                if (isNewerResourceVersion(resumedFrom, resourceVersion))
                  throw new InformerFault({ reason: 'Ahead', message: WENT_BACK });
                store.advance(resourceVersion);
              } else if (annotations?.[INITIAL_EVENTS_END] === 'true') {
                commit(listing, resourceVersion, clock.now(), { begun: initial?.begun ?? clock.now(), pages: 0 });
                listing = undefined;
                become('watching');
              }
              break;
            }
            case 'ERROR':
              throw new InformerFault(failureOfErrorEvent(event.object));
            default:
              throw malformed(`the server sent an event of type ${JSON.stringify(event.type)}`);
          }
          isProof = listing === undefined;
        }
      } finally {
        if (isProof) options.proven(clock.now());
        observe.received({ counts, replayed });
        options.changed(changes);
      }
      return { isListing: listing !== undefined };
    }

    const end = await connect({
      client,
      kind,
      selection: options,
      resourceVersion: resumedFrom,
      clock,
      random,
      watchSeconds: options.watchSeconds,
      signal,
      opened: () => {
        if (!initial) become('watching');
      },
      take,
    });
    const failure = failureOfConnection(end);
    // The server delivered everything before it ended the watch, also one that sends no bookmarks.
    if (!failure && !listing && end.livedMs >= HEALTHY_MS && !signal.aborted) options.proven(clock.now());
    return { ...end, isWatch: true, ...(failure && { failure }) };
  }

  function failureOfConnection({ isSilent, error }: ConnectionEnd): Failure | undefined {
    // A transport may end a stream that we gave up in order: that does not make it an orderly end.
    if (isSilent) return { reason: 'Silent', message: 'the watch gave no sign of life' };
    return error === undefined ? undefined : failureOf(error);
  }

  /** Draws the conclusions of an attempt and waits as long as they demand. */
  async function pause(end: End, signal: AbortSignal): Promise<void> {
    const { failure } = end;
    current = undefined;
    if (end.isWatch) observe.watchRestarted(failure?.reason ?? 'ended');
    if (failure && ENDS_HISTORY.has(failure.reason)) mustList = true;
    const delay = delayAfter(end);
    report(failure, delay);
    if (delay === 0) return;
    options.become({
      phase: 'waiting',
      ...(failure ? { reason: failure.reason, lastError: failure.message } : {}),
    });
    const { served } = options;
    if (failure?.reason === 'NotServed' && served) await sleep((done) => served.await(kind, done), signal);
    else await sleep((done) => clock.after(delay, done), signal);
  }

  function delayAfter({ livedMs, hasReceived, failure }: End): number {
    const isHealthy = livedMs >= HEALTHY_MS;
    if (isHealthy) {
      waits = 0;
      hasHurried = false;
    }
    const isOrderly = failure === undefined ? hasReceived || isHealthy : failure.reason === 'Expired';
    if (isOrderly && !hasHurried) {
      // After a healthy watch this costs nothing: it takes 25 s to get here again.
      hasHurried = true;
      return 0;
    }
    waits++;
    const delay = backOff(waits, BACK_OFF, random, failure?.retryAfterMs);
    return failure !== undefined && SLOW.has(failure.reason) ? Math.max(delay, spread(SLOW_MS, random)) : delay;
  }

  /** Repetitions of one failure are not reported again. */
  function report(failure: Failure | undefined, delay: number): void {
    if (!failure) return;
    const fields = { reason: failure.reason, message: failure.message, retryInMs: Math.round(delay) };
    if (failure.reason === 'Unexpected')
      logger.error('the watch failed in an unexpected way', { ...fields, error: failure.error });
    else if (failure.reason === 'Expired') logger.info('the history expired; listing again', fields);
    else if (options.state().reason === failure.reason) logger.debug('the watch is still interrupted', fields);
    // Who needs the kind waits visibly: readers see the reason.
    else if (failure.reason === 'NotServed') {
      const level = options.optional ? 'debug' : 'info';
      logger[level]('the kind is not served; it is checked again later', fields);
    } else logger.warn('the watch is interrupted', fields);
  }

  /** Forgets the last failure only where the server has accepted a watch. */
  function become(phase: 'listing' | 'watching'): void {
    const { reason, lastError } = options.state();
    options.become({
      phase,
      ...(phase === 'listing' && reason !== undefined ? { reason } : {}),
      ...(phase === 'listing' && lastError !== undefined ? { lastError } : {}),
    });
  }

  function sleep(until: (done: () => void) => Timer, signal: AbortSignal): Promise<void> {
    if (poked || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        wake = undefined;
        timer.cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = until(done);
      signal.addEventListener('abort', done, { once: true });
      wake = done;
    });
  }

  return {
    run,
    progress() {
      if (current === undefined) return undefined;
      const { listing, remaining } = current;
      return { received: listing.count, ...(remaining !== undefined && { remaining }) };
    },
    poke() {
      // One that comes while an attempt is under way counts for the wait after it: the attempt may be too early.
      poked = true;
      // A server that is back may refuse once more while it starts: the next wait is a short one again.
      waits = 0;
      wake?.();
    },
  };
}

interface End {
  livedMs: number;
  hasReceived: boolean;
  failure?: Failure;
  error?: unknown;
  /** Whether it got as far as a watch. */
  isWatch: boolean;
}

function metadataOf(object: unknown): ObjectMeta {
  const metadata: unknown =
    typeof object === 'object' && object !== null && 'metadata' in object ? object.metadata : undefined;
  return typeof metadata === 'object' && metadata !== null ? metadata : {};
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
const WENT_BACK = 'the server is behind what it reported before: it was restored, or another one took its place';
const DEFAULT_PAGE_SIZE = 500;
/** Less than the shortest watch. */
const HEALTHY_MS = 25_000;
const SLOW_MS = 15_000;
const BACK_OFF = { firstMs: 800, longestMs: 30_000 };
const MOST_FRUITLESS = 3;
const SLOW: ReadonlySet<string> = new Set([
  'Unauthorized',
  'Forbidden',
  'NotServed',
  'Invalid',
] satisfies Failure['reason'][]);
const ENDS_HISTORY: ReadonlySet<string> = new Set([
  'Expired',
  'Ahead',
  'NotServed',
  'Invalid',
] satisfies Failure['reason'][]);
const CARRIED: ReadonlySet<string> = new Set(['Malformed', 'ServerError', 'Unexpected'] satisfies Failure['reason'][]);
