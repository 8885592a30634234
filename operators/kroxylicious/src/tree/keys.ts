// Keys of the tree's nodes are keys of objects: `namespace/name`.
import { type KubeObject, keyOfObject, type ObjectRef } from '@capstan/kube';

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

/** For reads that only ask whether something is there. */
export const exists = () => true;
