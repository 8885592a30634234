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
  const groups = new Map<string, Map<ObjectKey, T>>();
  const placeOf = new Map<ObjectKey, string>();
  const take = (key: ObjectKey) => {
    const place = placeOf.get(key);
    if (place === undefined) return;
    placeOf.delete(key);
    const group = groups.get(place);
    group?.delete(key);
    if (group?.size === 0) groups.delete(place);
  };
  informer.subscribe((events) => {
    for (const event of events) {
      if (event.type !== 'upsert' && event.type !== 'delete') continue;
      take(event.key);
      const place = event.type === 'upsert' ? keyOf(event.object) : undefined;
      if (event.type === 'delete' || place === undefined) continue;
      placeOf.set(event.key, place);
      const group = groups.get(place);
      if (group) group.set(event.key, event.object);
      else groups.set(place, new Map([[event.key, event.object]]));
    }
  });
  return {
    get: (key) =>
      [...(groups.get(key) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, object]) => object),
  };
}
