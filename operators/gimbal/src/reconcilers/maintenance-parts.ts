// Maintenance as one part of the operator: the derivations and reconcilers that belong together. The rest of the operator passes in its
// knowledge about discoverers.
import type { Reader, Reconciler } from '@capstan/reconcile';
import { createBackendDrain, type IsDiscovererGone } from '../maintenance/backend-drain.ts';
import { createDrainedWeights } from '../maintenance/drained-weights.ts';
import { createRouteStates } from '../maintenance/route-state.ts';
import { routeKinds } from '../maintenance/routes/index.ts';
import { type CountedRoutes, createRouteTotals, type RouteTotalsOf } from '../maintenance/totals.ts';
import { createDrainedWeightsReconciler } from './drained-weights.ts';
import { createMaintenanceReconciler } from './maintenance.ts';
import { createRouteReconciler } from './route.ts';

export interface MaintenanceOptions {
  /** When references to a backend that is being deleted may go. Default: at once. */
  isDiscovererGone?: IsDiscovererGone;
}

export interface Maintenance {
  readonly reconcilers: readonly Reconciler[];
  /** Every kind of route, with the state of each route. */
  readonly routes: readonly CountedRoutes[];
  /** By the name of a backend: how its routes stand. */
  readonly totals: RouteTotalsOf;
  /**
   * Whether no route has anything of ours left to be done for a backend that is being deleted: the step in its release between the end of
   * its discoverer and the removal of the discovered objects.
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
    routes: counted,
    totals,
    areRoutesClear(read, name) {
      const { toBeRemoved, held, unreadable, arriving } = read.derived(totals, name);
      const drain = read.derived(drains, name);
      // This backend was left behind on purpose or never accepted: only the changes of maintenance have to be undone.
      if (drain === undefined) return held === 0;
      return drain.mode === 'removing' && toBeRemoved === 0 && unreadable.length === 0 && arriving.length === 0;
    },
  };
}
