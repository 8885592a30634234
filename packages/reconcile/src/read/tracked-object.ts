// The `object` of a reconciler: spec, generation and deletionTimestamp always count; labels, annotations, status and the
// rest of the metadata only once they are read. So a status write, ours or another's, wakes nobody who did not look.
import type { KubeObject } from '@capstan/kube';
import type { Table, Tracker } from '../engine/index.ts';

const whole = Symbol('whole object');

/** A projection result that compares by its visible fields only, and carries the whole object along. */
type View<V> = V & { readonly [whole]: KubeObject };

/** The object that a view was made of, as of the same wave. */
export function wholeOf(view: object): KubeObject {
  return (view as View<object>)[whole];
}

/** A view that compares by `visible` alone. */
export function viewOf<V extends object>(object: KubeObject, visible: V): View<V> {
  return { ...visible, [whole]: object };
}

/** What always counts of a reconciled object. Kinds with a generation change it with every change of their content. */
export function coreView(object: KubeObject): View<object> {
  const { uid, generation, deletionTimestamp } = object.metadata;
  if (generation !== undefined) return viewOf(object, { uid, generation, deletionTimestamp });
  const { metadata: _metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  return viewOf(object, { uid, deletionTimestamp, content });
}

export const labelsOf = (object: KubeObject) => object.metadata.labels;
export const annotationsOf = (object: KubeObject) => object.metadata.annotations;
export const ownerReferencesOf = (object: KubeObject) => object.metadata.ownerReferences;
export const finalizersOf = (object: KubeObject) => object.metadata.finalizers;
export const resourceVersionOf = (object: KubeObject) => object.metadata.resourceVersion;
export const statusOf = (object: KubeObject) => (object as { status?: unknown }).status;

/** A view of the object for one run; undefined when it is not there. */
export function trackedObject(tracker: Tracker, table: Table<KubeObject>, key: string): KubeObject | undefined {
  const core = tracker.get(table, key, coreView);
  if (core === undefined) return undefined;
  const { metadata, status: _status, ...content } = wholeOf(core) as KubeObject & { status?: unknown };
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp } = metadata;
  const view = {
    ...content,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      ...(generation === undefined ? {} : { generation }),
      creationTimestamp,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      get labels() {
        return tracker.get(table, key, labelsOf);
      },
      get annotations() {
        return tracker.get(table, key, annotationsOf);
      },
      get ownerReferences() {
        return tracker.get(table, key, ownerReferencesOf);
      },
      get finalizers() {
        return tracker.get(table, key, finalizersOf);
      },
      get resourceVersion() {
        return tracker.get(table, key, resourceVersionOf);
      },
    },
    get status() {
      return tracker.get(table, key, statusOf);
    },
  };
  return view as KubeObject;
}
