// Decides whether traffic should leave a backend now, and how far: the part that all its routes share. The stages (Draining, Drained,
// Restoring) and their beginnings are in the backend's status, which the maintenance reconciler writes. A route follows the stage, so
// traffic returns only after the return has been written down.
import { derivation, type Reader } from '@capstan/reconcile';
import { backendNamed, type NamedBackend } from '../backend/backend.ts';
import { DiscoveryBackend, type EffectiveBackend, type MaintenanceStatus } from '../kinds/index.ts';
import { partsBegun } from '../schedule/moments.ts';
import type { Leaving } from './drain.ts';

export interface BackendDrain extends Leaving {
  /** `removing`: the backend is going, and references to it go with it. */
  readonly mode: 'leaving' | 'returning' | 'removing';
  /** While returning: entries without ready endpoints keep their maintenance value. */
  readonly hold: Leaving | undefined;
  /** While returning: nothing returns before the discoverer has seen the remote side again. */
  readonly isUnsynced: boolean;
}

/** Shows whether the discoverer of a backend that is being deleted is gone, so that nothing comes back. */
export type IsDiscovererGone = (read: Reader, backend: NamedBackend) => boolean;

/** Steps of a ramp. */
const STEPS = 5;

export function createBackendDrain(isDiscovererGone: IsDiscovererGone) {
  return derivation({
    name: 'drain of a backend',
    compute({ key: name, read }): BackendDrain | undefined {
      const backend = read.derived(backendNamed, name);
      if (backend?.effective === undefined) return undefined;
      const { isDeleting, ref, effective } = backend;
      const { onNoCapacity, promoteZero } = effective.maintenance;
      const leaving = (keep: number): Leaving => ({ keep, onNoCapacity, promoteZero });
      if (isDeleting && effective.deletionPolicy === 'Orphan') return undefined;
      if (isDeleting && isDiscovererGone(read, backend))
        return { ...leaving(0), mode: 'removing', hold: undefined, isUnsynced: false };

      const stage = read.get(DiscoveryBackend, ref, stageOf);
      const isLeaving = isInMaintenance(read, effective) || stage?.state === 'Draining' || stage?.state === 'Drained';
      const { drainPercent, rampSeconds, restoreHoldSeconds } = effective.maintenance;
      const least = 1 - drainPercent / 100;
      if (isLeaving) {
        const begun = progress(read, stage, ['Draining', 'Drained'], rampSeconds);
        return { ...leaving(1 - (1 - least) * begun), mode: 'leaving', hold: undefined, isUnsynced: false };
      }
      if (stage?.state !== 'Restoring') return undefined;
      const isHolding = !read.reached(Date.parse(stage.since) + restoreHoldSeconds * 1000);
      const isUnsynced = isHolding && read.get(DiscoveryBackend, ref, isUnsyncedOf) === true;
      const keep = least + (1 - least) * progress(read, stage, ['Restoring'], rampSeconds);
      return { ...leaving(keep), mode: 'returning', hold: isHolding ? leaving(least) : undefined, isUnsynced };
    },
  });
}
export type BackendDrains = ReturnType<typeof createBackendDrain>;

/** Whether a backend is meant to be in maintenance, by its field or by its schedule. */
export function isInMaintenance(
  read: Pick<Reader, 'reached'>,
  { clusterStatus, maintenance }: EffectiveBackend,
): boolean {
  const isNow = ({ start, end }: { start: string; end: string }) => read.reached(start) && !read.reached(end);
  // All windows are asked, so that the next one wakes too.
  return maintenance.schedule.map(isNow).includes(true) || clusterStatus === 'Maintenance';
}

/** How much of a ramp is done; nothing before the stage is written down. */
function progress(
  read: Reader,
  stage: Pick<MaintenanceStatus, 'state' | 'since'> | undefined,
  states: readonly MaintenanceStatus['state'][],
  rampSeconds: number,
): number {
  if (rampSeconds === 0) return 1;
  if (stage === undefined || !states.includes(stage.state)) return 0;
  return partsBegun(read, Date.parse(stage.since), rampSeconds * 1000, STEPS) / STEPS;
}

/** The part of the status that a route follows. The counts are left out, because routes move them themselves. */
export const stageOf = ({ status }: DiscoveryBackend) =>
  status?.maintenance === undefined ? undefined : { state: status.maintenance.state, since: status.maintenance.since };

/** Only a discoverer that has reported at all can be late. */
const isUnsyncedOf = ({ status }: DiscoveryBackend) =>
  status?.discovery !== undefined && status.discovery.synced !== true;
