import type { UnknownObject } from '@capstan/kube';
import type { Core } from '../core.ts';
import { notFound } from '../errors.ts';
import { nameOf, type Resource, type ResourceVersion } from '../resources/resource.ts';

/** The object or collection that a request addresses. */
export interface Target {
  resource: Resource;
  version: ResourceVersion;
  /** Empty for cluster-scoped resources, and for all namespaces. */
  namespace: string;
  /** Empty for the collection. */
  name: string;
  /** Empty for the object itself. */
  subresource: string;
}

export const keyFor = (target: Target, name = target.name): string =>
  target.resource.namespaced ? `${target.namespace}/${name}` : name;

/** The stored object, or NotFound. */
export function existing(core: Core, target: Target): UnknownObject {
  const object = core.store.get(target.resource.storageKey, keyFor(target));
  if (!object) throw notFound(nameOf(target.resource), target.name);
  return object;
}
