// Sinks: from the world to the outside. A sink gets the changed keys of one derivation after each wave, with their newest
// values. It may wait, retry and hold back; it never chooses. The API server is one sink (the writer of each reconciler);
// xDS, cables, bound sockets and files are others.
import type { Client, Clock, Kind, Logger, Random, ValueChange } from '@capstan/kube/cluster';
import { DefinitionErrors } from '../errors.ts';
import type { LeaseTimes } from '../leadership/index.ts';
import type { DerivationDefinition } from '../read/derivation.ts';
import type { FactError } from '../read/fact.ts';
import type { KindIndex } from '../read/kind-index.ts';
import type { Derived } from '../read/reader.ts';
import { NAME, type ReadDeclaration, readDeclarations } from '../reconciler.ts';

export interface SinkDefinition<R = unknown, S = unknown> {
  /** kebab-case; unique within the operator. */
  readonly name: string;
  /** The delivered value: that of this derivation for each key. */
  readonly of: Derived<R>;
  /** The keys that are kept evaluated and delivered. Several sets unite. */
  readonly keys: KeySet | readonly KeySet[];
  /** Every kind that the derivation and the key sets read. */
  readonly reads?: readonly (Kind | ReadDeclaration)[];
  /** The role of the world that the derivation reads; `local` by default. In a role of many worlds there is one sink each. */
  readonly in?: string;
  /**
   * Which lease gates it. `none`: every replica serves. `operator`: the replica that leads the operator. A lease of its own:
   * the replica that holds that one.
   */
  readonly lease: 'none' | 'operator' | SinkLease;
  /**
   * Whether it is on: a derivation or fold, read with the empty key in its own world. While it is false, or not known yet,
   * the sink is closed as if it had lost its lease. Always on by default.
   */
  readonly enabled?: Derived<boolean>;
  /** `open`, and one `take`, may last so long; 30,000 by default. */
  readonly timeoutMs?: number;
  /**
   * The fate of the delivered values when the lease is lost, or the program ends: `keep` (default) leaves them, `withdraw` delivers one
   * batch in which every key is gone.
   */
  readonly onLost?: 'keep' | 'withdraw';
  /** The content version of a value, for `current()`; a digest by default. */
  version?(value: R): string;
  /** The effect of a change on running things, for `plan` and `why`: `drains a listener`, `tears down a cable`, `moves weight`. */
  disturbs?(change: SinkChange<R>): string | undefined;
  /**
   * The changes outside, in the words of its users, for `plan`: where one key is several things there, or several keys are one. `current`
   * is every value before the changes. By default each key is one thing.
   */
  effects?(
    changes: readonly SinkChange<R>[],
    current: ReadonlyMap<string, SinkValue<R>>,
    models?: SinkModels,
  ): readonly SinkEffect[];
  /** The model that each value is computed from, by the same keys, for `effects`. It is evaluated when it is asked for, and not kept. */
  readonly model?: Derived<unknown>;
  /**
   * Asks the outside how far the deliveries of an object's keys are, for a program that does not deliver itself: it reads with the rights of
   * its user. `object` is `Kind namespace/name`. Keys that are not in the answer are not known.
   */
  acknowledgements?(
    asked: { readonly object: string; readonly keys: readonly string[] },
    context: { readonly client: Client; readonly signal: AbortSignal },
  ): Promise<ReadonlyMap<string, Acknowledgement>>;
  /** Opens the outside before the first delivery, and returns the session that delivers to it. Called again if it threw. */
  open(context: SinkContext<R, S>): SinkSession<R> | Promise<SinkSession<R>>;
}

/** The state of a delivery, as the outside reports it. */
export interface Acknowledgement {
  readonly state: 'acknowledged' | 'rejected' | 'waiting' | 'not-known';
  readonly message?: string;
}

/** The models of a sink's values before and after the changes of a preview; undefined where there is none. */
export interface SinkModels {
  before(key: string): unknown;
  after(key: string): unknown;
}

/** A lease that gates one sink. */
export interface SinkLease {
  readonly name: string;
  /** The operator's own namespace by default. */
  readonly namespace?: string;
  readonly times?: Partial<LeaseTimes>;
}

/**
 * Which keys a sink has: every object of a kind (its key is `namespace/name`), every key that an index finds, every key that
 * a derivation lists for the objects of a kind, or the keys that one derivation or fold lists (read with the
 * empty key; its cost grows with the number of keys).
 */
export type KeySet = Kind | KindIndex | EachKeys | Derived<readonly string[]>;

export interface EachKeys {
  readonly each: Kind;
  /** By the key of the object: the keys that it needs. */
  readonly keys: DerivationDefinition<readonly string[]>;
}

export interface SinkSession<R> {
  /**
   * Delivers a batch. Throwing, or not returning within the timeout, retries its keys with back-off; but no other `take` begins
   * before this one has returned, or its session was given up.
   */
  take(batch: SinkBatch<R>): void | SinkResult | Promise<void | SinkResult>;
  /** Closes the outside, after the last take. */
  close?(): void | Promise<void>;
}

/** The result of a batch of which only some keys could be delivered; the others are retried. */
export interface SinkResult {
  readonly failed: ReadonlyMap<string, unknown>;
}

export interface SinkBatch<R> {
  readonly changes: readonly SinkChange<R>[];
  /**
   * True for the first batch after the start, or after the lease was gained: it holds every key, and `before` is not known. The sink
   * compares it with the outside and adopts that.
   */
  readonly snapshot: boolean;
  /** True for the last batch of a sink with `onLost: 'withdraw'`: the lease is lost, and every key is gone. */
  readonly withdrawal: boolean;
  /**
   * Grows with every session. A session whose `take` ignores its signal for ten times the timeout is given up: its `mayAct()` is false, its
   * reports are ignored, and the next session has a higher generation. A peer that keeps the highest generation that it has seen refuses
   * late deliveries.
   */
  readonly generation: number;
  /** Aborted when the lease is lost, the time is over or the program ends. */
  readonly signal: AbortSignal;
}

export interface SinkChange<R> {
  readonly key: string;
  /** The last delivered value; undefined for a new key. */
  readonly before: R | undefined;
  /** Undefined for a key that is gone. */
  readonly after: R | undefined;
}

/** One thing outside that would change. */
export interface SinkEffect {
  /** As people name it: `virtual host shop.example.com`. */
  readonly what: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** The values that change; none for added or removed keys, and for secrets. */
  readonly changes?: readonly ValueChange[];
  readonly disturbs?: string | undefined;
}

export interface SinkContext<R, S> {
  /** The newest value of every key with its content version, whether or not it has been delivered. Never evaluates. */
  current(): ReadonlyMap<string, SinkValue<R>>;
  /** Reports the state of a key outside: readers see it through `read.sink`. Undefined removes it. */
  report(key: string, row: S | undefined): void;
  /** Whether the lease is held, or a withdrawal is under way: to be asked before every step outside. Always true without a lease. */
  mayAct(): boolean;
  /** The name of the world; empty for the local one. */
  readonly world: string;
  /** Aborted when the sink is closed for good. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface SinkValue<R> {
  readonly value: R;
  readonly version: string;
}

/** The known state of a key's delivery. */
export interface SinkState {
  /** `pending` until the newest value has been delivered; `failed` while it is retried. */
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly error: FactError | undefined;
  readonly failures: number;
}

/** Reads of one sink; all of them are tracked. */
export interface SinkReader<S> {
  /** The report of the outside about the key; undefined if there is none. */
  report(key: string): S | undefined;
  report<P>(key: string, project: (row: S) => P): P | undefined;
  /** Sorted by key. */
  reports(): readonly { readonly key: string; readonly row: S }[];
  state(key: string): SinkState;
}

/** A sink with its declarations in one form. */
export interface Sink<R = unknown, S = unknown> extends SinkDefinition<R, S> {
  readonly reads: readonly ReadDeclaration[];
}

export function sink<R, S = never>(definition: SinkDefinition<R, S>): Sink<R, S> {
  if (!NAME.test(definition.name)) throw DefinitionErrors.BadName('a sink', definition.name);
  return { ...definition, reads: readDeclarations(definition.reads ?? []) };
}
