export type { IsDiscovererGone } from './backend-drain.ts';
export { registerMaintenanceMetrics } from './metrics.ts';
export { ORPHANED_ANNOTATION, REMOVED_ANNOTATION } from './removal.ts';
export { routeKinds } from './routes/index.ts';
export { DRAINED_ANNOTATION, MAINTENANCE_ANNOTATION } from './stored-state.ts';
export type { RouteTotals } from './totals.ts';
