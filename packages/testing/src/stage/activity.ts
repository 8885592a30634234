// Decides when a program that talks to a server over real connections is at rest. That cannot be known for certain from outside, but
// nearly: no request is under way; every open watch has brought the writes that went through these transports and that it must bring (its
// kind, its namespace, its labels); and for a moment nothing has arrived. Later actions of the server itself are not waited for.
import {
  type ApiRequest,
  type ApiResponse,
  type KubeObject,
  parseLabelSelector,
  type Transport,
  type WatchEvent,
  type WatchStream,
} from '@capstan/kube';
import { createVersionHistory, isVersion } from './version-history.ts';

export interface Activity {
  /** The same transport, followed. */
  follow(inner: Transport): Transport;
  /** Resolves when all is at rest; true when something has happened since it was asked last. */
  rest(): Promise<boolean>;
  /** Whether the server has ended a watch that its client has not asked for again: until then the client misses writes. */
  hasLapsedWatch(): boolean;
}

const QUIET_MS = 40;
/** After mere questions: nothing can follow from them but their answers. */
const CALM_MS = 3;
/** A watch that has not brought a write for so long never will: the object was gone again before it could be reported. */
const LOST_MS = 3_000;
const POLL_MS = 5;

export function createActivity(): Activity {
  let underWay = 0;
  let happened = 0;
  let reported = 0;
  let last = performance.now();
  /** Whether events may be on their way: since the last rest something was written, or a watch opened that has some to bring. */
  let isStirred = false;
  const watches = new Set<OpenWatch>();
  /** The selections of watches that the server has ended, until their clients open them again. */
  const lapsed = new Set<string>();
  const history = createVersionHistory();
  const note = () => {
    happened++;
    last = performance.now();
  };

  const expect = (request: ApiRequest, response: ApiResponse) => {
    const write = writeOf(request, response);
    if (write === undefined) return;
    history.written(write);
    for (const watch of watches) if (mustBring(watch, write)) watch.awaited.push({ ...write, since: last });
  };

  return {
    follow: (inner) => ({
      address: inner.address,
      async request(request) {
        underWay++;
        lapsed.delete(selectionOf(request));
        try {
          const response = await inner.request(request);
          isStirred ||= request.method !== 'GET';
          note();
          expect(request, response);
          return response;
        } finally {
          underWay--;
          note();
        }
      },
      async watch(request) {
        underWay++;
        lapsed.delete(selectionOf(request));
        try {
          const stream = await inner.watch(request);
          if (!isStream(stream)) return stream;
          const watch = openWatch(request);
          isStirred ||= history.goesOnAfter(watch.collection, request.query?.['resourceVersion']);
          watches.add(watch);
          const take = (event: WatchEvent) => {
            brought(watch, event);
            history.seen(watch.collection, event);
          };
          return followed(stream, take, note, (isOver) => {
            watches.delete(watch);
            if (isOver && request.signal?.aborted !== true) lapsed.add(selectionOf(request));
          });
        } finally {
          underWay--;
          note();
        }
      },
      close: () => inner.close(),
    }),
    async rest() {
      for (;;) {
        const now = performance.now();
        const isWaiting = [...watches].some(({ awaited }) => awaited.some(({ since }) => now - since < LOST_MS));
        if (underWay === 0 && !isWaiting && now - last >= (isStirred ? QUIET_MS : CALM_MS)) break;
        await new Promise((resolve) => setTimeout(resolve, isStirred ? POLL_MS : 1));
      }
      for (const watch of watches) watch.awaited.length = 0;
      isStirred = false;
      const hasHappened = happened !== reported;
      reported = happened;
      return hasHappened;
    },
    hasLapsedWatch: () => lapsed.size > 0,
  };
}

interface OpenWatch {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly matches: (labels: Readonly<Record<string, string>> | undefined) => boolean;
  /** Events often come before the answer to the write that made them. */
  latest: bigint;
  readonly deleted: Set<string>;
  /** Writes that it has yet to bring. */
  readonly awaited: Awaited[];
}

interface Write {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  /** Undefined for an object that is gone. */
  readonly resourceVersion: bigint | undefined;
  /** Undefined when they are not known. */
  readonly labels: Readonly<Record<string, string>> | undefined;
}

interface Awaited extends Write {
  readonly since: number;
}

function openWatch({ path, query = {} }: ApiRequest): OpenWatch {
  const { labelSelector, fieldSelector } = query;
  const selector = labelSelector === undefined ? undefined : parseLabelSelector(labelSelector);
  return {
    ...placeOf(path),
    // For a field selector, or a deleted object with a label selector, the matching events are not known here: none is demanded.
    matches: (labels) =>
      fieldSelector === undefined && (!selector || (labels !== undefined && selector.matches(labels))),
    latest: 0n,
    deleted: new Set(),
    awaited: [],
  };
}

function mustBring(watch: OpenWatch, write: Write): boolean {
  const { collection, namespace, labels } = write;
  if (watch.collection !== collection) return false;
  if (watch.namespace !== undefined && watch.namespace !== namespace) return false;
  return watch.matches(labels) && !hasBrought(watch, write);
}

function hasBrought({ latest, deleted }: OpenWatch, { resourceVersion, uid }: Write): boolean {
  return resourceVersion === undefined ? deleted.has(uid) : resourceVersion <= latest;
}

/** `apps/deployments` and the namespace, of the path of a collection, an object or a subresource. */
function placeOf(path: string): { collection: string; namespace: string | undefined } {
  const [root, ...parts] = path.split('/').slice(1);
  const group = root === 'api' ? '' : (parts.shift() ?? '');
  parts.shift();
  const isNamespaced =
    parts[0] === 'namespaces' && parts.length > 2 && !['finalize', 'status'].includes(parts[2] ?? '');
  const namespace = isNamespaced ? parts[1] : undefined;
  return { collection: `${group}/${parts[isNamespaced ? 2 : 0] ?? ''}`, namespace };
}

/** Returns the change by a request; undefined if there is none, or the answer does not show it. */
function writeOf({ method, path, query }: ApiRequest, { status, body }: ApiResponse): Write | undefined {
  if (method === 'GET' || query?.['dryRun'] !== undefined || status >= 300) return undefined;
  const { kind, metadata, details } = body as KubeObject & { details?: { uid?: string } };
  if (kind === 'Status') {
    const uid = details?.uid;
    return uid === undefined ? undefined : { ...placeOf(path), uid, resourceVersion: undefined, labels: undefined };
  }
  const { uid, resourceVersion, labels = {} } = metadata ?? {};
  if (uid === undefined || resourceVersion === undefined) return undefined;
  return { ...placeOf(path), uid, resourceVersion: BigInt(resourceVersion), labels };
}

async function* followed(
  stream: WatchStream,
  take: (event: WatchEvent) => void,
  note: () => void,
  /** `isOver`: by the stream, not by its reader. */
  ended: (isOver: boolean) => void,
): AsyncGenerator<readonly WatchEvent[]> {
  let isRead = false;
  try {
    for await (const events of stream) {
      note();
      for (const event of events) take(event);
      isRead = true;
      yield events;
      isRead = false;
    }
  } finally {
    ended(!isRead);
  }
}

/** Returns the selection of a list or a watch: both have the same path. */
function selectionOf({ path, query: { labelSelector = '', fieldSelector = '' } = {} }: ApiRequest): string {
  return [path, labelSelector, fieldSelector].join('\n');
}

function brought(watch: OpenWatch, { type, object }: WatchEvent): void {
  const { uid = '', resourceVersion = '0' } = (object as KubeObject).metadata ?? {};
  if (type === 'ERROR' || !isVersion(resourceVersion)) return;
  watch.latest = BigInt(resourceVersion);
  if (type === 'DELETED') watch.deleted.add(uid);
  const left = watch.awaited.filter((write) => !hasBrought(watch, write));
  watch.awaited.splice(0, watch.awaited.length, ...left);
}

function isStream(answer: WatchStream | ApiResponse): answer is WatchStream {
  return Symbol.asyncIterator in answer;
}
