import type { InformerView, KubeObject, ObjectKey } from '@capstan/kube';

/** The objects of a cache by something in them; kept up to date with the cache. */
export interface IndexedBy<T> {
  get(key: string): readonly T[];
}

/** Objects for which `keyOf` gives undefined are left out. Lists are in the order of the objects' keys. */
export function indexBy<T extends KubeObject>(
  informer: InformerView<T>,
  keyOf: (object: T) => string | undefined,
): IndexedBy<T> {
  const groups = new Map<string, Group<T>>();
  const placeOf = new Map<ObjectKey, string>();
  const take = (key: ObjectKey) => {
    const place = placeOf.get(key);
    const group = place === undefined ? undefined : groups.get(place);
    if (place === undefined || group === undefined) return;
    placeOf.delete(key);
    group.objects.delete(key);
    group.sorted = undefined;
    if (group.objects.size === 0) groups.delete(place);
  };
  const put = (key: ObjectKey, place: string, object: T) => {
    const group = groups.get(place) ?? { objects: new Map<ObjectKey, T>(), sorted: undefined };
    group.objects.set(key, object);
    group.sorted = undefined;
    groups.set(place, group);
    placeOf.set(key, place);
  };
  informer.subscribe((events) => {
    for (const event of events) {
      if (event.type !== 'upsert' && event.type !== 'delete') continue;
      take(event.key);
      const place = event.type === 'upsert' ? keyOf(event.object) : undefined;
      if (place !== undefined) put(event.key, place, event.object);
    }
  });
  return {
    get(key) {
      const group = groups.get(key);
      if (group === undefined) return [];
      group.sorted ??= [...group.objects].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
      return group.sorted;
    },
  };
}

interface Group<T> {
  objects: Map<ObjectKey, T>;
  /** The same array until something changes; it is shared. */
  sorted: readonly T[] | undefined;
}
