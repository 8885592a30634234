// Route configurations of Gateways: each is composed of the virtual hosts of many pieces, so that an edit of one host costs that host.
import { hash } from 'node:crypto';
import { type Resource, type ResourceKey, resourceKey } from '../../xds/index.ts';
import { sharedRoutes, type VIRTUAL_HOST } from '../envoy/route-message.ts';
import { moreHash, type Piece, type RouteConfiguration, SharedParts } from './piece.ts';

export class RouteConfigurations {
  readonly #parts = new Map<string, SharedParts<typeof VIRTUAL_HOST>>();
  readonly #defined = new Map<string, RouteConfiguration>();
  readonly #changed = new Set<string>();

  /** A piece has changed. */
  take(key: string, before: Piece | undefined, after: Piece | undefined): void {
    const [left, entered] = [before?.routePart, after?.routePart];
    if (left && left.routes !== entered?.routes) this.#put(left.routes, key, undefined);
    if (entered) this.#put(entered.routes, key, entered.part);
    const kept = new Set(after?.configurations.map(({ name }) => name));
    for (const { name } of before?.configurations ?? []) if (!kept.has(name)) this.#define(name, undefined);
    for (const each of after?.configurations ?? []) this.#define(each.name, each);
  }

  /** Composes the configurations that changed since the last time. */
  compose(out: Map<ResourceKey, Resource | undefined>): void {
    for (const name of this.#changed) {
      const defined = this.#defined.get(name);
      const parts = this.#parts.get(name) ?? new SharedParts<typeof VIRTUAL_HOST>();
      if (!defined) {
        out.set(resourceKey('rds', name), undefined);
        if (parts.size === 0) this.#parts.delete(name);
        continue;
      }
      const { chunks, hash: content, requires } = parts.take();
      const version = hash('sha256', `${content} ${moreHash(defined)}`, 'buffer').toString('hex', 0, 8);
      out.set(resourceKey('rds', name), sharedRoutes(name, chunks, version, requires, defined.more));
    }
    this.#changed.clear();
  }

  #put(name: string, key: string, part: NonNullable<Piece['routePart']>['part'] | undefined): void {
    let parts = this.#parts.get(name);
    if (!parts) {
      parts = new SharedParts();
      this.#parts.set(name, parts);
    }
    parts.put(key, part);
    if (parts.isChanged) this.#changed.add(name);
  }

  #define(name: string, configuration: RouteConfiguration | undefined): void {
    const before = this.#defined.get(name);
    if (configuration) this.#defined.set(name, configuration);
    else this.#defined.delete(name);
    const isSame = before && configuration && moreHash(before) === moreHash(configuration);
    if (!isSame) this.#changed.add(name);
  }
}
