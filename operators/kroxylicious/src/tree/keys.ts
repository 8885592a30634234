// Keys of the tree's nodes have the form of object keys: `namespace/name`.
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

/** Returns the spec of an object. It reads from the object's root, so that causes have full paths. */
export function specOf<S>(read: Reader, kind: Kind<KubeObject & { spec: S }>, ref: ObjectRef): S | undefined {
  return read.get(kind, ref, SPEC)?.['spec'] as S | undefined;
}

/** For reads that only check existence. */
export const exists = () => true;
