// The data from which a reader answers, and the state of one run.
import { type DigestKey } from '../digest.ts';
import type { Derivation, Engine, Projection as EngineProjection, Table, Tracker } from '../engine/index.ts';
import type { SinkRegistry } from '../sinks/sink-tables.ts';
import type { Facts, Instants, Sources } from '../sources/index.ts';
import type { WorldSet } from '../worlds/world-set.ts';
import type { RunPurely } from './purity.ts';
import type { Derived, WriteProblem } from './reader.ts';

export interface WriteProblems {
  readonly tables: readonly Table<WriteProblem>[];
  /** The plans of the reconciler, by the key of its object. */
  readonly plans: Derivation<unknown>;
}

/** Everything that reads may reach, shared by all runs. */
export interface ReadSources {
  readonly engine: Engine;
  readonly worlds: WorldSet;
  readonly facts: Facts;
  readonly outside: Sources;
  readonly sinks: SinkRegistry;
  /** The obstacles to writes, by `operator.reconciler@world`. */
  readonly problems: Map<string, WriteProblems>;
  readonly instants: Instants;
  /** The identity of each cluster whose objects have children elsewhere, by world: the uid of its kube-system namespace. */
  readonly identities: Table<string>;
  /** The keys for digests of sensitive values, by operator. */
  readonly digestKey: Table<DigestKey>;
  /** Derivations bound to the engine, per world and operator. */
  readonly bound: Map<string, Map<string, BoundDerivations>>;
  /** The derivations that sinks deliver: the engine publishes their changes. */
  readonly delivered: ReadonlySet<Derived<unknown>>;
  /**
   * The last digest that each object took part in as the first of its values. An object that is the same in a later run came from the
   * caches, where nothing is changed in place; an object that a run created itself is new in each run.
   */
  readonly digests: WeakMap<object, RememberedDigest>;
  /** The definitions that each reader reads through: they must be the same in every run. */
  readonly definitions: Map<string, ReaderDefinitions>;
  /** Where it is checked that computations are pure: runs one twice. */
  readonly purely?: RunPurely;
  /** Projections of derivations' values, wrapped once each. */
  readonly projections: WeakMap<object, EngineProjection>;
}

/** The engine's derivations by their definitions. */
export type BoundDerivations = Map<Derived<unknown>, Derivation<unknown>>;

/** Indexes, facts and derivations that one reader has read through. */
interface ReaderDefinitions {
  readonly known: Set<object>;
  /** By sort and name. */
  readonly names: Set<string>;
}

interface RememberedDigest {
  /** Never read again by the run that made it: a run may change its own values. */
  readonly run: object;
  readonly values: readonly unknown[];
  readonly digest: string;
}

/** One run of a reconciler or derivation. */
export interface Run {
  readonly tracker: Tracker;
  readonly sources: ReadSources;
  /** Strings that came from sensitive objects; created on first use. */
  sensitive: Set<string> | undefined;
  /** The permitted reads, as `role kindId`; undefined: all kinds that the world caches. */
  readonly declared: ReadonlySet<string> | undefined;
  /** Who reads, for messages. */
  readonly name: string;
  /** The operator that reads: its key is that of digests. */
  readonly operator: string;
  /** The key of the computation, mostly `namespace/name`: digests of secrets count in one namespace only. */
  readonly key: string;
}
