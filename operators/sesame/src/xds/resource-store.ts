// The resources that are served now, and the listeners for changes. It is the sink's state: a new stream is answered from it.
import type { Delivery, ResourceType } from '../envoy/index.ts';
import { isSameResource, type Resource, type ResourceKey, type Shape } from './resource.ts';
import { VersionSum } from './version-sum.ts';

export interface ResourceChange {
  readonly key: ResourceKey;
  readonly before: Resource | undefined;
  readonly after: Resource | undefined;
}

export interface ResourceStore {
  /** False until the first complete set is there; nothing is answered before that. */
  readonly isComplete: boolean;
  /** Names the kept snapshot in responses, while its resources are served; undefined otherwise. */
  readonly mark: string | undefined;
  get(key: ResourceKey): Resource | undefined;
  /** The same without a key, which would have to be put together first. */
  find(type: ResourceType, name: string): Resource | undefined;
  ofType(type: ResourceType): ReadonlyMap<string, Resource>;
  /** Serves the resources of an earlier process, until the first `take` brings all that there are. */
  restore(resources: Iterable<Resource>, mark: string): void;
  /** Replaces changed resources; equal ones are left out of the notification. */
  take(changes: Iterable<readonly [ResourceKey, Resource | undefined]>): readonly ResourceChange[];
  /** The whole type as buffers of a state-of-the-world response, shared by the streams that send it until the type changes. */
  buffers(type: ResourceType, delivery: Delivery): readonly Uint8Array[];
  /** A version of the whole type, from the versions in it. */
  versionOf(type: ResourceType): string;
  subscribe(listener: (changes: readonly ResourceChange[]) => void): () => void;
}

export function createResourceStore(): ResourceStore {
  const types = new Map<ResourceType, Map<string, Resource>>();
  const listeners = new Set<(changes: readonly ResourceChange[]) => void>();
  /** A copy of megabytes, which is given up when no stream sends it any more. */
  const bodies = new Map<string, WeakRef<readonly Uint8Array[]>>();
  const versions = new Map<ResourceType, string>();
  let isComplete = false;
  let mark: string | undefined;

  const ofType = (type: ResourceType): Map<string, Resource> => {
    let found = types.get(type);
    if (!found) {
      found = new Map();
      types.set(type, found);
    }
    return found;
  };
  const get = (key: ResourceKey): Resource | undefined => {
    const at = key.indexOf('/');
    return types.get(key.slice(0, at) as ResourceType)?.get(key.slice(at + 1));
  };

  return {
    get isComplete() {
      return isComplete;
    },
    get,
    find: (type, name) => types.get(type)?.get(name),
    ofType,
    get mark() {
      return mark;
    },
    restore(resources, name) {
      if (isComplete) return;
      for (const resource of resources) ofType(resource.type).set(resource.name, resource);
      mark = name;
      isComplete = true;
      for (const listener of listeners) listener([]);
    },
    take(incoming) {
      const changes: ResourceChange[] = [];
      const isFirst = mark !== undefined;
      mark = undefined;
      for (const [key, after] of isFirst ? replacing(types, incoming) : incoming) {
        const before = get(key);
        if (isSameResource(before, after)) {
          // The bytes of the file are given up.
          if (isFirst && after) ofType(after.type).set(after.name, after);
          continue;
        }
        const at = key.indexOf('/');
        const type = key.slice(0, at) as ResourceType;
        if (after === undefined) ofType(type).delete(key.slice(at + 1));
        else ofType(type).set(after.name, after);
        for (const delivery of ['grpc', 'delta', 'ads']) bodies.delete(`${type} ${delivery}`);
        versions.delete(type);
        changes.push({ key, before, after });
      }
      isComplete = true;
      for (const listener of listeners) listener(changes);
      return changes;
    },
    buffers(type, delivery) {
      const id = `${type} ${delivery}`;
      let buffers = bodies.get(id)?.deref();
      if (!buffers) {
        buffers = join([...ofType(type).values()].flatMap((resource) => resourceBuffers(resource, delivery)));
        bodies.set(id, new WeakRef(buffers));
      }
      return buffers;
    },
    versionOf(type) {
      let version = versions.get(type);
      if (version === undefined) {
        version = combinedVersion(ofType(type).values());
        versions.set(type, version);
      }
      return version;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The whole set that takes the place of the resources that are there: others are removed. */
function* replacing(
  types: ReadonlyMap<ResourceType, ReadonlyMap<string, Resource>>,
  incoming: Iterable<readonly [ResourceKey, Resource | undefined]>,
): Generator<readonly [ResourceKey, Resource | undefined]> {
  const all = new Map(incoming);
  yield* all;
  const gone = [...types.values()].flatMap((resources) => [...resources.values()].filter(({ key }) => !all.has(key)));
  for (const { key } of gone) yield [key, undefined];
}

/** `resources` of a DiscoveryResponse is field 2: its tag, the length, and the Any that the resource keeps. */
export function resourceBuffers(resource: Resource, delivery: Delivery, shape: Shape = 'whole'): Uint8Array[] {
  const buffers = resource.buffers(delivery, shape);
  return [lengthPrefix(0x12, sizeOf(buffers)), ...buffers];
}

export function sizeOf(buffers: readonly Uint8Array[]): number {
  let size = 0;
  for (const { length } of buffers) size += length;
  return size;
}

export function lengthPrefix(tag: number, length: number): Uint8Array {
  const prefix = [tag];
  let rest = length;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) prefix.push((rest & 0x7f) | 0x80);
  prefix.push(rest);
  return Uint8Array.from(prefix);
}

/** Small buffers are joined, so that a response is few writes; large ones stay the buffers that all streams share. */
export function join(buffers: readonly Uint8Array[]): Uint8Array[] {
  const joined: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const close = () => {
    if (small.length > 0) joined.push(Buffer.concat(small));
    small = [];
  };
  for (const buffer of buffers) {
    if (buffer.length < LARGE) small.push(buffer);
    else {
      close();
      joined.push(buffer);
    }
  }
  close();
  return joined;
}

const LARGE = 32_768;

export function combinedVersion(resources: Iterable<Resource>): string {
  const sum = new VersionSum();
  for (const resource of resources) sum.add(resource);
  return sum.toString();
}
