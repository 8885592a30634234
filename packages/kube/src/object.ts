// The parts that every Kubernetes object has. Objects are plain data and are never changed in place, because caches share them.

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: 'Apply' | 'Update';
  apiVersion?: string;
  time?: string;
  fieldsType?: 'FieldsV1';
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object whose parts beyond metadata are not known statically. */
export interface UnknownObject extends KubeObject {
  [part: string]: unknown;
}

/** A reference to an object: a name, and a namespace unless the kind is cluster-scoped. */
export interface ObjectRef {
  namespace?: string;
  name: string;
}

/** `namespace/name`, or `name` alone for cluster-scoped objects: the key of an object within its kind. */
export type ObjectKey = string;

export function keyOf(ref: ObjectRef): ObjectKey {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

export function keyOfObject(object: KubeObject): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace ? `${namespace}/${name}` : (name ?? '');
}

export function refOfKey(key: ObjectKey): ObjectRef {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function refOf(object: KubeObject): ObjectRef {
  const { namespace, name } = object.metadata;
  return namespace ? { namespace, name: name ?? '' } : { name: name ?? '' };
}
