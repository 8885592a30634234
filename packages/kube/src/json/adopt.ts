import { equal, isPlain } from './equal.ts';
import { freezeDeep } from './freeze.ts';
import { interned } from './interned.ts';

// Prepares a parsed value for a cache in one walk: parts that equal those of a sibling are stored once, repeated texts are interned, and
// the result is frozen. Each step costs time even if it never succeeds, so the walk counts successes per place in the object and skips
// steps that do not pay there. A small share is still tried, so that a change is noticed.

export interface AdoptOptions {
  /** Fields whose texts differ from object to object by definition. */
  unique: ReadonlySet<string>;
  freeze: boolean;
}

/** Returns a function that prepares the objects of one kind, one after the other; its arguments are not changed. */
export function createAdopt<T>({ unique, freeze }: AdoptOptions): (next: T, sibling: T | undefined) => T {
  const root = new Place(true);
  // Parts of unique fields are compared, and their texts are not interned.
  const within = new Place(false);

  function adopt(next: unknown, sibling: unknown, place: Place, depth: number): unknown {
    if (typeof next === 'string') {
      if (next.length >= SHORTEST && next.length <= LONGEST && place.isRepeated(next)) interned(next);
      return next;
    }
    if (typeof next !== 'object' || next === null) return next;
    if (next === sibling) return next;
    // A value may be nested as deep as a client likes.
    if (depth > DEEPEST) return freeze ? freezeDeep(next) : next;
    const isCompared = typeof sibling === 'object' && sibling !== null && place.isCompared();
    const other = isCompared ? sibling : undefined;
    let result: unknown;
    if (Array.isArray(next)) result = adoptArray(next, Array.isArray(other) ? other : undefined, place, depth);
    else if (isPlain(next)) result = adoptObject(next, isPlainObject(other) ? other : undefined, place, depth);
    else if (isCompared && equal(sibling, next)) result = sibling;
    else return freeze ? freezeDeep(next) : next;
    if (isCompared) place.compared(result !== next);
    if (freeze && result !== sibling) Object.freeze(result);
    return result;
  }

  function adoptArray(next: readonly unknown[], sibling: readonly unknown[] | undefined, place: Place, depth: number) {
    let same = sibling?.length === next.length;
    let copy: unknown[] | undefined;
    const items = place.items();
    for (let i = 0; i < next.length; i++) {
      const value = next[i];
      const other = sibling?.[i];
      const kept = adopt(value, other, items, depth + 1);
      if (kept !== other) same = false;
      if (kept !== value) (copy ??= next.slice())[i] = kept;
    }
    return same ? sibling : (copy ?? next);
  }

  function adoptObject(next: Fields, sibling: Fields | undefined, place: Place, depth: number) {
    let same = sibling !== undefined;
    let keys = 0;
    let copy: Record<string, unknown> | undefined;
    for (const field in next) {
      keys++;
      const value = next[field];
      // Assigning __proto__ would set the prototype of the copy instead of a field.
      const isField = field !== '__proto__';
      const other = sibling !== undefined && isField && Object.hasOwn(sibling, field) ? sibling[field] : undefined;
      if (typeof value === 'string' && unique.has(field)) {
        same &&= value === other;
        continue;
      }
      const kept = adopt(value, other, unique.has(field) ? within.field(field) : place.field(field), depth + 1);
      if (kept !== other || other === undefined) same = false;
      if (kept !== value && isField) (copy ??= { ...next })[field] = kept;
    }
    if (same && sibling !== undefined) {
      for (const _ in sibling) keys--;
      if (keys === 0) return sibling;
    }
    return copy ?? next;
  }

  return (next, sibling) => adopt(next, sibling, root, 0) as T;
}

type Fields = Readonly<Record<string, unknown>>;

function isPlainObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlain(value);
}

/** Shorter texts are interned by the parser; longer ones are seldom equal. */
const SHORTEST = 11;
const LONGEST = 64;

const DEEPEST = 100;

/** A place in the objects of one kind, such as `spec.routes[].host`, and its success counts. */
class Place {
  readonly #count: { places: number };
  readonly #interns: boolean;
  readonly #fields = new Map<string, Place>();
  #rest: Place | undefined;
  #items: Place | undefined;
  #compared = 0;
  #shared = 0;
  #untried = 0;
  #samples = 0;
  #repeats = 0;
  #known = 0;
  /** One bit for each sampled text, by its hash. */
  #bits: Uint32Array | undefined;

  constructor(interns: boolean, count = { places: 0 }) {
    this.#interns = interns;
    this.#count = count;
    count.places++;
  }

  items(): Place {
    this.#items ??= new Place(this.#interns, this.#count);
    return this.#items;
  }

  field(name: string): Place {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    // More fields than a schema has are keys of users: they count together.
    if (this.#fields.size >= MOST_FIELDS || this.#count.places >= MOST_PLACES) {
      this.#rest ??= new Place(this.#interns, this.#count);
      return this.#rest;
    }
    const place = new Place(this.#interns, this.#count);
    this.#fields.set(name, place);
    return place;
  }

  /** Whether to compare with the sibling: at first, where a part in 16 was equal, and now and then. */
  isCompared(): boolean {
    if (this.#compared < TRIALS || this.#shared * 16 >= this.#compared) return true;
    if (++this.#untried < 32) return false;
    this.#untried = 0;
    return true;
  }

  compared(isShared: boolean): void {
    if (isShared) this.#shared++;
    if (++this.#compared < REMEMBERED) return;
    this.#compared /= 2;
    this.#shared /= 2;
  }

  /** Whether a text is worth interning here: at first, and where one in eight samples was seen before. */
  isRepeated(text: string): boolean {
    if (!this.#interns) return false;
    // By content, so that the copies of a text are all samples or none is.
    const { length } = text;
    const mark = text.charCodeAt(length - 1) + text.charCodeAt(length >> 1) + text.charCodeAt((length >> 1) + 2);
    if (mark % 8 === 0) this.#sample(text);
    return this.#samples < TRIALS || this.#repeats * 8 >= this.#samples;
  }

  #sample(text: string): void {
    this.#bits ??= new Uint32Array(BITS / 32);
    const bit = hashOf(text) % BITS;
    const mask = 1 << (bit & 31);
    const word = this.#bits[bit >>> 5] ?? 0;
    if ((word & mask) !== 0) this.#repeats++;
    else if (this.#known < MOST_KNOWN) {
      this.#known++;
      this.#bits[bit >>> 5] = word | mask;
    }
    if (++this.#samples < REMEMBERED) return;
    this.#samples /= 2;
    this.#repeats /= 2;
  }
}

const MOST_FIELDS = 32;
const MOST_PLACES = 512;
const TRIALS = 32;
const REMEMBERED = 4096;
/** One bit in sixteen is set at most, which is less than the share that counts as repeated. */
const BITS = 32_768;
const MOST_KNOWN = BITS / 16;

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
