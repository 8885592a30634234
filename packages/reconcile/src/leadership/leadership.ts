import { untilAborted } from '@capstan/kube/cluster';

/**
 * Who may write. Leadership gates sinks, never computation: every replica computes, and asks `holds` right before each
 * write. It may turn false at any moment, also without a call to a listener yet.
 */
export interface Leadership {
  readonly holds: boolean;
  /** Who held the lease when it was last seen, this process included; undefined: nothing is known, or nothing holds it. */
  readonly holder?: string | undefined;
  /** Contends until the signal is aborted; settles when the lease is given back. Abort it after the sinks have stopped. */
  run(signal: AbortSignal): Promise<void>;
  /** Calls on every change of `holds`; returns how to stop that. */
  onChange(listener: (holds: boolean) => void): () => void;
}

/** For a single replica: leader election switched off. */
export const alwaysLeader: Leadership = {
  holds: true,
  run: untilAborted,
  onChange: () => () => {},
};
