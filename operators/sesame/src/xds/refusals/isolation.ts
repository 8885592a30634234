// A resource that is composed of the parts of many hosts is refused as a whole when one part is bad. The part is found by sending fewer
// changes at a time: the client's accepted version, with some of the changes. A part that is refused by itself is kept back, in its last
// accepted version, and all others are served.
import { type Fragment, FragmentChunk, hexHash } from '../../envoy/index.ts';
import type { Resource, ResourceKey } from '../resource.ts';

/** The parts of a composed resource, and a way to compose the same resource of other parts. */
export interface Composition {
  /** Two compositions share their equal parts. */
  readonly chunks: readonly FragmentChunk[];
  of(chunks: readonly FragmentChunk[], contentHash: string): Resource;
  /** The host that a part belongs to. */
  nameOf(part: Fragment): string;
}

/**
 * A part that clients refuse, by the hash of its content. Shared by all clients of a server: the finding of one saves the others the
 * search.
 */
export type RefusedParts = Map<string, string>;

/** The oldest are dropped: most of them belong to content that was changed since, and that is not sent again. */
const MAX_KNOWN = 1000;

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
  refused(sent: Resource, wanted: Resource, message: string): boolean {
    const { key } = sent;
    const isolation = this.#isolations.get(key) ?? new Isolation(wanted, this.#accepted.get(key), this.#known);
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
    if (!found && this.#known.size === 0) return wanted;
    const isolation = found ?? new Isolation(wanted, this.#accepted.get(key), this.#known);
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
  /** The version that the client has accepted; undefined: it has none. */
  #accepted: Resource | undefined;
  #wanted: Resource;
  /** By the hash of the part that is refused. */
  readonly #kept = new Map<string, Kept>();
  readonly #known: RefusedParts;
  /** How many parts the next attempt changes at most. */
  #step = Number.POSITIVE_INFINITY;

  constructor(wanted: Resource, accepted: Resource | undefined, known: RefusedParts) {
    this.#wanted = wanted;
    this.#accepted = accepted;
    this.#known = known;
  }

  get kept(): readonly KeptPart[] {
    return [...this.#kept.values()];
  }

  /** Nothing is kept back, and nothing is being tried. */
  get isOver(): boolean {
    return this.#kept.size === 0 && this.#step === Number.POSITIVE_INFINITY;
  }

  want(wanted: Resource): void {
    this.#wanted = wanted;
  }

  /** Returns the version to send to the client. */
  next(): Resource {
    const target = this.#target();
    if (this.#step === Number.POSITIVE_INFINITY) return target;
    const changes = changesBetween(this.#accepted, target);
    if (changes.length <= this.#step) return target;
    return withChanges(target, this.#accepted, changes.slice(0, this.#step));
  }

  accepted(resource: Resource): void {
    this.#accepted = resource;
    const isDone = resource.version('whole') === this.#target().version('whole');
    this.#step = isDone ? Number.POSITIVE_INFINITY : this.#step * 2;
  }

  /** False when it is not a part that is refused. */
  refused(resource: Resource, message: string): boolean {
    const changes = changesBetween(this.#accepted, resource);
    const [only, ...more] = changes;
    if (!only) return false;
    if (more.length > 0) {
      this.#step = Math.ceil(changes.length / 2);
      return true;
    }
    if (!only.after) return false;
    this.#kept.set(only.after.hash(), { name: only.name, instead: only.before, message });
    this.#known.set(only.after.hash(), message);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    this.#step = Number.POSITIVE_INFINITY;
    return true;
  }

  /** Returns the wanted version, without the refused parts. */
  #target(): Resource {
    const composition = this.#wanted.composition;
    if (!composition) return this.#wanted;
    const parts = composition.chunks.flatMap(({ fragments }) => fragments);
    const there = new Set<string>();
    for (const part of parts) {
      const hash = part.hash();
      const message = this.#known.get(hash);
      if (message === undefined) continue;
      there.add(hash);
      if (!this.#kept.has(hash)) {
        const name = composition.nameOf(part);
        this.#kept.set(hash, { name, instead: partNamed(this.#accepted, name), message });
      }
    }
    // A part that was changed or removed since is tried again.
    for (const hash of this.#kept.keys()) if (!there.has(hash)) this.#kept.delete(hash);
    if (this.#kept.size === 0) return this.#wanted;
    const changes = parts.flatMap((after): PartChange[] => {
      const kept = this.#kept.get(after.hash());
      return kept ? [{ name: kept.name, before: after, after: kept.instead }] : [];
    });
    return withChanges(this.#wanted, this.#wanted, changes);
  }
}

function partNamed(resource: Resource | undefined, name: string): Fragment | undefined {
  const { composition } = resource ?? {};
  for (const { fragments } of composition?.chunks ?? [])
    for (const part of fragments) if (composition?.nameOf(part) === name) return part;
  return undefined;
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
