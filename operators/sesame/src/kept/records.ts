// From resources to records of the kept snapshot, and back. A route configuration that is composed of virtual hosts is kept without them:
// each of them is a resource of its own.
import {
  type Delivery,
  decode,
  type Envoy,
  Fragment,
  RenamedFragment,
  RESOURCE_TYPES,
  type ResourceType,
} from '../envoy/index.ts';
import { SharedParts } from '../routing/assembly/piece.ts';
import { sharedRoutes, VIRTUAL_HOST } from '../routing/envoy/route-message.ts';
import { hashName } from '../routing/envoy/cluster-message.ts';
import { encodedResource, type Resource, type ResourceKey, resourceKey } from '../xds/index.ts';

/** A resource without its bytes, which follow in the order of the records. */
export interface ResourceRecord {
  readonly type: ResourceType;
  readonly name: string;
  readonly version: string;
  readonly delivery: Delivery;
  readonly length: number;
  /** The bytes are those of the route configuration without its virtual hosts. */
  readonly isSplit?: true;
  readonly requires?: readonly ResourceKey[];
  readonly origins?: readonly string[];
}

export interface EncodedRecord {
  readonly record: ResourceRecord;
  readonly bytes: readonly Uint8Array[];
}

export function recordOf(resource: Resource): EncodedRecord {
  const { type, name, requires, origins } = resource;
  const isSplit = isOfHosts(resource);
  const { delivery, buffers } = isSplit
    ? { delivery: 'grpc' as const, buffers: [resource.bytes('grpc', 'split')] }
    : resource.anyForm();
  return {
    record: {
      type,
      name,
      version: resource.version('whole'),
      delivery,
      length: buffers.reduce((sum, { length }) => sum + length, 0),
      ...(isSplit && { isSplit }),
      ...(requires.length > 0 && { requires }),
      ...(origins.length > 0 && { origins }),
    },
    bytes: buffers,
  };
}

/** Reports whether each part of the resource is the virtual host of another resource, so that it can be composed of those. */
function isOfHosts({ type, composition }: Resource): boolean {
  if (type !== 'rds' || !composition) return false;
  return composition.chunks.every(({ fragments }) => fragments.every((fragment) => fragment instanceof RenamedFragment));
}

export function isRecord(value: unknown): value is ResourceRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { type, name, version, delivery, length, requires, origins } = value as Record<keyof ResourceRecord, unknown>;
  return (
    RESOURCE_TYPES.includes(type as ResourceType) &&
    typeof name === 'string' &&
    typeof version === 'string' &&
    (delivery === 'grpc' || delivery === 'delta' || delivery === 'ads') &&
    Number.isSafeInteger(length) &&
    (length as number) >= 0 &&
    areTexts(requires) &&
    areTexts(origins)
  );
}

export function areTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
}

/** A record with its bytes in the file. */
export interface KnownRecord {
  readonly record: ResourceRecord;
  readonly bytes: Buffer;
}

export function restoredResources(known: ReadonlyMap<ResourceKey, KnownRecord>): Resource[] {
  const hosts = new Map<string, Resource[]>();
  const restored = [...known.values()].map(({ record, bytes }) => {
    if (record.isSplit) return undefined;
    const { type, name, version, delivery, requires, origins } = record;
    const resource = encodedResource({
      type,
      name,
      version,
      form: { delivery, bytes },
      ...(requires && { requires }),
      ...(origins && { origins }),
    });
    if (type === 'vhds') listOf(hosts, name.slice(0, name.lastIndexOf('/'))).push(resource);
    return resource;
  });
  const composed = [...known.values()].flatMap(({ record, bytes }) =>
    record.isSplit ? composedRoutes(record, bytes, hosts.get(record.name) ?? []) : [],
  );
  return [...restored.flatMap((resource) => resource ?? []), ...composed];
}

function composedRoutes({ name, version, requires }: ResourceRecord, split: Buffer, hosts: readonly Resource[]): Resource {
  let chunks: ReturnType<typeof composedHosts> | undefined;
  const { virtual_hosts: more = [] } = decode('google.protobuf.Any', split) as Envoy.RouteConfiguration;
  const fixed = (more as readonly Envoy.VirtualHost[]).map((host) => new Fragment(VIRTUAL_HOST, host, true));
  // Clients that get the hosts one by one never ask for the whole.
  return sharedRoutes(name, () => (chunks ??= composedHosts(name, hosts)), version, requires ?? [], fixed);
}

function composedHosts(name: string, hosts: readonly Resource[]) {
  const parts = new SharedParts<typeof VIRTUAL_HOST>();
  for (const host of hosts) {
    const fqdn = host.name.slice(name.length + 1);
    const fragment = new RenamedFragment(VIRTUAL_HOST, hashName(fqdn), host.bytes('grpc', 'whole'));
    parts.put(resourceKey('vhds', host.name), { name: fqdn, fragment, requires: [] });
  }
  return parts.take().chunks;
}

function listOf<K, V>(map: Map<K, V[]>, key: K): V[] {
  const found = map.get(key) ?? [];
  map.set(key, found);
  return found;
}
