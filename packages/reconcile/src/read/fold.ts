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

/** Joins many members in two steps: each chunk of them is a node, so a change reads one chunk and the list of chunks. */
export interface ChunkedDefinition<T extends KubeObject, P, C, R> {
  readonly name: string;
  readonly kind: Kind<T>;
  readonly where?: Where;
  readonly part: Projection<T, P> | DerivationDefinition<P>;
  /** Default 128. */
  readonly chunks?: number;
  /** Members in the order of their keys. */
  chunk(parts: readonly { readonly key: string; readonly part: P }[]): C;
  join(chunks: readonly C[]): R;
}

/** A fold or chunked join, read like a derivation: `read.derived(fold, key)`; a chunked join has one key, the empty one. */
export interface AggregateDefinition<R> {
  readonly name: string;
  readonly aggregate:
    | { readonly how: 'fold'; readonly definition: FoldDefinition<KubeObject, unknown, unknown, R> }
    | { readonly how: 'chunked'; readonly definition: ChunkedDefinition<KubeObject, unknown, unknown, R> };
}

export function fold<T extends KubeObject, P, S, R>(definition: FoldDefinition<T, P, S, R>): AggregateDefinition<R> {
  const erased = definition as unknown as FoldDefinition<KubeObject, unknown, unknown, R>;
  return { name: definition.name, aggregate: { how: 'fold', definition: erased } };
}

export function chunked<T extends KubeObject, P, C, R>(
  definition: ChunkedDefinition<T, P, C, R>,
): AggregateDefinition<R> {
  const erased = definition as unknown as ChunkedDefinition<KubeObject, unknown, unknown, R>;
  return { name: definition.name, aggregate: { how: 'chunked', definition: erased } };
}
