// The place of an object that is not in the cluster of its owner: the kind carries the name of the world, so that every identity, write and
// message with kind and name means the right cluster.
import type { Kind, KubeObject } from '@capstan/kube/cluster';

type Placed<K extends Kind> = K & { readonly world?: string };

/** One object each per kind and world: plans are compared by value, and equal kinds should be the same. */
const placed = new WeakMap<Kind, Map<string, Kind>>();

/** The kind in another world; the kind itself without one. */
export function inWorld<T extends KubeObject>(kind: Kind<T>, world: string | undefined): Kind<T> {
  if (world === undefined) return kind;
  const known = placed.get(kind) ?? new Map<string, Kind>();
  placed.set(kind, known);
  const found = known.get(world) ?? { ...kind, world };
  known.set(world, found);
  return found as Kind<T>;
}

/** The world that a kind was placed in; undefined for that of the owner. */
export function placeOf(kind: Kind): string | undefined {
  return (kind as Placed<Kind>).world;
}
