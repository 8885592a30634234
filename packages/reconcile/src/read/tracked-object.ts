// The `object` of a reconciler: spec, generation and deletionTimestamp always count; labels, annotations, status and the
// rest of the metadata only once they are read. So a status write, ours or another's, wakes no reconciler that did not read it.
import type { KubeObject } from '@capstan/kube/cluster';
import { type Table, type Tracker, telling, unrecorded } from '../engine/index.ts';

export const whole: unique symbol = Symbol('whole object');

/** A projection result that compares by its visible fields only, and carries the whole object along. */
export type View<V> = V & { readonly [whole]: KubeObject };

/** The object that a view was built from, as of the same wave. */
export function wholeOf(view: object): KubeObject {
  return (view as View<object>)[whole];
}

/** A view that compares by `visible` alone. */
export function viewOf<V extends object>(object: KubeObject, visible: V): View<V> {
  return { ...visible, [whole]: object };
}

/** The parts of a reconciled object that always count. Kinds with a generation change it with every change of their content. */
export const coreView = telling((object: KubeObject): View<object> => {
  const { uid, generation, deletionTimestamp } = object.metadata;
  if (generation !== undefined) return viewOf(object, { uid, generation, deletionTimestamp });
  return viewOf(object, { uid, deletionTimestamp, content: contentOf(object) });
}, contentWithDeletion);

export const labelsOf = metadataField('labels');
export const annotationsOf = metadataField('annotations');
export const ownerReferencesOf = metadataField('ownerReferences');
export const finalizersOf = unrecorded(metadataField('finalizers'));
export const resourceVersionOf = unrecorded(metadataField('resourceVersion'));
export const statusOf = unrecorded(
  telling(
    (object: KubeObject) => (object as { status?: unknown }).status,
    (object) => ({ status: (object as { status?: unknown }).status }),
  ),
);

/** Everything of an object but its metadata and status. */
export function contentOf(object: KubeObject): Record<string, unknown> {
  const { metadata: _metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  return content;
}

function contentWithDeletion(object: KubeObject): unknown {
  const { deletionTimestamp } = object.metadata;
  return deletionTimestamp === undefined
    ? contentOf(object)
    : { ...contentOf(object), metadata: { deletionTimestamp } };
}

function metadataField<N extends keyof KubeObject['metadata']>(name: N) {
  const project = (object: KubeObject) => object.metadata[name];
  Object.defineProperty(project, 'name', { value: name });
  return telling(project, ({ metadata }) => ({ metadata: { [name]: metadata[name] } }));
}

/** A view of the object for one run; undefined when it is not there. */
export function trackedObject(tracker: Tracker, table: Table<KubeObject>, key: string): KubeObject | undefined {
  const core = tracker.get(table, key, coreView);
  if (core === undefined) return undefined;
  const { metadata, status: _status, ...content } = wholeOf(core) as KubeObject & { status?: unknown };
  const { name, namespace, uid, generation, creationTimestamp, deletionTimestamp } = metadata;
  const view = {
    ...content,
    metadata: Object.freeze({
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
    }),
    get status() {
      return tracker.get(table, key, statusOf);
    },
  };
  // Its own parts are new in each run. They are frozen so that a change of them is an error as well, and not without effect.
  return Object.freeze(view);
}
