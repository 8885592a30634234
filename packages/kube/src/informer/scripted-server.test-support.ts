// A server of one kind for the tests of informers. It keeps its history, serves paged lists, watches and streamed lists by the rules of
// Kubernetes, and simulates failures of servers and networks on demand.
import type { Client, ListOptions, ListPage, WatchOptions } from '../client/client.ts';
import type { WatchEvent, WatchStream } from '../client/transport.ts';
import { type Clock, sleep } from '../clock.ts';
import { ApiError, TransportError } from '../errors.ts';
import { externalKind, type Kind } from '../kind.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectKey } from '../object.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';

export interface Thing extends KubeObject {
  spec: { value: number; nested?: { list: string[] } };
}

export const Thing: Kind<Thing> = externalKind<Thing>({
  group: 'test.io',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
});

export type Fault = { error: Error } | { delayMs: number } | 'hang';

export interface ThingParts {
  value?: number;
  namespace?: string;
  labels?: Record<string, string>;
  managedFields?: ManagedFieldsEntry[];
}

/** The actions of a test on one open watch. */
export interface OpenWatch {
  readonly options: WatchOptions;
  /** Breaks the connection after the events that were sent before. */
  cut(error?: Error): void;
  /** The server ends the watch in order. */
  end(): void;
  /** Nothing comes any more, not even an end. */
  silence(): void;
  send(...events: WatchEvent[]): void;
  /** The last batch comes once more. */
  repeat(): void;
  bookmark(): void;
  readonly isOpen: boolean;
}

export interface ScriptedServer {
  readonly client: Client;
  readonly requests: readonly { verb: 'list' | 'watch'; at: number; options: ListOptions & WatchOptions }[];
  readonly watches: readonly OpenWatch[];
  readonly version: number;
  /** Creates or changes. */
  put(name: string, parts?: ThingParts): Thing;
  remove(name: string, namespace?: string): Thing | undefined;
  content(labelSelector?: string): Map<ObjectKey, Thing>;
  /** The history up to now is gone. */
  compact(): void;
  /** As after a restore from a backup: other objects, and versions that restart from an earlier one. */
  restore(version: number): void;
  fail(verb: 'list' | 'watch', ...faults: Fault[]): void;
  /** While true, events stay on their way. */
  held: boolean;
  release(): void;
  /** How it answers a streamed list; default 'refuses'. */
  streaming: 'offers' | 'refuses' | 'ignores';
  /** Whether an aborted watch ends in order instead of throwing, as some transports do; default false. */
  endsOnAbort: boolean;
  /** Whether it ends a watch after its timeoutSeconds; default true. */
  endsInTime: boolean;
  /** Without faults, every answer takes this long; default 0. */
  latencyMs: number;
}

export function createScriptedServer(clock: Clock): ScriptedServer {
  const faults = { list: [] as Fault[], watch: [] as Fault[] };
  const requests: { verb: 'list' | 'watch'; at: number; options: ListOptions & WatchOptions }[] = [];
  const watches: Watch[] = [];
  let history: Entry[] = [];
  let version = 10;
  let compacted = 0;
  let uids = 0;

  function stateAt(limit: number, labelSelector: string | undefined): Map<ObjectKey, Thing> {
    const state = new Map<ObjectKey, Thing>();
    for (const { at, key, object } of history) {
      if (at > limit) break;
      if (object) state.set(key, object);
      else state.delete(key);
    }
    const { matches } = parseLabelSelector(labelSelector ?? '');
    const selected = [...state].filter(([, { metadata }]) => matches(metadata.labels));
    return new Map(selected.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  function append(key: ObjectKey, object: Thing | undefined, previous: Thing | undefined): void {
    const entry = { at: version, key, object, previous };
    history.push(entry);
    for (const watch of watches) watch.see(entry);
  }

  async function suffer(verb: 'list' | 'watch', options: ListOptions & WatchOptions): Promise<void> {
    requests.push({ verb, at: clock.now(), options });
    const fault = faults[verb].shift();
    if (fault === 'hang') {
      await sleep(clock, options.timeoutMs ?? 30_000, options.signal);
      throw new TransportError('timeout', 'scripted');
    }
    const delay = fault && 'delayMs' in fault ? fault.delayMs : server.latencyMs;
    if (delay > 0) await sleep(clock, delay, options.signal);
    if (fault && 'error' in fault) throw fault.error;
    if (options.signal?.aborted) throw new TransportError('aborted', 'scripted');
  }

  async function list(options: ListOptions = {}): Promise<ListPage<Thing>> {
    await suffer('list', options);
    const [at, offset] = options.continue ? options.continue.split(':').map(Number) : [version, 0];
    if (at === undefined || offset === undefined || at < compacted) throw apiError(410, 'Expired');
    const all = [...stateAt(at, options.labelSelector).values()];
    const end = offset + (options.limit ?? all.length);
    const next = end < all.length ? { continue: `${at}:${end}` } : {};
    return { items: all.slice(offset, end), resourceVersion: String(at), ...next };
  }

  async function watch(options: WatchOptions = {}): Promise<WatchStream> {
    await suffer('watch', options);
    if (options.sendInitialEvents && server.streaming === 'refuses') throw apiError(422, 'Invalid');
    const from = options.sendInitialEvents ? version : Number(options.resourceVersion);
    if (from < compacted) throw apiError(410, 'Expired');
    const opened = createWatch(options, server, clock);
    if (options.sendInitialEvents) {
      const initial = [...stateAt(from, options.labelSelector).values()];
      for (const object of initial) opened.send({ type: 'ADDED', object });
      if (server.streaming === 'offers') opened.send(bookmark(from, true));
    }
    for (const entry of history) if (entry.at > from) opened.see(entry);
    watches.push(opened);
    return opened.stream;
  }

  const server: ScriptedServer = {
    // Only the methods that an informer calls are implemented. All others fail.
    client: {
      list: (_kind: Kind, options?: ListOptions) => list(options),
      watch: (_kind: Kind, options?: WatchOptions) => watch(options),
    } as unknown as Client,
    requests,
    watches,
    held: false,
    streaming: 'refuses',
    latencyMs: 0,
    endsOnAbort: false,
    endsInTime: true,
    get version() {
      return version;
    },
    put(name, { value = 0, namespace = 'default', labels, managedFields } = {}) {
      const key = `${namespace}/${name}`;
      const previous = stateAt(version, undefined).get(key);
      version++;
      const object: Thing = {
        apiVersion: 'test.io/v1',
        kind: 'Thing',
        metadata: {
          name,
          namespace,
          uid: previous?.metadata.uid ?? `uid-${++uids}`,
          resourceVersion: String(version),
          ...(labels ? { labels } : {}),
          ...(managedFields ? { managedFields } : {}),
        },
        spec: { value, nested: { list: ['a', 'b'] } },
      };
      append(key, object, previous);
      return object;
    },
    remove(name, namespace = 'default') {
      const key = `${namespace}/${name}`;
      const previous = stateAt(version, undefined).get(key);
      if (!previous) return undefined;
      version++;
      append(key, undefined, previous);
      return previous;
    },
    content: (labelSelector) => stateAt(version, labelSelector),
    compact() {
      compacted = version;
    },
    restore(to) {
      for (const open of watches) open.cut();
      history = [];
      version = to;
      compacted = 0;
    },
    fail(verb, ...more) {
      faults[verb].push(...more);
    },
    release() {
      server.held = false;
      for (const open of watches) open.flush();
    },
  };
  return server;
}

/** An error as the client throws it. */
export function apiError(
  code: number,
  reason: string,
  more: { retryAfterSeconds?: number; message?: string } = {},
): ApiError {
  const { retryAfterSeconds, message = reason } = more;
  return new ApiError({
    code,
    status: { kind: 'Status', code, reason, message },
    method: 'GET',
    path: '/apis/test.io/v1/things',
    address: 'scripted',
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

interface Entry {
  at: number;
  key: ObjectKey;
  object: Thing | undefined;
  previous: Thing | undefined;
}

interface Watch extends OpenWatch {
  readonly stream: WatchStream;
  see(entry: Entry): void;
  flush(): void;
}

function createWatch(options: WatchOptions, server: ScriptedServer, clock: Clock): Watch {
  const { matches } = parseLabelSelector(options.labelSelector ?? '');
  const ready: (readonly WatchEvent[])[] = [];
  let underway: (readonly WatchEvent[])[] = [];
  let last: readonly WatchEvent[] = [];
  let ending: { error?: Error } | undefined;
  let isSilent = false;
  let isOpen = true;
  let wake: (() => void) | undefined;

  const push = (batch: readonly WatchEvent[]) => {
    if (isSilent || ending) return;
    last = batch;
    if (server.held) underway.push(batch);
    else {
      ready.push(batch);
      wake?.();
    }
  };
  const finish = (error?: Error) => {
    if (isSilent || ending) return;
    ending = error ? { error } : {};
    wake?.();
  };

  async function* stream(): WatchStream {
    const onAbort = () => {
      ready.length = 0;
      ending = server.endsOnAbort ? {} : { error: new TransportError('aborted', 'scripted') };
      wake?.();
    };
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const timeout = clock.after((options.timeoutSeconds ?? 300) * 1000, () => {
      if (server.endsInTime) finish();
    });
    try {
      for (;;) {
        const batch = ready.shift();
        if (batch) yield batch;
        else if (ending?.error) throw ending.error;
        else if (ending) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      isOpen = false;
      timeout.cancel();
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    options,
    stream: stream(),
    get isOpen() {
      return isOpen;
    },
    cut: (error = new TransportError('reset', 'scripted')) => finish(error),
    end: () => finish(),
    silence() {
      isSilent = true;
    },
    send: (...events) => push(events),
    repeat() {
      if (last.length > 0) push(last);
    },
    bookmark: () => push([bookmark(server.version, false)]),
    flush() {
      for (const batch of underway) ready.push(batch);
      underway = [];
      wake?.();
    },
    see({ at, object, previous }) {
      const is = object !== undefined && matches(object.metadata.labels);
      const was = previous !== undefined && matches(previous.metadata.labels);
      if (is && object) push([{ type: was ? 'MODIFIED' : 'ADDED', object }]);
      else if (was && previous) {
        const gone = object ?? previous;
        push([{ type: 'DELETED', object: { ...gone, metadata: { ...gone.metadata, resourceVersion: String(at) } } }]);
      }
    },
  };
}

function bookmark(version: number, isEnd: boolean): WatchEvent {
  const annotations = isEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  return {
    type: 'BOOKMARK',
    object: { apiVersion: 'test.io/v1', kind: 'Thing', metadata: { resourceVersion: String(version), ...annotations } },
  };
}
