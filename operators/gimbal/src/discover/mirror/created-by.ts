// The evidence that a discoverer created an object here: nothing without it is ever removed.
import type { KubeObject } from '@capstan/kube/cluster';
import { isMarked } from '@capstan/reconcile/ownership';
import { gimbalLabel, LABEL_FAMILIES } from '../../kinds/group.ts';
import { copiedKeys, MIRROR_ANNOTATION } from './metadata.ts';

/** The one who writes discovered objects. */
export const FIELD_MANAGER = 'gimbal-discoverer';

/** A discoverer annotates each mirror. A copy that a user made has the annotation too, but another field manager set it. */
export const CREATED_BY = { annotation: MIRROR_ANNOTATION, managers: [FIELD_MANAGER] };

/** Returns true if a discoverer of this backend, ours or upstream's, created the object. */
export function isCreatedFor(value: string, object: KubeObject): boolean {
  const { labels, annotations } = object.metadata;
  if (gimbalLabel(labels, 'backend') !== value) return false;
  return copiedKeys(annotations) === undefined ? isOfUpstream(object) : isMarked(object, CREATED_BY);
}

/**
 * Upstream's discoverer writes no annotation: its objects have the labels of backend and service of its family. A slice that Kubernetes
 * built from such Endpoints is deleted with those, and no discoverer removes it.
 */
function isOfUpstream({ metadata: { labels = {} } }: KubeObject): boolean {
  const isCreated = LABEL_FAMILIES.some((family) => `${family}/backend` in labels && `${family}/service` in labels);
  const isCopy =
    labels['endpointslice.kubernetes.io/managed-by']?.startsWith('endpointslicemirroring-controller') === true;
  return isCreated && !isCopy;
}
