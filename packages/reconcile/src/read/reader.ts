// What a reconciler or derivation may read. Every call is recorded; what is not known yet suspends the whole run.
import type { Kind, KubeObject, LabelSelector, ObjectRef } from '@capstan/kube';
import type { DerivationDefinition } from './derivation.ts';
import type { FactDefinition, FactState } from './fact.ts';
import type { AggregateDefinition } from './fold.ts';
import type { KindIndex } from './kind-index.ts';

/** A projection: what a read looks at. A module-level function, shared between readers. */
export type Projection<T, P> = (object: T) => P;

export interface Where {
  namespace?: string;
  /** Kubernetes' string form (`app=x,tier in (a,b),!legacy`) or a LabelSelector object. */
  labels?: string | LabelSelector;
  /** A predicate is tried on every change of the kind: prefer labels or an index. A module-level function. */
  where?: (object: KubeObject) => boolean;
}

export type Derived<R> = DerivationDefinition<R> | AggregateDefinition<R>;

export interface Reader {
  /** The object, or undefined when the server says that there is none. */
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): T | undefined;
  get<T extends KubeObject, P>(kind: Kind<T>, ref: ObjectRef, project: Projection<T, P>): P | undefined;
  /** Sorted by namespace and name. Woken only by what enters, leaves or changes within the selection, through the projection. */
  list<T extends KubeObject>(kind: Kind<T>, where?: Where): readonly T[];
  list<T extends KubeObject, P>(kind: Kind<T>, where: Where, project: Projection<T, P>): readonly P[];
  /** Look-up by content. */
  by<T extends KubeObject>(index: KindIndex<T>, key: string): readonly T[];
  by<T extends KubeObject, P>(index: KindIndex<T>, key: string, project: Projection<T, P>): readonly P[];
  fact<V>(fact: FactDefinition<V>, key: string): FactState<V>;
  /** The value of a derivation, fold or chunked join for a key. */
  derived<R>(derivation: Derived<R>, key: string): R;
  derived<R, P>(derivation: Derived<R>, key: string, project: Projection<R, P>): P;
  /** The same reads in another cluster; undefined while there is no world of that name. */
  in(world: string): Reader | undefined;
  /** Names of all worlds, sorted. */
  worlds(): readonly string[];
  /** False before the instant (milliseconds or RFC 3339), true from then on; the run is woken when it comes. */
  reached(instant: number | string): boolean;
  /** Whether the kind can be read at all. Reading one that cannot suspends. */
  access(kind: Kind): Access;
  /** Whether this operator watches that namespace for objects of the kind: reading one in any other suspends. */
  covers(kind: Kind, namespace: string): boolean;
}

export type Access = 'served' | 'forbidden' | 'not-served';
