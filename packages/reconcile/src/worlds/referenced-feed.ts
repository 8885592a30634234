// Referenced data is fetched, not hoarded: the metadata of a kind is watched, and the content of exactly those objects is fetched that
// something reads. Objects that are no longer read are dropped.
import {
  backOff,
  type Client,
  type Clock,
  compareResourceVersions,
  type InformerView,
  isNotFound,
  type Kind,
  type KubeObject,
  keyOfObject,
  type Logger,
  type ObjectKey,
  type Random,
  refOfKey,
  type Timer,
} from '@capstan/kube/cluster';
import type { Engine, Table } from '../engine/index.ts';
import type { Feed } from './feed.ts';

export interface ReferencedFeedOptions {
  engine: Engine;
  name: string;
  kind: Kind;
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Watch metadata only; one a namespace when namespaces are restricted. */
  metadata: readonly InformerView<KubeObject>[];
  signal: AbortSignal;
}

/** Requests under way at a time: thousands at once would only wait in the client. */
const CONCURRENCY = 64;
/** From this number of waiting keys of a namespace on, they are listed, if they are at least half of the namespace. */
const MANY = 200;
const PAGE = 500;
const BACK_OFF = { firstMs: 200, longestMs: 30_000 };

export function createReferencedFeed(options: ReferencedFeedOptions): Feed {
  const { engine, kind, client, clock, random, logger, metadata, signal } = options;
  /** Keys that something reads, each with the attempt under way or waiting. */
  const wanted = new Map<
    ObjectKey,
    { fetching: boolean; again: boolean; failures: number; timer: Timer | undefined }
  >();
  /** Keys that wait for a request to end, in the order in which they were asked for. */
  const queue = new Set<ObjectKey>();
  /** Keys whose namespace is being listed. */
  const listed = new Set<ObjectKey>();
  /** Namespaces whose objects may not be listed: theirs are fetched one by one. */
  const unlistable = new Set<string>();
  /** Queues up to this length have been checked for a namespace to list. */
  let counted = 0;
  let underWay = 0;
  let isScheduled = false;
  const isSynced = () => metadata.every((informer) => informer.isSynced);
  const seen = (key: ObjectKey) => metadata.map((informer) => informer.get(key)).find((found) => found !== undefined);

  const table: Table<KubeObject> = engine.table<KubeObject>({
    name: options.name,
    labels: (object) => object.metadata.labels,
    ...(kind.sensitive ? { sensitive: true } : {}),
    demand: {
      key(key) {
        if (!wanted.has(key)) wanted.set(key, { fetching: false, again: false, failures: 0, timer: undefined });
        refresh(key);
      },
      idle(key) {
        wanted.get(key)?.timer?.cancel();
        wanted.delete(key);
        queue.delete(key);
        listed.delete(key);
        table.forget(key);
      },
    },
  });

  /** Updates the table to the metadata's version of a key that is read. */
  function refresh(key: ObjectKey): void {
    if (!needsRequest(key)) return;
    queue.add(key);
    schedule();
  }

  function needsRequest(key: ObjectKey): boolean {
    const want = wanted.get(key);
    if (want === undefined || !isSynced() || signal.aborted) return false;
    const latest = seen(key);
    // The metadata watch already knows absent objects: that answer needs no request.
    if (latest === undefined) {
      table.delete(key);
      return false;
    }
    const have = table.peek(key);
    if (have !== undefined && isSameVersion(have, latest)) return false;
    if (want.fetching) want.again = true;
    return !want.fetching;
  }

  /** Keys that are asked for together are known together, so that many of them are listed at once. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => {
      isScheduled = false;
      next();
    });
  }

  function begin(key: ObjectKey): void {
    const want = wanted.get(key);
    if (want === undefined || !needsRequest(key)) return;
    want.fetching = true;
    underWay++;
    void fetch(key, want);
  }

  /** A request has ended. */
  function ended(): void {
    underWay--;
    next();
  }

  /** The next keys that still need a request get their turn. */
  function next(): void {
    if (queue.size === 0) counted = 0;
    if (queue.size >= MANY && queue.size > counted && listed.size === 0) {
      counted = queue.size * 2;
      const namespace = crowdedNamespace();
      if (namespace !== undefined) void list(namespace);
    }
    for (const key of queue) {
      if (underWay >= CONCURRENCY) return;
      queue.delete(key);
      begin(key);
    }
  }

  /** One of which most is wanted, as after a start: a page of a list costs a fraction of as many requests. */
  function crowdedNamespace(): string | undefined {
    const counts = new Map<string, { waiting: number; all: number }>();
    for (const key of queue) {
      const { namespace = '' } = refOfKey(key);
      const count = counts.get(namespace);
      if (count) count.waiting++;
      else counts.set(namespace, { waiting: 1, all: 0 });
    }
    for (const informer of metadata) {
      for (const object of informer.list()) {
        const count = counts.get(object.metadata.namespace ?? '');
        if (count) count.all++;
      }
    }
    const isCrowded = ([namespace, { waiting, all }]: [string, { waiting: number; all: number }]) =>
      waiting >= MANY && waiting * 2 >= all && !unlistable.has(namespace);
    return [...counts].find(isCrowded)?.[0];
  }

  /** Objects that the list does not have in the version of the metadata are fetched as usual afterwards. */
  async function list(namespace: string): Promise<void> {
    for (const key of queue) if ((refOfKey(key).namespace ?? '') === namespace) listed.add(key);
    for (const key of listed) queue.delete(key);
    underWay++;
    try {
      let from: string | undefined;
      do {
        const where = {
          ...(namespace !== '' && { namespace }),
          limit: PAGE,
          ...(from !== undefined && { continue: from }),
        };
        const page = await client.list(kind, { ...where, signal });
        for (const object of page.items) {
          const key = keyOfObject(object);
          if (wanted.has(key) && isCurrent(key, object)) take(key, object);
        }
        from = page.continue === '' ? undefined : page.continue;
      } while (from !== undefined);
    } catch (error) {
      if (!signal.aborted) {
        unlistable.add(namespace);
        logger.debug('could not list referenced objects; they are fetched one by one', {
          kind: kind.kind,
          namespace,
          error,
        });
      }
    } finally {
      for (const key of listed) queue.add(key);
      listed.clear();
      ended();
    }
  }

  async function fetch(key: ObjectKey, want: NonNullable<ReturnType<typeof wanted.get>>): Promise<void> {
    try {
      const object = await client.get(kind, refOfKey(key), { signal });
      want.failures = 0;
      if (wanted.get(key) === want && isCurrent(key, object)) take(key, object);
    } catch (error) {
      if (signal.aborted) return;
      if (isNotFound(error)) {
        // Deleted between the two looks: the watch will say so, and until then the server's word counts.
        if (wanted.get(key) === want) table.delete(key);
      } else {
        want.failures++;
        const wait = backOff(want.failures, BACK_OFF, random);
        logger.warn('could not fetch a referenced object; it is tried again', {
          object: `${kind.kind} ${key}`,
          waitMs: Math.round(wait),
          error,
        });
        want.timer = clock.after(wait, () => refresh(key));
      }
    } finally {
      want.fetching = false;
      ended();
      if (want.again && wanted.get(key) === want) {
        want.again = false;
        refresh(key);
      }
    }
  }

  /**
   * Whether an answer is still true: the deletion of the object may have been on the watch before the answer to a GET that was
   * sent earlier. If the object is there again, the watch reports that too, and it is fetched then.
   */
  function isCurrent(key: ObjectKey, object: KubeObject): boolean {
    const latest = seen(key);
    return latest !== undefined && (latest.metadata.uid === object.metadata.uid || !isNewer(latest, object));
  }

  function take(key: ObjectKey, object: KubeObject): void {
    const have = table.peek(key);
    if (have !== undefined && isNewer(have, object)) return;
    const { managedFields: _dropped, ...kept } = object.metadata;
    table.put(key, { ...object, metadata: kept });
  }

  const stops = metadata.map((informer) =>
    informer.subscribe((events) => {
      for (const event of events) {
        if (event.type === 'upsert' || event.type === 'delete') refresh(keyOfObject(event.object));
        else if (event.type === 'synced') for (const key of wanted.keys()) refresh(key);
      }
    }),
  );

  return {
    table,
    // Single objects are fetched.
    sending: () => () => undefined,
    observeWrite(object) {
      for (const informer of metadata) informer.observeWrite(object);
      const key = keyOfObject(object);
      if (wanted.has(key) && isCurrent(key, object)) take(key, object);
    },
    observeDelete(object) {
      const { uid = '', resourceVersion } = object.metadata;
      for (const informer of metadata) informer.observeDelete(refOfKey(keyOfObject(object)), uid, resourceVersion);
    },
    get isSynced() {
      return isSynced();
    },
    isFresh: (maxAgeMs) => metadata.every((informer) => informer.isFresh(maxAgeMs)),
    staleness: () => Math.max(0, ...metadata.map((informer) => informer.staleness())),
    stop() {
      for (const stop of stops) stop();
      for (const want of wanted.values()) want.timer?.cancel();
      wanted.clear();
      queue.clear();
      listed.clear();
    },
  };
}

function isSameVersion(left: KubeObject, right: KubeObject): boolean {
  return left.metadata.uid === right.metadata.uid && left.metadata.resourceVersion === right.metadata.resourceVersion;
}

function isNewer(left: KubeObject, right: KubeObject): boolean {
  return (compareResourceVersions(left.metadata.resourceVersion ?? '', right.metadata.resourceVersion ?? '') ?? -1) > 0;
}
