import type { Change } from '../engine/index.ts';
import type { Operator } from '../operator.ts';
import type { SinkLease } from './sink.ts';

/** The runtime's interface to any sink: the API writer of a reconciler, or one that an operator defines. */
export interface BoundSink {
  /** `operator.name`, with `@world` where worlds have names. */
  readonly id: string;
  readonly operator: Operator;
  readonly lease: 'none' | 'operator' | SinkLease;
  /** Takes a change that a wave published. */
  take(change: Change): void;
  /** Every change of the wave has been taken. */
  waveEnded?(): void;
  /** Starts to act; called when the lease is held. */
  open(): void;
  /**
   * Stops acting: because the lease is lost, or with `drain` because the program ends; then ready work is finished first. The delivered
   * values are withdrawn if the sink asks for it.
   */
  close(options: { drain: boolean }): Promise<void>;
  /** Ends it for good, after close. */
  end?(): Promise<void>;
  /** Nothing is waiting to be sent or under way. */
  readonly isIdle: boolean;
  /** Keys that could not be finished yet. */
  readonly unsettled: number;
  /** Keys that cannot be evaluated yet, with the unknowns of each. */
  readonly suspended: ReadonlyMap<string, readonly string[]>;
}
