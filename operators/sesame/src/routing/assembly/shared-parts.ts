import type { Fragment } from '../../envoy/index.ts';
import type { ResourceKey } from '../../xds/index.ts';
import { compareBytes } from '../route-order.ts';
import { partHash, type SharedPart } from './piece.ts';

/** The parts of one composed resource, in order, with a hash of all that is kept up to date part by part. */
export class SharedParts {
  readonly #parts = new Map<string, SharedPart>();
  #order: string[] | undefined = [];
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
    if ((before === undefined) !== (part === undefined)) this.#order = undefined;
  }

  /** What the composed resource consists of now. */
  take(): { fragments: Fragment[]; hash: string; requires: ResourceKey[] } {
    this.#isChanged = false;
    const requires = [...this.#requires];
    this.#requires = new Set();
    this.#order ??= [...this.#parts.keys()].sort((left, right) =>
      compareBytes(this.#parts.get(left)?.name ?? '', this.#parts.get(right)?.name ?? ''),
    );
    const fragments: Fragment[] = [];
    for (const key of this.#order) {
      const part = this.#parts.get(key);
      if (part) fragments.push(part.fragment);
    }
    return { fragments, hash: hex(this.#high) + hex(this.#low), requires };
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
