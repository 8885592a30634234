import type { ObjectOperations } from '../controllers.ts';
import type { Core } from '../core.ts';
import { isObject, valueAt } from '../json/copy.ts';

const NAMESPACES = '/namespaces';

/** Empties a namespace that is being deleted, and lets it go when nothing is left in it. */
export function startNamespaceController(
  core: Core,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const isTerminating = (name: string) => core.store.get(NAMESPACES, name)?.metadata.deletionTimestamp !== undefined;

  const empty = async (name: string) => {
    const namespace = core.store.get(NAMESPACES, name);
    const held = valueAt(namespace, ['spec', 'finalizers']);
    if (!namespace || !isTerminating(name) || !Array.isArray(held) || !held.includes('kubernetes')) return;
    let left = 0;
    // One that an admission wants to keep does not keep the others.
    const refusals: unknown[] = [];
    for (const resource of core.registry.all()) {
      if (!resource.namespaced) continue;
      const { storageKey } = resource;
      for (const { key } of core.store.list(storageKey, `${name}/`)) {
        await operations.remove(storageKey, key).catch((error: unknown) => refusals.push(error));
      }
      left += core.store.list(storageKey, `${name}/`).length;
    }
    if (refusals.length > 0) throw refusals[0];
    if (left > 0) return;
    const finalized = (object: typeof namespace) => {
      const spec = isObject(object['spec']) ? object['spec'] : {};
      return { ...object, spec: { ...spec, finalizers: held.filter((one) => one !== 'kubernetes') } };
    };
    await operations.change(NAMESPACES, name, finalized, 'finalize');
  };

  for (const { key } of core.store.list(NAMESPACES, '')) if (isTerminating(key)) run(() => empty(key));
  core.store.subscribe(undefined, (event) => {
    if (event.resource === NAMESPACES) {
      if (!event.deleted && event.object.metadata.deletionTimestamp !== undefined) run(() => empty(event.key));
      return;
    }
    const { namespace } = event.object.metadata;
    if (event.deleted && namespace !== undefined && isTerminating(namespace)) run(() => empty(namespace));
  });
}
