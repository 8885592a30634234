// Work of children known by label: a compared key and its writes.
import { type Clock, sleep } from '@capstan/kube/cluster';
import type { ChildWrite, WriteSet } from '../diff/index.ts';
import type { LabelledAction, Obstacle } from './definition.ts';

/** The result of a comparison. */
export interface Compared<F> {
  readonly finding: F;
  readonly writes: WriteSet;
  readonly obstacle: Obstacle | undefined;
}

/** The work on a unit that is under way. */
export interface Work<F> {
  /** The last comparison; undefined when something has changed since. */
  compared: Compared<F> | undefined;
  refusal: Obstacle | undefined;
}

export function isRemoval({ name }: { readonly name: string }): boolean {
  return name === 'removals';
}

export function actionOf({ verb }: ChildWrite): LabelledAction {
  if (verb === 'delete') return 'delete';
  return verb === 'create' ? 'add' : 'update';
}

export async function repeat(clock: Clock, ms: number, signal: AbortSignal, call: () => void): Promise<void> {
  try {
    for (;;) {
      await sleep(clock, ms, signal);
      call();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
