// Maintenance as one part of the operator: derivations and reconcilers that belong together, created from what the rest of the
// operator says about discoverers.
import type { Reader, Reconciler } from '@capstan/reconcile';
import { createBackendDrain, type IsDiscovererGone } from '../maintenance/backend-drain.ts';
import { createDrainedWeights } from '../maintenance/drained-weights.ts';
import { createRouteStates } from '../maintenance/route-state.ts';
import { routeKinds } from '../maintenance/routes/index.ts';
import { createRouteTotals, type RouteTotalsOf } from '../maintenance/totals.ts';
import { createDrainedWeightsReconciler } from './drained-weights.ts';
import { createMaintenanceReconciler } from './maintenance.ts';
import { createRouteReconciler } from './route.ts';

export interface MaintenanceOptions {
  /** When references to a backend that is being deleted may go. Default: at once. */
  isDiscovererGone?: IsDiscovererGone;
}

export interface Maintenance {
  readonly reconcilers: readonly Reconciler[];
  /** By the name of a backend: how its routes stand. */
  readonly totals: RouteTotalsOf;
  /**
   * Whether no route has anything of ours left to be done for a backend that is being deleted: the step in its release
   * between the end of its discoverer and the removal of what was discovered.
   */
  areRoutesClear(read: Reader, backend: string): boolean;
}

export function createMaintenance({ isDiscovererGone = () => true }: MaintenanceOptions = {}): Maintenance {
  const drains = createBackendDrain(isDiscovererGone);
  const counted = routeKinds().map((routes) => ({ routes, states: createRouteStates(routes, drains) }));
  const totals = createRouteTotals(counted);
  return {
    reconcilers: [
      createMaintenanceReconciler(
        counted.map(({ routes }) => routes.kind),
        totals,
      ),
      createDrainedWeightsReconciler(createDrainedWeights(counted)),
      ...counted.map(({ routes, states }) => createRouteReconciler(routes, states)),
    ],
    totals,
    areRoutesClear(read, name) {
      const { toBeRemoved, held, unreadable, arriving } = read.derived(totals, name);
      const drain = read.derived(drains, name);
      // Left behind on purpose, or never accepted: only what maintenance did has to be undone.
      if (drain === undefined) return held === 0;
      return drain.mode === 'removing' && toBeRemoved === 0 && unreadable.length === 0 && arriving.length === 0;
    },
  };
}
