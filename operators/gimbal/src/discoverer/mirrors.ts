// The discovered objects of a backend in this cluster. They are removed with the backend, and only if a discoverer created them.
import { EndpointSlice, Endpoints, type Kind, type KubeObject, Service } from '@capstan/kube';
import { isMarked, type Reader, type Removal, remove } from '@capstan/reconcile';
import { CREATED_BY } from '../discover/mirror/created-by.ts';
import { labelValue } from '../discover/names/discovered-name.ts';
import { BACKEND_LABEL } from '../kinds/index.ts';

/** Removals of all that a backend's discoverer has created. Services first: no client is sent to one without addresses. */
export function removalsOf(read: Reader, backend: string, writeEndpoints: boolean): Removal[] {
  const labels = `${BACKEND_LABEL}=${labelValue(backend)}`;
  const kinds: Kind[] = [Service, EndpointSlice, ...(writeEndpoints ? [Endpoints] : [])];
  return kinds.flatMap((kind) =>
    read
      .list(kind, { labels }, createdFrom)
      .flatMap((created) => (created === undefined ? [] : [remove(kind, created, { provenance: CREATED_BY })])),
  );
}

/** Returns the reference of an object that a discoverer created; undefined for any other. */
const createdFrom = (object: KubeObject): KubeObject | undefined => {
  const { apiVersion, kind, metadata } = object;
  const { namespace, name, uid } = metadata;
  if (!isMarked(object, CREATED_BY) || name === undefined || uid === undefined) return undefined;
  return { apiVersion, kind, metadata: { ...(namespace === undefined ? {} : { namespace }), name, uid } };
};
