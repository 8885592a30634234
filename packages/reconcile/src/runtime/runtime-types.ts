// The interface of the runtime: its options, its observer, its worlds and its status.
import {
  type Client,
  type Clock,
  type InformerObserver,
  type Kind,
  type KubeObject,
  type Logger,
  type Random,
} from '@capstan/kube/cluster';
import type { RuntimeRecorder, RuntimeReplay } from '../capture/hooks.ts';
import { type DigestKey } from '../digest.ts';
import { type Engine, type Wave } from '../engine/index.ts';
import type { Leadership } from '../leadership/index.ts';
import type { Operator } from '../operator.ts';
import type { EventInput } from '../plan/index.ts';
import { type Role } from '../reconciler.ts';
import { type SinkLease } from '../sinks/index.ts';
import { type Facts, type FactsOptions, type Instants } from '../sources/index.ts';
import { type Tracer } from '../tracing/index.ts';
import { type History } from '../why/index.ts';
import { type World } from '../worlds/index.ts';
import { type SinkBinding } from './parts.ts';
import type { ApiWriterObserver } from './writer/api-writer-options.ts';
import type { Binding } from './writer/binding.ts';

export interface RuntimeOptions {
  operators: readonly Operator[];
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Who may write, per operator; always us by default. */
  leadership?: (operator: Operator) => Leadership;
  /** Who may deliver to sinks with a lease of their own; always us by default. Asked once for each lease. */
  sinkLeadership?: (operator: Operator, lease: SinkLease) => Leadership;
  /** Writes an Event about an object; none by default. */
  notify?: (world: World, operator: Operator, owner: KubeObject, event: EventInput) => void;
  observe?: RuntimeObserver;
  /** Gets a span for every key that is worked on; none by default. */
  tracer?: Tracer;
  /** Throws where a field is read that is not declared: for tests. */
  checkFields?: boolean;
  /** False leaves shared values open to changes: only for measuring the cost of freezing. Default true. */
  freeze?: boolean;
  /** The shortest time that a watch is asked for: see InformerOptions of @capstan/kube. Default 30. */
  watchSeconds?: number;
  /**
   * Runs every reconcile and every derivation twice and compares: one that depends on the clock, on randomness or on an earlier
   * run gets an error on its resource at the first run. Off by default, because it costs a second run of each.
   */
  checkPurity?: boolean;
  /** Remembers why keys of sinks were delivered, for `why`; true by default. It costs memory for every key. */
  deliveryHistory?: boolean;
  /**
   * For a start with thousands of objects on which others wait: nothing is evaluated before caches are filled, and reconcilers, which write
   * reports about the objects, start after sinks without a lease, which serve them. Neither waits longer than a while.
   */
  serveFirst?: boolean;
  /** With `serveFirst`: clients were served since it was asked before; reports wait until they are not, half a minute at most. */
  isServing?: () => boolean;
  /** Caches keep objects whole, whatever their readers declare: a preview needs them to show changes. */
  whole?: boolean;
  /** Is shown every input, so that all that happens can be run again. */
  record?: RuntimeRecorder;
  /** Gives every input: nothing is watched, fetched or delivered. Never to be run. */
  replay?: RuntimeReplay;
  /** Selects the facts that are performed: all by default. A plan performs those that only read, and none with --offline. */
  facts?: FactsOptions['performed'];
}

export interface RuntimeObserver {
  wave?(wave: Wave): void;
  /** A function of an author failed: its sort and name. */
  failed?(what: string): void;
  sink?(binding: Binding): ApiWriterObserver;
  informer?(world: string, kind: Kind): InformerObserver;
}

export interface WorldInput {
  /** Unique. Empty for the local one; the only world of another role has the role's name. */
  name: string;
  /**
   * The role of the cluster for the operators: it decides which kinds are cached and which reconcilers and sinks run. `local` by default.
   */
  role?: Role;
  /** Fills the caches, which all operators share. */
  client: Client;
  /** Returns the client that an operator writes through; `client` by default. */
  clientFor?: (operator: string) => Client;
  /** Restrict namespaced kinds to these namespaces. */
  watchNamespaces?: readonly string[];
  /** The operators' own namespace in this world. */
  namespace?: string;
  /** The operators that reconcile in this world; all by default, none for worlds that are only read. */
  operators?: readonly string[];
}

export interface Runtime {
  readonly engine: Engine;
  readonly worlds: ReadonlyMap<string, World>;
  readonly bindings: readonly Binding[];
  /** Sinks that operators define, where they are bound. */
  readonly sinks: readonly SinkBinding[];
  readonly history: History;
  readonly instants: Instants;
  /** The facts that something has read so far, in the order of their first reads. */
  readonly facts: ReturnType<Facts['opened']>;
  /** Selects the facts that this runtime performs. */
  readonly performedFacts: NonNullable<FactsOptions['performed']>;
  /** Adds a cluster, while running too; its informers start at once. */
  addWorld(input: WorldInput): World;
  removeWorld(name: string): Promise<void>;
  /** All worlds of a role have been added: from now on a world that is not there is absent, not unknown. */
  completeWorlds(role: Role): void;
  /** The key for digests of secret data, of one operator or of all; reads that need it wait until it is here. */
  setDigestKey(key: DigestKey, operator?: string): void;
  /** Calls a listener after each wave, before its record is given up; the function that it returns ends that. */
  onWave(listener: (wave: Wave) => void): () => void;
  /** Writes while leading, until the signal is aborted; then stops in order: sinks, facts, informers. */
  run(signal: AbortSignal): Promise<void>;
  /** Takes in everything pending and evaluates, with all effects; it does not wait for a cluster that never rests. */
  settle(): Promise<void>;
  /** No wave and no write is waiting or under way. */
  readonly isIdle: boolean;
  /** True when every world has been listed. */
  readonly isSynced: boolean;
  /** Whether every informer has an open watch: all events until now are known, or on their way. */
  readonly isCurrent: boolean;
  /** Keys that cannot be planned yet, because something that they read is not known. */
  readonly suspended: number;
  /** Keys whose writes are not finished: waiting for a quiet period, a retry or the lease. */
  readonly unsettled: number;
  status(): RuntimeStatus;
}

export interface RuntimeStatus {
  readonly worlds: readonly { name: string; role: Role; isSynced: boolean; waitingFor: readonly string[] }[];
  /** Reconcilers, and sinks of operators. */
  readonly reconcilers: readonly { id: string; objects: number; unsettled: number; suspended: readonly Waiting[] }[];
  /** Parts that stay as they are, because it is not known whether they are enabled. */
  readonly undecided: readonly Undecided[];
}

/** A reconciler or sink with `enabled`, and the unknowns or the error of that function. */
export interface Undecided {
  readonly id: string;
  readonly waitingFor: readonly string[];
}

export interface Waiting {
  readonly key: string;
  readonly waitingFor: readonly string[];
}
