// Carries out maintenance for routes of one kind: one guarded write to a route, which includes the state to store. The route belongs to its
// user: it gets no finalizer, no status and no owner.
import { ConfigMap, keyOfObject } from '@capstan/kube';
import { patch, plan, type Reconciler, reading, reconciler, writing } from '@capstan/reconcile';
import { DiscoveryBackend } from '../kinds/index.ts';
import type { RouteStates } from '../maintenance/route-state.ts';
import type { RouteKind } from '../maintenance/routes/index.ts';
import { SERVICE_READS } from '../maintenance/services.ts';

export function createRouteReconciler({ kind, id }: RouteKind, states: RouteStates): Reconciler {
  return reconciler({
    name: `${id}-weights`,
    resource: kind,
    reads: [
      reading(kind, 'everywhere', { optional: true }),
      DiscoveryBackend,
      reading(ConfigMap, 'owned'),
      ...SERVICE_READS,
    ],
    writes: [writing(kind, 'patch')],
    primary: false,
    writesStatus: false,
    finalizer: false,
    reconcile({ object: route, read }) {
      const { set, isCleared, events } = read.derived(states, keyOfObject(route));
      if (set.length === 0) return plan({ held: false });
      const { namespace = '', name = '' } = route.metadata;
      const patches = [patch(kind, { namespace, name }, set, { restore: false, explained: !isCleared })];
      return plan({ held: false, patches, events });
    },
  });
}
