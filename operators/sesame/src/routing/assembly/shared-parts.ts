import { FragmentChunk, type MessageName } from '../../envoy/index.ts';
import type { ResourceKey } from '../../xds/index.ts';
import { compareBytes } from '../route-order.ts';
import { partHash, type SharedPart } from './piece.ts';

/** The parts of a composed resource at one moment. */
export interface SharedContent<Name extends MessageName> {
  readonly size: number;
  /** In order. They are encoded when the resource is, which clients that get the parts one by one never ask for. */
  readonly chunks: readonly FragmentChunk<Name>[];
  readonly hash: string;
  /** Clusters of the parts that changed. */
  readonly requires: ResourceKey[];
}

/** Parts to a chunk, at most: a change costs one chunk, whatever the number of parts. */
const MOST = 128;

interface Row<Name extends MessageName = MessageName> {
  readonly key: string;
  readonly part: SharedPart<Name>;
}

interface Chunk<Name extends MessageName> {
  readonly rows: Row<Name>[];
  /** Undefined when a row has changed since it was handed out. */
  composed: FragmentChunk<Name> | undefined;
}

/** The parts of one composed resource, in order, with a hash of all that is kept up to date part by part. */
export class SharedParts<Name extends MessageName> {
  readonly #parts = new Map<string, SharedPart<Name>>();
  /** In the order of names, then of keys; none is empty. */
  readonly #chunks: Chunk<Name>[] = [];
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

  put(key: string, part: SharedPart<Name> | undefined): void {
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
    if (before && before.name !== part?.name) this.#remove({ key, part: before });
    if (part) this.#place({ key, part });
  }

  /** Returns the present parts of the composed resource. */
  take(): SharedContent<Name> {
    this.#isChanged = false;
    const requires = [...this.#requires];
    this.#requires = new Set();
    return {
      size: this.#parts.size,
      chunks: this.#chunks.map((chunk) => {
        chunk.composed ??= new FragmentChunk(chunk.rows.map(({ part }) => part.fragment));
        return chunk.composed;
      }),
      hash: hex(this.#high) + hex(this.#low),
      requires,
    };
  }

  /** In the place of the row with the same name and key, or between its neighbours. */
  #place(row: Row<Name>): void {
    const at = this.#chunkOf(row);
    const chunk = this.#chunks[at];
    if (!chunk) {
      this.#chunks.push({ rows: [row], composed: undefined });
      return;
    }
    const { index, isThere } = placeIn(chunk.rows, row);
    chunk.rows.splice(index, isThere ? 1 : 0, row);
    chunk.composed = undefined;
    if (chunk.rows.length > MOST)
      this.#chunks.splice(at + 1, 0, { rows: chunk.rows.splice(chunk.rows.length / 2), composed: undefined });
  }

  #remove(row: Row<Name>): void {
    const at = this.#chunkOf(row);
    const chunk = this.#chunks[at];
    const { index, isThere } = placeIn(chunk?.rows ?? [], row);
    if (!chunk || !isThere) return;
    chunk.rows.splice(index, 1);
    chunk.composed = undefined;
    const next = this.#chunks[at + 1];
    if (chunk.rows.length === 0) this.#chunks.splice(at, 1);
    else if (next && chunk.rows.length + next.rows.length <= MOST / 2) {
      chunk.rows.push(...next.rows);
      this.#chunks.splice(at + 1, 1);
    }
  }

  /** The last chunk whose first row is not behind it, or the first one. */
  #chunkOf(row: Row<Name>): number {
    let [low, high] = [0, this.#chunks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const first = this.#chunks[middle]?.rows[0];
      if (first && compareRows(first, row) <= 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  #count(part: SharedPart<Name>, factor: 1 | -1): void {
    const hash = partHash(part);
    this.#high = (this.#high + factor * Number.parseInt(hash.slice(0, 8), 16)) >>> 0;
    this.#low = (this.#low + factor * Number.parseInt(hash.slice(8, 16), 16)) >>> 0;
  }
}

function placeIn(rows: readonly Row[], row: Row): { index: number; isThere: boolean } {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRows(rows[middle] as Row, row) < 0) low = middle + 1;
    else high = middle;
  }
  return { index: low, isThere: rows[low]?.key === row.key && rows[low]?.part.name === row.part.name };
}

function compareRows(left: Row, right: Row): number {
  return compareBytes(left.part.name, right.part.name) || compareBytes(left.key, right.key);
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
