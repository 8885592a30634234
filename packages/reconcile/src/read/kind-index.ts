import type { Kind, KubeObject } from '@capstan/kube/cluster';

/** Look-up by content: which objects of a kind mention a key. Membership is tracked per key. */
export interface KindIndex<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  readonly name: string;
  keysOf(object: T): readonly string[];
}

export function index<T extends KubeObject>(
  kind: Kind<T>,
  name: string,
  keysOf: (object: T) => readonly string[],
): KindIndex<T> {
  return { kind, name, keysOf };
}
