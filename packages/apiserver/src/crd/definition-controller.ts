import type { CustomResourceDefinition, UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import type { Core } from '../core.ts';
import type { WatchHub } from '../watch/watch-hub.ts';
import { type CustomResourceOptions, customResource } from './custom-resource.ts';
import { CLEANUP_FINALIZER, CRD_STORAGE_KEY, isDefinition, isEstablished } from './definition-strategy.ts';

/**
 * Serves what definitions describe, from the moment they are stored (so the answer to their creation comes after), and
 * clears away the objects of a definition that is being deleted before it lets it go.
 */
export function startDefinitionController(
  core: Core,
  hub: WatchHub,
  options: CustomResourceOptions,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const serve = (crd: CustomResourceDefinition) => {
    if (isEstablished(crd)) core.registry.add(customResource(crd, options));
  };

  const cleanUp = async (key: string) => {
    const crd = core.store.get(CRD_STORAGE_KEY, key);
    if (!crd || !isDefinition(crd) || !isBeingCleared(crd)) return;
    const storageKey = `${crd.spec.group}/${crd.spec.names.plural}`;
    for (const { key: instance } of core.store.list(storageKey, '')) await operations.remove(storageKey, instance);
    if (core.store.count(storageKey) === 0) await operations.dropFinalizer(CRD_STORAGE_KEY, key, CLEANUP_FINALIZER);
  };

  for (const { object } of core.store.list(CRD_STORAGE_KEY, '')) if (isDefinition(object)) serve(object);

  core.store.subscribe(undefined, (event) => {
    if (event.resource === CRD_STORAGE_KEY) {
      const crd: unknown = event.object;
      if (!isDefinition(crd)) return;
      if (!event.deleted) {
        serve(crd);
        if (isBeingCleared(crd)) run(() => cleanUp(event.key));
        return;
      }
      const [served] = core.registry
        .all()
        .filter(({ storageKey }) => storageKey === `${crd.spec.group}/${crd.spec.names.plural}`);
      if (!served?.custom) return;
      core.registry.remove(served);
      hub.endAll(served.storageKey);
      return;
    }
    if (!event.deleted) return;
    const [group = '', plural = ''] = event.resource.split('/');
    const owner = core.store.get(CRD_STORAGE_KEY, `${plural}.${group}`);
    if (owner && isBeingCleared(owner)) run(() => cleanUp(`${plural}.${group}`));
  });
}

function isBeingCleared({ metadata }: Pick<UnknownObject, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(CLEANUP_FINALIZER) === true;
}
