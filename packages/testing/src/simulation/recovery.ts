import type { Runtime } from '@capstan/reconcile';
import type { VirtualClock } from '../virtual-clock.ts';

/** Longer than every back-off and time-out between a fault and the recovery from it. */
const RECOVERY_MS = 60 * 60_000;
/** Longer than any watch may be silent. */
export const SILENCE_MS = 10 * 60_000;

/** Lets a program come to rest with everything healthy; false when it does not. */
export async function recover(clock: VirtualClock, runtime: Runtime, worlds = 1): Promise<boolean> {
  await clock.settle();
  const isAtRest = () =>
    runtime.worlds.size === worlds &&
    runtime.isSynced &&
    runtime.isIdle &&
    runtime.unsettled === 0 &&
    runtime.suspended === 0 &&
    runtime.isCurrent;
  return (await clock.runUntilIdle(RECOVERY_MS, isAtRest)) === 'held';
}
