// Projections of the runtime itself: the reads of the diff. Each compares by its visible fields and carries the whole object along (see
// read/tracked-object.ts).
import type { KubeObject } from '@capstan/kube/cluster';
import { templateMark } from '../../diff/child-body.ts';
import { telling, unrecorded } from '../../engine/index.ts';
import { INVENTORY_LABEL, PAUSED_ANNOTATION } from '../../marks.ts';
import { contentOf, type View, viewOf } from '../../read/tracked-object.ts';

/** The parts of an owner that count: its identity, its generation, its deletion, and its pause. */
export const ownerView = telling((object: KubeObject) => {
  const { uid, generation, deletionTimestamp, annotations } = object.metadata;
  return viewOf(object, { uid, generation, deletionTimestamp, paused: annotations?.[PAUSED_ANNOTATION] });
}, notifyOwner);

/** The parts of a child that count: our marks, and the fields that are ours. Its status does not count. */
export const childView = telling((object: KubeObject) => {
  const { uid, deletionTimestamp, labels, annotations, ownerReferences, managedFields } = object.metadata;
  const inventory = labels?.[INVENTORY_LABEL];
  return viewOf(object, {
    uid,
    deletionTimestamp,
    inventory,
    annotations,
    ownerReferences,
    managedFields,
    template: templateMark(object),
  });
}, notifyChild);

/** Always equal: the memory is read, and its changes wake no reconciler. */
export const memoryView: (object: KubeObject) => View<object> = unrecorded((object: KubeObject) => viewOf(object, {}));

function notifyOwner(object: KubeObject): unknown {
  const { deletionTimestamp, annotations } = object.metadata;
  return {
    ...contentOf(object),
    metadata: { deletionTimestamp, annotations: { [PAUSED_ANNOTATION]: annotations?.[PAUSED_ANNOTATION] } },
  };
}

function notifyChild(object: KubeObject): unknown {
  const { labels, annotations, ownerReferences, deletionTimestamp } = object.metadata;
  return { ...contentOf(object), metadata: { labels, annotations, ownerReferences, deletionTimestamp } };
}
