// Sums over many objects: a reader is woken by a changed sum, and a change of one object costs that object alone, never the number of
// objects. A derivation that lists everything is the exception; these are the rule.
import type { Kind, KubeObject } from '@capstan/kube/cluster';
import type { DerivationDefinition } from './derivation.ts';
import type { Projection, Where } from './reader.ts';

/**
 * Keeps its last result and is given the members that changed. The same members must give an equal result in whatever order
 * they came.
 */
export interface FoldDefinition<T extends KubeObject, P, S, R> {
  readonly name: string;
  readonly kind: Kind<T>;
  /** Which objects are summed for a key; all by default. */
  where?(key: string): Where;
  /** The part of each object that counts: a projection, or a derivation by the object's key. */
  readonly part: Projection<T, P> | DerivationDefinition<P>;
  empty(): S;
  /** `previous` is the part that was put before, undefined for a new member. May change the state in place. */
  put(state: S, member: string, part: P, previous: P | undefined): void;
  remove(state: S, member: string, part: P): void;
  /** A new plain value, never the state itself. */
  result(state: S): R;
  /** For previews; without it they fold afresh. */
  clone?(state: S): S;
}

/** A fold, read like a derivation: `read.derived(fold, key)`. */
export interface AggregateDefinition<R> {
  readonly name: string;
  readonly aggregate: FoldDefinition<KubeObject, unknown, unknown, R>;
}

export function fold<T extends KubeObject, P, S, R>(definition: FoldDefinition<T, P, S, R>): AggregateDefinition<R> {
  // The runtime hands the functions of a fold only objects and parts that the fold itself selected.
  const aggregate = definition as unknown as AggregateDefinition<R>['aggregate'];
  return { name: definition.name, aggregate };
}
