// The refusals of Envoys, kept in annotations of a Lease beside those of the replicas, so that they outlive Sesame: an Envoy that
// reconnects after a restart keeps the last version of a refused resource, and all others are sent to it without a search. Each resource
// has an annotation of its own, so that replicas do not overwrite each other's findings.
import {
  type Client,
  type Clock,
  isAlreadyExists,
  isNotFound,
  Lease,
  type Logger,
  reasonOf,
  type Timer,
} from '@capstan/kube';
import { decode, hexHash, type ResourceMessage, type ResourceType, withoutDelivery } from '../envoy/index.ts';
import { createResource, type Refused, type RefusedResource, RefusedResources, type Resource } from '../xds/index.ts';

export interface RefusalMemoryOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly namespace: string;
  /** The name of the SesameConfiguration. */
  readonly configuration: string;
}

export interface RefusalMemory {
  /** Reads the known refusals, once. Without an answer of the server none are known. */
  load(): Promise<Refused>;
  /** Resolves when the new refusals are written. */
  close(): Promise<void>;
}

const PREFIX = 'refused.projectsesame.io/';
const FIELD_MANAGER = 'sesame-serve';
/** The server takes 256 KiB of annotations for each object. */
const MAX_ENTRIES = 40;
const MAX_BYTES = 4_000;
const MAX_MESSAGE = 500;
const WRITE_AFTER_MS = 500;
/** Between writes: a client that refuses and accepts in turns must not make Sesame write all the time. */
const WRITE_EVERY_MS = 10_000;
const LOAD_MS = 3_000;

/** Types that a client removes when a response does not have them: only of these the last version is kept. They hold no secrets. */
const KEPT: ReadonlySet<ResourceType> = new Set(['cds', 'lds']);

interface Entry {
  /** Undefined: a part of a resource, by its hash. */
  readonly key?: string;
  readonly part?: string;
  readonly version?: string;
  readonly message: string;
  readonly accepted?: {
    readonly bytes: string;
    readonly requires: readonly string[];
    readonly origins: readonly string[];
  };
}

export function createRefusalMemory({
  client,
  clock,
  logger,
  namespace,
  configuration,
}: RefusalMemoryOptions): RefusalMemory {
  const name = `sesame-refused-${configuration}`;
  const written = new Set<string>();
  let pending: Record<string, string | null> = {};
  let timer: Timer | undefined;
  let lastWrite = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> = Promise.resolve();
  let loaded: Promise<Refused> | undefined;

  const write = async (): Promise<void> => {
    timer?.cancel();
    timer = undefined;
    const annotations = pending;
    pending = {};
    if (Object.keys(annotations).length === 0) return;
    lastWrite = clock.now();
    const body = { metadata: { annotations } };
    try {
      await client.patch(Lease, { namespace, name }, 'merge', body, { fieldManager: FIELD_MANAGER });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const there = Object.entries(annotations).filter((each): each is [string, string] => each[1] !== null);
      if (there.length === 0) return;
      const metadata = { namespace, name, annotations: Object.fromEntries(there) };
      const lease: Lease = { apiVersion: Lease.apiVersion, kind: Lease.kind, metadata };
      await client.create(Lease, lease, { fieldManager: FIELD_MANAGER }).catch((reason: unknown) => {
        // Another replica was first.
        if (!isAlreadyExists(reason)) throw reason;
        return client.patch(Lease, { namespace, name }, 'merge', body, { fieldManager: FIELD_MANAGER });
      });
    }
  };
  const flush = (): Promise<void> => {
    writing = writing.then(write).catch((error: unknown) => {
      logger.warn('what Envoys refuse cannot be kept for the next start', { lease: name, reason: reasonOf(error) });
    });
    return writing;
  };
  const put = (id: string, entry: Entry | undefined) => {
    const annotation = `${PREFIX}${hexHash(id).slice(0, 32)}`;
    if (entry === undefined) {
      if (!written.delete(annotation)) return;
      pending[annotation] = null;
    } else {
      if (!written.has(annotation) && written.size >= MAX_ENTRIES) return;
      written.add(annotation);
      pending[annotation] = JSON.stringify(entry);
    }
    timer ??= clock.after(Math.max(WRITE_AFTER_MS, lastWrite + WRITE_EVERY_MS - clock.now()), () => void flush());
  };
  const read = async (): Promise<Refused> => {
    const known: RefusedResource[] = [];
    const parts: [string, string][] = [];
    try {
      const lease = await client.find(Lease, { namespace, name }, { signal: AbortSignal.timeout(LOAD_MS) });
      for (const [annotation, text] of Object.entries(lease?.metadata.annotations ?? {})) {
        if (!annotation.startsWith(PREFIX)) continue;
        written.add(annotation);
        const entry = parseEntry(text);
        if (entry?.part !== undefined) parts.push([entry.part, entry.message]);
        else if (entry?.key !== undefined) known.push(refusedOf(entry.key, entry));
      }
    } catch (error) {
      logger.warn('what Envoys refused before cannot be read', { lease: name, reason: reasonOf(error) });
    }
    return {
      parts: new RememberedParts(parts, (hash, message) =>
        put(hash, message === undefined ? undefined : { part: hash, message: message.slice(0, MAX_MESSAGE) }),
      ),
      resources: new RefusedResources(known, (key, refused) => put(key, refused && entryOf(refused))),
    };
  };
  return {
    load: () => (loaded ??= read()),
    close: () => flush(),
  };
}

class RememberedParts extends Map<string, string> {
  readonly #onChange: (hash: string, message: string | undefined) => void;

  constructor(known: readonly [string, string][], onChange: (hash: string, message: string | undefined) => void) {
    super();
    this.#onChange = () => undefined;
    for (const [hash, message] of known) super.set(hash, message);
    this.#onChange = onChange;
  }

  override set(hash: string, message: string): this {
    if (this.get(hash) !== message) this.#onChange(hash, message);
    return super.set(hash, message);
  }

  override delete(hash: string): boolean {
    this.#onChange(hash, undefined);
    return super.delete(hash);
  }
}

function typeOf(key: string): ResourceType {
  return key.slice(0, key.indexOf('/')) as ResourceType;
}

function entryOf({ key, version, message, accepted }: RefusedResource): Entry {
  // A message about a secret might quote it.
  const text = typeOf(key) === 'sds' ? 'it was refused before' : message.slice(0, MAX_MESSAGE);
  const entry: Entry = { key, version, message: text };
  if (!accepted || accepted.composition || !KEPT.has(accepted.type)) return entry;
  const bytes = Buffer.from(accepted.bytes('grpc', 'whole'));
  if (bytes.length > MAX_BYTES) return entry;
  const { requires, origins } = accepted;
  return { ...entry, accepted: { bytes: bytes.toString('base64'), requires, origins } };
}

function parseEntry(text: string): Entry | undefined {
  try {
    const entry = JSON.parse(text) as Partial<Entry>;
    return typeof entry.message === 'string' ? (entry as Entry) : undefined;
  } catch {
    return undefined;
  }
}

function refusedOf(key: string, { version = '', message, accepted }: Entry): RefusedResource {
  return { key, version, message, accepted: accepted && restored(key, accepted) };
}

function restored(key: string, { bytes, requires, origins }: NonNullable<Entry['accepted']>): Resource | undefined {
  try {
    const value = withoutDelivery(decode('google.protobuf.Any', Buffer.from(bytes, 'base64')) as ResourceMessage);
    return createResource({ type: typeOf(key), name: key.slice(key.indexOf('/') + 1), value, requires, origins });
  } catch {
    // It was written by another version of Sesame.
    return undefined;
  }
}
