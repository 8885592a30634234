import type { Client } from '../client/client.ts';
import type { WatchEvent } from '../client/transport.ts';
import type { Clock, Random } from '../clock.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import type { Selection } from './selection.ts';
import { createWatchdog } from './watchdog.ts';

// One watch connection from opening to end, with a check that it is alive. A quiet watch and a dead one look the same, and Kubernetes has
// no request for a bookmark. Its server does promise two signs for a watch with timeoutSeconds: a bookmark two seconds before the end, and
// the end. So every watch is short, and the next one resumes from the last version. A kind without changes costs one small request in about
// 35 s on the same connection, and a watch without any event for 50 s is dead. Before the first event, the answer to the request has its
// own time-out, and so has a pause within a streamed list.

export interface ConnectionOptions<T extends KubeObject> {
  client: Client;
  kind: Kind<T>;
  selection: Selection;
  /** The version to resume from; undefined requests a streamed list. */
  resourceVersion: string | undefined;
  clock: Clock;
  random: Random;
  signal: AbortSignal;
  opened(): void;
  /** Returns the signs of life in a batch. An exception ends the connection. */
  take(events: readonly WatchEvent[]): Signs;
  /** See InformerOptions. */
  watchSeconds?: number | undefined;
}

export interface Signs {
  /** The streamed list is not complete yet. */
  isListing: boolean;
}

export interface ConnectionEnd {
  /** The time since it was opened; 0 if it never was. */
  livedMs: number;
  hasReceived: boolean;
  /** The thrown value. Undefined if the server ended the watch normally. */
  error?: unknown;
  /** Whether the watchdog ended it. */
  isSilent: boolean;
}

/** Runs a connection to its end. It never rejects: the result describes the end. */
export async function connect<T extends KubeObject>(options: ConnectionOptions<T>): Promise<ConnectionEnd> {
  const { client, kind, selection, resourceVersion, clock, random, signal, watchSeconds = SHORTEST_WATCH_S } = options;
  // Spread the time-outs, so that the watches of many informers do not end at the same moment.
  const timeoutSeconds = watchSeconds + Math.floor(random() * (watchSeconds / 3 + 1));
  const quietMs = timeoutSeconds * 1000 + GRACE_MS;
  const abort = new AbortController();
  const onAbort = () => abort.abort(signal.reason);
  let isSilent = false;
  let openedAt: number | undefined;
  let hasReceived = false;
  const watchdog = createWatchdog(clock, OPENING_MS, () => {
    isSilent = true;
    abort.abort();
  });
  const end = (error?: unknown): ConnectionEnd => ({
    livedMs: openedAt === undefined ? 0 : clock.now() - openedAt,
    hasReceived,
    isSilent,
    ...(error === undefined ? {} : { error }),
  });

  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = selection;
    const stream = await client.watch(kind, {
      ...(namespace ? { namespace } : {}),
      ...(labelSelector ? { labelSelector } : {}),
      ...(fieldSelector ? { fieldSelector } : {}),
      ...(metadataOnly ? { metadataOnly } : {}),
      ...(resourceVersion === undefined ? { sendInitialEvents: true } : { resourceVersion }),
      allowBookmarks: true,
      timeoutSeconds,
      signal: abort.signal,
    });
    openedAt = clock.now();
    options.opened();
    watchdog.feed(resourceVersion === undefined ? LIST_PAUSE_MS : quietMs);
    for await (const events of stream) {
      hasReceived = true;
      const signs = options.take(events);
      watchdog.feed(signs.isListing ? LIST_PAUSE_MS : quietMs);
    }
    return end();
  } catch (error) {
    return end(error ?? new Error('the watch broke without a reason'));
  } finally {
    watchdog.stop();
    signal.removeEventListener('abort', onAbort);
  }
}

// The longest watch is a third longer than the shortest. A watch without events for that time plus the grace is dead.
const SHORTEST_WATCH_S = 30;
const GRACE_MS = 10_000;
// The client aborts a request without an answer after 30 s. This limit covers transports that ignore that.
const OPENING_MS = 35_000;
const LIST_PAUSE_MS = 30_000;
