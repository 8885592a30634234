// Resources that clients refuse. A client gets such a resource last and alone, so that a refusal concerns nothing else, and a client that
// accepts it gets it all the same. The refusals are kept across restarts of Sesame: an Envoy that reconnects keeps its last accepted
// version, and no search delays the others.
import type { Resource, ResourceKey } from '../resource.ts';

export interface RefusedResource {
  readonly key: ResourceKey;
  /** The version that was refused last. */
  readonly version: string;
  /** The message of the client. */
  readonly message: string;
  /** The version that a client accepted last, which stays in force; undefined: none is known. */
  readonly accepted: Resource | undefined;
}

/** Shared by all clients of a server. */
export class RefusedResources {
  readonly #byKey = new Map<ResourceKey, RefusedResource>();
  readonly #onChange: (key: ResourceKey, refused: RefusedResource | undefined) => void;

  constructor(
    known: Iterable<RefusedResource> = [],
    onChange: (key: ResourceKey, refused: RefusedResource | undefined) => void = () => undefined,
  ) {
    for (const each of known) this.#byKey.set(each.key, each);
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: ResourceKey): RefusedResource | undefined {
    return this.#byKey.get(key);
  }

  has(key: ResourceKey): boolean {
    return this.#byKey.has(key);
  }

  remember({ key, version, message, accepted }: RefusedResource): void {
    const before = this.#byKey.get(key);
    const next = { key, version, message, accepted: accepted ?? before?.accepted };
    if (before?.version === version && before.message === message && before.accepted === next.accepted) return;
    this.#byKey.set(key, next);
    this.#onChange(key, next);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > MAX_KNOWN && oldest !== undefined) this.forget(oldest);
  }

  /** A client has accepted the resource, or it is not served any more. */
  forget(key: ResourceKey): void {
    if (this.#byKey.delete(key)) this.#onChange(key, undefined);
  }
}

/** The oldest are dropped: they would be found again by a search. */
const MAX_KNOWN = 1_000;
