// A key whose plan is carried out: its state between attempts and everything that an attempt needs.
import { type Clock, type Kind, type KubeObject } from '@capstan/kube/cluster';
import { type ChildWrite, type Failure, type WriteSet } from '../diff/index.ts';
import type { Ownership } from '../ownership/index.ts';
import type { EventInput } from '../plan/index.ts';
import { keyBackOff, type RetryLimits } from '../queue/index.ts';
import { NOTHING_REPORTED, type Reported } from './new-events.ts';
import { type PendingWrite } from './patience.ts';
import { type Target } from './sending.ts';

/** The state of a key between attempts; lost with the process, and harmless to lose. */
export interface KeyState {
  /** The wanted writes of each group that waits for its quiet period, by the group's name. */
  quiet: ReadonlyMap<string, PendingWrite>;
  recheck: PendingWrite | undefined;
  statusWrittenAt: number;
  reported: Reported;
  /** The time of each minting, by its inputs. */
  mintedAt: ReadonlyMap<string, number>;
  /** The last failure, until an attempt succeeds. */
  failed: Failed | undefined;
  /** The message about an author's function that hangs, from its first attempt until it ends. */
  waiting: string | undefined;
  /** True while the server drops a field of the status: it is reported until then. */
  dropsStatus: boolean;
  /** Rounds of earlier turns that were spent on the same work. */
  rounds: number;
}

/** Attempts that failed one after the other. */
export interface Failed {
  /** The writes that remained after the last one, by value: other writes are tried at once. */
  readonly id: string;
  readonly count: number;
  /** The same is not tried before this time, whatever wakes the key: our own report of the failure wakes it too. */
  readonly until: number;
}

export function createKeyState(): KeyState {
  return {
    quiet: NONE,
    recheck: undefined,
    statusWrittenAt: Number.NEGATIVE_INFINITY,
    reported: NOTHING_REPORTED,
    mintedAt: NONE,
    failed: undefined,
    waiting: undefined,
    dropsStatus: false,
    rounds: 0,
  };
}

/** Shared: there is a state for every object that was written, and most need neither map. */
export const NONE: ReadonlyMap<string, never> = new Map<string, never>();

/** Counts one more failure of the remaining writes. */
export function failedAgain({ failed }: KeyState, id: string, clock: Clock, limits: Job['retries'] = {}): Failed {
  const count = (failed?.count ?? 0) + 1;
  return { id, count, until: clock.now() + keyBackOff(count, limits.baseMs, limits.maxMs) };
}

export interface Job {
  /** The remaining writes, as of the last wave; undefined while suspended or when the object is gone. */
  writes(): WriteSet | undefined;
  /** The owner as the cache has it; absent where children have no owner object. */
  owner?(): Ownership | undefined;
  /** Lets the caches take in the written objects and evaluates again. */
  wave(): Promise<void>;
  /** Returns whether the caches of the kinds concerned are recent enough to delete on. */
  isFresh(kind?: Kind): boolean;
  report(failure: Failure | undefined): void;
  notify(event: EventInput): void;
  written(write: ChildWrite | { verb: 'status' | 'finalizer' }): void;
  readonly state: KeyState;
  readonly target: Target;
  /** Where writes of a kind go, for kinds in other worlds; to the target by default. */
  targetFor?(kind: Kind): Target;
  readonly manager: string;
  readonly finalizer: string;
  readonly clock: Clock;
  /** Returns whether we lead. Every replica computes; only the holder of the lease writes, and it may be lost between any two writes. */
  readonly mayWrite: (write?: ChildWrite) => boolean;
  /** Resolves when this write may go out; at once by default. */
  pace?(signal: AbortSignal): Promise<void>;
  /** The server refused a write, or did not answer. */
  refused?(write: ChildWrite, error: unknown): void;
  /** How long a key waits that failed; the queue's defaults without it. */
  readonly retries?: Pick<RetryLimits, 'baseMs' | 'maxMs'>;
  /** Returns whether other keys wait for a worker. */
  isAwaited(): boolean;
  /** Shows the diff an object that stands where a child should be. */
  readonly meetForeign: (kind: Kind, object: KubeObject) => void;
  /** Why this write is made, as JSON. */
  cause(write: ChildWrite): string | undefined;
  /** Does the work when no other reconciler is writing to the owner; it is passed whether one was. */
  inTurn<T>(work: (hasWaited: boolean) => Promise<T>): Promise<T>;
  readonly signal: AbortSignal;
  /** Gives the worker's place to another key while work of an author lasts. None by default. */
  parked?<T>(work: Promise<T>): Promise<T>;
}
