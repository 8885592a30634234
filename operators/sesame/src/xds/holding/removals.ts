// Removals that wait for routes. A cluster that is gone from the store is removed at a client once every route and listener that was under
// way at that time has been answered: one of them may be the replacement of its last use. All removals of one change wait for the same
// routes, so an answer costs the number of changes that wait for it, not the number of removals.
import type { ResourceKey } from '../resource.ts';

interface Barrier {
  /** Later responses contain the replacements of the removed resources. */
  readonly order: number;
  readonly routes: Set<ResourceKey>;
  readonly removals: Set<ResourceKey>;
}

export class Removals {
  readonly #byRoute = new Map<ResourceKey, Set<Barrier>>();
  readonly #byRemoval = new Map<ResourceKey, Barrier>();
  /** The barrier of the change that is being taken. */
  #current: Barrier | undefined;

  /** True if the removal waits for routes that are under way. All removals of one change have the same order. */
  hold(key: ResourceKey, order: number, underWay: () => Iterable<ResourceKey>): boolean {
    this.drop(key);
    if (this.#current?.order !== order) {
      this.#current = { order, routes: new Set(underWay()), removals: new Set() };
      for (const route of this.#current.routes) {
        const known = this.#byRoute.get(route);
        if (known) known.add(this.#current);
        else this.#byRoute.set(route, new Set([this.#current]));
      }
    }
    if (this.#current.routes.size === 0) return false;
    this.#current.removals.add(key);
    this.#byRemoval.set(key, this.#current);
    return true;
  }

  /** The resource is there again, or goes now. */
  drop(key: ResourceKey): void {
    this.#byRemoval.get(key)?.removals.delete(key);
    this.#byRemoval.delete(key);
  }

  get isEmpty(): boolean {
    return this.#byRoute.size === 0;
  }

  awaits(route: ResourceKey): boolean {
    return this.#byRoute.has(route);
  }

  /** A response with the route was answered; undefined: the route is not under way any more. Returns the resources that may be removed. */
  answered(route: ResourceKey, order: number | undefined): ResourceKey[] {
    const ready: ResourceKey[] = [];
    for (const barrier of this.#byRoute.get(route) ?? []) {
      if (order !== undefined && order <= barrier.order) continue;
      barrier.routes.delete(route);
      this.#byRoute.get(route)?.delete(barrier);
      if (barrier.routes.size > 0) continue;
      ready.push(...barrier.removals);
      for (const key of barrier.removals) this.#byRemoval.delete(key);
      barrier.removals.clear();
    }
    if (this.#byRoute.get(route)?.size === 0) this.#byRoute.delete(route);
    return ready;
  }

  clear(): void {
    this.#byRoute.clear();
    this.#byRemoval.clear();
    this.#current = undefined;
  }
}
