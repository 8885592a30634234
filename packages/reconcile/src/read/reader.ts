// The reads of a reconciler or derivation. Every call is recorded; an unknown value suspends the whole run.
import type { FailureReason, Kind, KubeObject, LabelSelector, ObjectRef } from '@capstan/kube/cluster';
import type { Role } from '../reconciler.ts';
import type { SinkDefinition, SinkReader } from '../sinks/sink.ts';
import type { DerivationDefinition } from './derivation.ts';
import type { FactDefinition, FactState } from './fact.ts';
import type { AggregateDefinition } from './fold.ts';
import type { KindIndex } from './kind-index.ts';
import type { SourceDefinition, SourceReader } from './source.ts';

/** A projection: the part of an object that a read uses. A module-level function, shared between readers. */
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
  /** The object, or undefined when the server confirms that there is none. */
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): T | undefined;
  get<T extends KubeObject, P>(kind: Kind<T>, ref: ObjectRef, project: Projection<T, P>): P | undefined;
  /** Sorted by namespace and name. Woken only by objects that enter, leave or change within the selection, through the projection. */
  list<T extends KubeObject>(kind: Kind<T>, where?: Where): readonly T[];
  list<T extends KubeObject, P>(kind: Kind<T>, where: Where, project: Projection<T, P>): readonly P[];
  /** Look-up by content. */
  by<T extends KubeObject>(index: KindIndex<T>, key: string): readonly T[];
  by<T extends KubeObject, P>(index: KindIndex<T>, key: string, project: Projection<T, P>): readonly P[];
  /**
   * The result of work outside the cluster for an input. Equal inputs are one fact; an input that holds secret data is named
   * by a keyed digest wherever its key shows.
   */
  fact<V, I, E>(fact: FactDefinition<V, I, E>, input: I): FactState<V, E>;
  /** The rows that a source outside the cluster pushed. */
  source<V>(source: SourceDefinition<V>): SourceReader<V>;
  /** The reports of a sink of this operator, and the state of its delivery. */
  sink<R, S>(sink: SinkDefinition<R, S>): SinkReader<S>;
  /** The obstacle to the writes of a reconciler of this operator, for an object key; undefined when there is none. */
  writeProblem(reconciler: string, key: string): WriteProblem | undefined;
  /** The value of a derivation or fold for a key. */
  derived<R>(derivation: Derived<R>, key: string): R;
  derived<R, P>(derivation: Derived<R>, key: string, project: Projection<R, P>): P;
  /**
   * The same reads in another cluster, by its name; the only world of a role has the role's name. Undefined when there is none
   * of that name; waits while the worlds of the roles that are read are not all known.
   */
  in(world: string): Reader | undefined;
  /** Names of the worlds of a role, sorted; of all roles by default. */
  worlds(role?: Role): readonly string[];
  /** False before the instant (milliseconds or RFC 3339), true from then on; the run is woken when it comes. */
  reached(instant: number | string): boolean;
  /** Whether the kind can be read at all. Reading one that cannot suspends. */
  access(kind: Kind): Access;
  /** The problem of the kind's watch: while there is one, the cache holds the last known state. Never waits. */
  watchProblem(kind: Kind): WatchProblem | undefined;
  /** Whether this operator watches that namespace for objects of the kind: reading one in any other suspends. */
  covers(kind: Kind, namespace: string): boolean;
}

/** A refusal of the server, or an obstacle. */
export interface WriteProblem {
  readonly reason: 'Threw' | 'WriteRefused' | 'Conflict' | 'PreflightRefused' | 'Waiting';
  readonly message: string;
}

/** The reason why a server does not show the changes of a kind; the watch is retried. */
export interface WatchProblem {
  readonly reason: FailureReason;
  readonly message: string;
}

export type Access = 'served' | 'forbidden' | 'not-served';
