import type { Fragment } from '../../envoy/index.ts';
import type { ResourceKey } from '../../xds/index.ts';
import { compareBytes } from '../route-order.ts';
import { partHash, type SharedPart } from './piece.ts';

/** What a composed resource consists of at one moment. */
export interface SharedContent {
  readonly size: number;
  /** In order; put together when the resource is encoded, which clients that get the parts one by one never ask for. */
  fragments(): Fragment[];
  readonly hash: string;
  /** Clusters of the parts that changed. */
  readonly requires: ResourceKey[];
}

/** Parts to a chunk. A change copies one chunk and the list of chunks, whatever the number of parts. */
const CHUNK = 128;

/** The parts of one composed resource, in order, with a hash of all that is kept up to date part by part. */
export class SharedParts {
  readonly #parts = new Map<string, SharedPart>();
  /** Never changed once they were handed out: what was composed from them stays as it was. */
  #chunks: readonly (readonly Fragment[])[] = [];
  /** Where each part is; undefined when parts have come or gone, and the order is to be found again. */
  #places: Map<string, number> | undefined = new Map();
  #high = 0;
  #low = 0;
  /** Clusters of the parts that changed since the last `take`. */
  #requires = new Set<ResourceKey>();
  #isChanged = false;

  get size(): number {
    return this.#parts.size;
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  put(key: string, part: SharedPart | undefined): void {
    const before = this.#parts.get(key);
    if (before && part && partHash(before) === partHash(part)) return;
    if (!before && !part) return;
    this.#isChanged = true;
    if (before) this.#count(before, -1);
    if (part) {
      this.#count(part, 1);
      for (const required of part.requires) this.#requires.add(required);
      this.#parts.set(key, part);
    } else this.#parts.delete(key);
    if (!before || !part || before.name !== part.name) this.#places = undefined;
    else this.#replace(key, part.fragment);
  }

  /** What the composed resource consists of now. */
  take(): SharedContent {
    this.#isChanged = false;
    const requires = [...this.#requires];
    this.#requires = new Set();
    if (!this.#places) this.#arrange();
    const chunks = this.#chunks;
    return {
      size: this.#parts.size,
      fragments: () => chunks.flat(),
      hash: hex(this.#high) + hex(this.#low),
      requires,
    };
  }

  #arrange(): void {
    const sorted = [...this.#parts].sort(([, left], [, right]) => compareBytes(left.name, right.name));
    this.#places = new Map(sorted.map(([key], place) => [key, place]));
    const chunks: Fragment[][] = [];
    for (let at = 0; at < sorted.length; at += CHUNK)
      chunks.push(sorted.slice(at, at + CHUNK).map(([, { fragment }]) => fragment));
    this.#chunks = chunks;
  }

  #replace(key: string, fragment: Fragment): void {
    const place = this.#places?.get(key);
    if (place === undefined) return;
    const at = Math.floor(place / CHUNK);
    this.#chunks = this.#chunks.with(at, (this.#chunks[at] ?? []).with(place % CHUNK, fragment));
  }

  #count(part: SharedPart, factor: 1 | -1): void {
    const hash = partHash(part);
    this.#high = (this.#high + factor * Number.parseInt(hash.slice(0, 8), 16)) >>> 0;
    this.#low = (this.#low + factor * Number.parseInt(hash.slice(8, 16), 16)) >>> 0;
  }
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
