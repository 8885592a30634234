// A search for the part that a client refuses. A client that comes back has content that the server does not know: a version with less might
// take hosts from it. So every version of the search has all parts, and is refused: a marker that no client accepts stands between the parts
// to be tested and the rest. A client reads in order. If its message is not about the marker, the part that it refuses is before the marker.

export interface MarkerSearchOptions {
  /** Everything that the client is sent. */
  readonly all: readonly string[];
  /** Those that are tested first, e.g. because the message of the client names them. */
  readonly suspects: readonly string[];
  /** A text that the message of a client has which refuses the marker, and no other one. */
  readonly marker: string;
  /**
   * False: whether the client reads in order is not known. The first version tests nothing then: the message about it has to be that about
   * the marker.
   */
  readonly isOrderKnown: boolean;
}

export class MarkerSearch {
  readonly #marker: string;
  readonly #all: readonly string[];
  readonly #clean = new Set<string>();
  #candidates: readonly string[];
  #tested: readonly string[];

  constructor({ all, suspects, marker, isOrderKnown }: MarkerSearchOptions) {
    this.#marker = marker;
    this.#all = all;
    this.#candidates = suspects.length > 0 ? suspects : all;
    this.#tested = isOrderKnown ? halfOf(this.#candidates) : [];
  }

  /** Those that stand before the marker. */
  get tested(): readonly string[] {
    return this.#tested;
  }

  /**
   * Takes in the answer to the version with `tested` before the marker. Returns the part that the client refuses, `again` while it is looked
   * for, or `none` when no part is at fault.
   */
  refused(message: string): { readonly found: string } | 'again' | 'none' {
    const [first, ...more] = this.#tested;
    if (message.includes(this.#marker)) {
      for (const each of this.#tested) this.#clean.add(each);
    } else if (first === undefined) {
      return 'none';
    } else {
      if (more.length === 0) return { found: first };
      this.#candidates = this.#tested;
    }
    const isOpen = (each: string) => !this.#clean.has(each);
    this.#candidates = this.#candidates.filter(isOpen);
    // The suspects are innocent.
    if (this.#candidates.length === 0) this.#candidates = this.#all.filter(isOpen);
    this.#tested = halfOf(this.#candidates);
    return this.#tested.length > 0 ? 'again' : 'none';
  }
}

function halfOf(list: readonly string[]): readonly string[] {
  return list.slice(0, Math.ceil(list.length / 2));
}
