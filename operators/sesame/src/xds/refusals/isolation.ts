// A resource that is composed of the parts of many hosts is refused as a whole when one part is bad. The part is found by sending fewer
// changes at a time: the client's accepted version, with some of the changes. A part that is refused by itself is kept back, in its last
// accepted version, and all others are served. The accepted version of a client that comes back is not known: there the part is found with
// a marker, and left out.
import { type Fragment, FragmentChunk, hexHash, type PerFilter, TYPE_URL_PREFIX } from '../../envoy/index.ts';
import type { Resource, ResourceKey } from '../resource.ts';
import { isNamed } from '../subscription.ts';
import { MarkerSearch } from './marker-search.ts';

/** The parts of a composed resource, and a way to compose the same resource of other parts. */
export interface Composition {
  /** Two compositions share their equal parts. */
  readonly chunks: readonly FragmentChunk[];
  of(chunks: readonly FragmentChunk[], contentHash: string): Resource;
  /** The host that a part belongs to. */
  nameOf(part: Fragment): string;
  /** A part with an extension of the name PART_MARKER, which no client has. */
  readonly marker: Fragment;
}

/** The name of an extension that no client has: the message of a client that refuses it has the name. */
export const PART_MARKER = 'sesame.marker.part';
/** Its configuration, of a type that no extension has. */
export const PART_MARKER_CONFIG = {
  '@type': `${TYPE_URL_PREFIX}google.protobuf.Empty`,
} as unknown as PerFilter[string];

/**
 * Parts that some client refuses, by the hash of their content, with its message. Shared by all clients of a server, so each is only a
 * suspect to the others: they get it after everything else, and keep it when they accept it.
 */
export type RefusedParts = Map<string, string>;

/** The oldest are dropped: most of them belong to content that was changed since, and that is not sent again. */
const MAX_KNOWN = 1000;

/** A client that refuses more parts of one resource refuses everything: no more of them are looked for. */
const MAX_KEPT = 200;

export interface KeptPart {
  readonly name: string;
  readonly message: string;
}

interface Kept extends KeptPart {
  /** Served in its place; undefined: nothing. */
  readonly instead: Fragment | undefined;
}

interface PartChange {
  readonly name: string;
  readonly before: Fragment | undefined;
  readonly after: Fragment | undefined;
}

/** The refused parts of one client, by resource. */
export class Isolations {
  readonly #accepted = new Map<ResourceKey, Resource>();
  readonly #isolations = new Map<ResourceKey, Isolation>();
  readonly #known: RefusedParts;

  constructor(known: RefusedParts) {
    this.#known = known;
  }

  /** Returns the accepted version of a composed resource. */
  accepted(key: ResourceKey): Resource | undefined {
    return this.#accepted.get(key);
  }

  /** The client has nothing any more of these. */
  forget(isGone: (key: ResourceKey) => boolean): ResourceKey[] {
    const gone = [...new Set([...this.#accepted.keys(), ...this.#isolations.keys()])].filter(isGone);
    for (const key of gone) {
      this.#accepted.delete(key);
      this.#isolations.delete(key);
    }
    return gone;
  }

  /** False when the part that is refused cannot be found. */
  refused(sent: Resource, wanted: Resource, message: string, isFresh: boolean): boolean {
    const { key } = sent;
    const accepted = this.#accepted.get(key);
    const isKnown = accepted !== undefined || isFresh;
    const isolation = this.#isolations.get(key) ?? new Isolation(wanted, accepted, this.#known, isKnown);
    if (!isolation.refused(sent, message)) return false;
    this.#isolations.set(key, isolation);
    return true;
  }

  /** Whether parts of it are kept back or being looked for. */
  accept(key: ResourceKey, sent: Resource): boolean {
    this.#accepted.set(key, sent);
    const isolation = this.#isolations.get(key);
    isolation?.accepted(sent);
    return isolation !== undefined;
  }

  /** Returns the version of a resource to send to the client: the same, or without the parts that it refuses. */
  next(key: ResourceKey, wanted: Resource | undefined): Resource | undefined {
    const found = this.#isolations.get(key);
    if (!wanted?.composition) {
      this.#isolations.delete(key);
      this.#accepted.delete(key);
      return wanted;
    }
    const accepted = this.#accepted.get(key);
    // Nothing is left out of the first version for a client because of another one.
    if (!found && (this.#known.size === 0 || !accepted)) return wanted;
    const isolation = found ?? new Isolation(wanted, accepted, this.#known);
    isolation.want(wanted);
    const next = isolation.next();
    if (isolation.isOver) this.#isolations.delete(key);
    else this.#isolations.set(key, isolation);
    return next;
  }

  /** Parts that are kept back; undefined where the resource is sent as it is. */
  kept(key: ResourceKey): readonly KeptPart[] | undefined {
    return this.#isolations.get(key)?.kept;
  }
}

export class Isolation {
  /** The version that the client has accepted; undefined: it has none, or one that is not known. */
  #accepted: Resource | undefined;
  #wanted: Resource;
  /** By the hash of the part that this client refuses. */
  readonly #kept = new Map<string, Kept>();
  readonly #suspects: RefusedParts;
  /** How many parts the next attempt changes at most. */
  #step = Number.POSITIVE_INFINITY;
  /** False: the client came back, and its version is not known. */
  #isKnown: boolean;
  #search: MarkerSearch | undefined;
  /** Changes wait for others to be accepted. */
  #isPartial = false;

  constructor(wanted: Resource, accepted: Resource | undefined, suspects: RefusedParts, isKnown = true) {
    this.#wanted = wanted;
    this.#accepted = accepted;
    this.#suspects = suspects;
    this.#isKnown = isKnown;
  }

  get kept(): readonly KeptPart[] {
    return [...this.#kept.values()];
  }

  /** Nothing is kept back, and nothing is being tried. */
  get isOver(): boolean {
    return this.#kept.size === 0 && this.#step === Number.POSITIVE_INFINITY && !this.#search && !this.#isPartial;
  }

  want(wanted: Resource): void {
    this.#wanted = wanted;
  }

  /** Returns the version to send to the client. */
  next(): Resource {
    const target = this.#target();
    this.#isPartial = false;
    if (this.#search) return withMarker(target, this.#search.tested);
    if (!this.#isKnown || (this.#step === Number.POSITIVE_INFINITY && this.#suspects.size === 0)) return target;
    const changes = changesBetween(this.#accepted, target);
    const isSuspect = ({ after }: PartChange) => after !== undefined && this.#suspects.has(after.hash());
    const innocent = this.#suspects.size > 0 ? changes.filter((each) => !isSuspect(each)) : changes;
    const chosen = (innocent.length > 0 ? innocent : changes).slice(0, this.#step);
    if (chosen.length === changes.length) return target;
    this.#isPartial = true;
    return withChanges(target, this.#accepted, chosen);
  }

  accepted(resource: Resource): void {
    if (this.#suspects.size > 0) for (const part of partsOf(resource)) this.#suspects.delete(part.hash());
    this.#accepted = resource;
    this.#isKnown = true;
    this.#search = undefined;
    const isDone = resource.version('whole') === this.#target().version('whole');
    this.#step = isDone ? Number.POSITIVE_INFINITY : this.#step * 2;
  }

  /** False when it is not a part that is refused. */
  refused(resource: Resource, message: string): boolean {
    if (!this.#isKnown) return this.#refusedByReturning(message);
    const changes = changesBetween(this.#accepted, resource);
    const [only, ...more] = changes;
    if (!only) return false;
    if (more.length > 0) {
      this.#step = Math.ceil(changes.length / 2);
      return true;
    }
    if (!only.after || this.#kept.size >= MAX_KEPT) return false;
    this.#keep(only.after.hash(), { name: only.name, instead: only.before, message });
    this.#step = Number.POSITIVE_INFINITY;
    return true;
  }

  #refusedByReturning(message: string): boolean {
    const { composition } = this.#wanted;
    const parts = new Map(partsOf(this.#target()).map((part) => [part.hash(), part]));
    const nameOf = (hash: string) => composition?.nameOf(parts.get(hash) as Fragment) ?? '';
    if (!this.#search) {
      const all = [...parts.keys()];
      const known = all.filter((hash) => this.#suspects.has(hash));
      const suspects = known.length > 0 ? known : all.filter((hash) => isNamed(nameOf(hash), message));
      this.#search = new MarkerSearch({ all, suspects, marker: PART_MARKER, isOrderKnown: false });
      return all.length > 0;
    }
    const result = this.#search.refused(message);
    if (result === 'again') return true;
    this.#search = undefined;
    if (result === 'none' || this.#kept.size >= MAX_KEPT) return false;
    this.#keep(result.found, { name: nameOf(result.found), instead: undefined, message });
    return true;
  }

  #keep(hash: string, kept: Kept): void {
    this.#kept.set(hash, kept);
    this.#suspects.set(hash, kept.message);
    const [oldest] = this.#suspects.keys();
    if (this.#suspects.size > MAX_KNOWN && oldest !== undefined) this.#suspects.delete(oldest);
  }

  /** Returns the wanted version, without the parts that this client refuses. */
  #target(): Resource {
    const { composition } = this.#wanted;
    if (!composition || this.#kept.size === 0) return this.#wanted;
    const changes = partsOf(this.#wanted).flatMap((before): PartChange[] => {
      const kept = this.#kept.get(before.hash());
      return kept ? [{ name: kept.name, before, after: kept.instead }] : [];
    });
    // A part that was changed or removed since is tried again.
    const there = new Set(changes.map(({ before }) => before?.hash()));
    for (const hash of this.#kept.keys()) if (!there.has(hash)) this.#kept.delete(hash);
    return changes.length === 0 ? this.#wanted : withChanges(this.#wanted, this.#wanted, changes);
  }
}

function partsOf({ composition }: Resource): Fragment[] {
  return composition?.chunks.flatMap(({ fragments }) => fragments) ?? [];
}

/** The resource with the tested parts first, and the marker after them. */
function withMarker(resource: Resource, tested: readonly string[]): Resource {
  const { composition } = resource;
  if (!composition) return resource;
  const isTested = new Set(tested);
  const parts = partsOf(resource);
  const ordered = [
    ...parts.filter((part) => isTested.has(part.hash())),
    composition.marker,
    ...parts.filter((part) => !isTested.has(part.hash())),
  ];
  const version = hexHash(`${resource.version('whole')} ${tested.join(' ')} marker`, 8);
  return composition.of([new FragmentChunk(ordered)], version);
}

/** Returns the parts that differ, by name; shared ones are skipped. */
function changesBetween(before: Resource | undefined, after: Resource): PartChange[] {
  const [old, next] = [before?.composition, after.composition];
  if (!next) return [];
  const own = (chunks: readonly FragmentChunk[], others: readonly FragmentChunk[]) => {
    const shared = new Set(others);
    return chunks.filter((chunk) => !shared.has(chunk)).flatMap(({ fragments }) => fragments);
  };
  const [left, entered] = [own(old?.chunks ?? [], next.chunks), own(next.chunks, old?.chunks ?? [])];
  const [leftHashes, enteredHashes] = [left, entered].map((parts) => new Set(parts.map((part) => part.hash())));
  const changes = new Map<string, PartChange>();
  for (const part of left) {
    if (enteredHashes?.has(part.hash())) continue;
    const name = next.nameOf(part);
    changes.set(name, { name, before: part, after: undefined });
  }
  for (const part of entered) {
    if (leftHashes?.has(part.hash())) continue;
    const name = next.nameOf(part);
    changes.set(name, { name, before: changes.get(name)?.before, after: part });
  }
  return [...changes.values()];
}

/** The resource of `base`'s parts with changes; everything else is that of `like`. */
function withChanges(like: Resource, base: Resource | undefined, changes: readonly PartChange[]): Resource {
  const { composition } = like;
  if (!composition) return like;
  const replaced = new Map(changes.flatMap(({ before, after }) => (before ? [[before.hash(), after] as const] : [])));
  const chunks = (base?.composition?.chunks ?? []).map((chunk) => {
    if (!chunk.fragments.some((part) => replaced.has(part.hash()))) return chunk;
    return new FragmentChunk(
      chunk.fragments.flatMap((part) => (replaced.has(part.hash()) ? (replaced.get(part.hash()) ?? []) : [part])),
    );
  });
  const added = changes.flatMap(({ before, after }) => (before || !after ? [] : [after]));
  const all = [...chunks, ...(added.length > 0 ? [new FragmentChunk(added)] : [])].filter(
    ({ fragments }) => fragments.length > 0,
  );
  const hashes = all.flatMap(({ fragments }) => fragments.map((part) => part.hash())).toSorted();
  return composition.of(all, hexHash(`${like.name} ${hashes.join(' ')}`, 8));
}
