// Keys of the tree's nodes are keys of objects: `namespace/name`.
import { type Kind, type KubeObject, keyOfObject, type ObjectRef } from '@capstan/kube';
import { fields, type Reader } from '@capstan/reconcile';

export interface NamespacedRef extends ObjectRef {
  readonly namespace: string;
}

export function refOfKey(key: string): NamespacedRef {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function keyIn({ namespace }: { namespace: string }, name: string): string {
  return `${namespace}/${name}`;
}

export const keyOfAny = (object: KubeObject) => keyOfObject(object);

const SPEC = fields('spec') as (object: KubeObject) => Readonly<Record<string, unknown>>;

/** The spec of an object, read so that causes are reported with their paths from the object's root. */
export function specOf<S>(read: Reader, kind: Kind<KubeObject & { spec: S }>, ref: ObjectRef): S | undefined {
  return read.get(kind, ref, SPEC)?.['spec'] as S | undefined;
}

/** For reads that only ask whether something is there. */
export const exists = () => true;
