// The parts of a delivery: its options, the entry of each key and the groups that are sent again together.
import type { Clock, Logger, Random } from '@capstan/kube/cluster';
import { plainDigest } from '../digest.ts';
import type { Change } from '../engine/index.ts';
import { guardedOr } from '../guard.ts';
import type { Operator } from '../operator.ts';
import type { BoundSink } from './bound-sink.ts';
import type { KeySets } from './key-sets.ts';
import type { SinkChange, SinkDefinition, SinkValue } from './sink.ts';
import { type SinkTables } from './sink-tables.ts';

export interface DeliveryOptions {
  id: string;
  operator: Operator;
  sink: SinkDefinition;
  keys: KeySets;
  tables: SinkTables;
  world: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Whether the lease is held. */
  mayAct(): boolean;
  /** A snapshot was delivered. */
  onSnapshot?(): void;
  /** A change was delivered, for `why`. */
  delivered?(change: SinkChange<unknown>, causes: Change['causes']): void;
  /** Shows the problem of a key on its object, or that it has ended. */
  problem?(key: string, error: unknown): void;
  /** Notes an error of a function that the sink's author gave. */
  note?(what: string, key: string, error: unknown): void;
}

export interface Delivery extends BoundSink {
  /** A key that is evaluated for the first time in the next wave: the snapshot waits for it. `isByNew`: a new object names it. */
  expect(key: string, isByNew: boolean): void;
  /** It is not evaluated after all. */
  unexpect(key: string): void;
  /** How many keys have a value. */
  readonly size: number;
  /** The newest value of every key, whether or not it has been delivered. */
  current(): ReadonlyMap<string, SinkValue<unknown>>;
}

/** Keys that are retried together, not before a time. */
export interface RetryGroup {
  readonly keys: Set<string>;
  readonly dueAt: number;
}

export interface Failure {
  readonly failures: number;
  readonly error: unknown;
  /** A retry would not help: it is shown at once. */
  readonly isLasting?: true;
}

export const NONE: ReadonlyMap<string, unknown> = new Map();

export function allFailed(changes: readonly SinkChange<unknown>[], error: unknown): ReadonlyMap<string, unknown> {
  return new Map(changes.map(({ key }) => [key, error]));
}

/** A value with its content version, which is computed when it is first asked for. */
export class Entry implements SinkValue<unknown> {
  readonly value: unknown;
  readonly #sink: SinkDefinition;
  readonly #options: Pick<DeliveryOptions, 'note' | 'id'>;
  #version: string | undefined;

  constructor(value: unknown, sink: SinkDefinition, options: Pick<DeliveryOptions, 'note' | 'id'>) {
    this.value = value;
    this.#sink = sink;
    this.#options = options;
  }

  get version(): string {
    this.#version ??=
      this.#own() ??
      guardedOr(
        `the version of ${this.#sink.name}`,
        () => plainDigest(this.value),
        () => '',
      );
    return this.#version;
  }

  /** Returns the result of the sink's own function. If it fails, the digest of the value is the version. */
  #own(): string | undefined {
    const what = `version of the sink ${this.#sink.name}`;
    return guardedOr(
      what,
      () => this.#sink.version?.(this.value),
      (error) => {
        this.#options.note?.(what, '', error);
        return undefined;
      },
    );
  }
}
