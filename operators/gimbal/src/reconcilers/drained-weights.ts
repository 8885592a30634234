import { ConfigMap } from '@capstan/kube';
import { apply, plan, type Reconciler, reading, reconciler, writing } from '@capstan/reconcile';
import { backendNamed } from '../backend/backend.ts';
import { DiscoveryBackend } from '../kinds/index.ts';
import { type DrainedWeightsOf, drainedWeightsRef } from '../maintenance/drained-weights.ts';

/** Drains of many routes are copied at once. */
const QUIET_MS = 2000;

/** Keeps the second copy of the weights before maintenance, as long as there are any. */
export function createDrainedWeightsReconciler(weights: DrainedWeightsOf): Reconciler {
  return reconciler<DiscoveryBackend>({
    name: 'drained-weights',
    resource: DiscoveryBackend,
    reads: [reading(ConfigMap, 'owned')],
    writes: [writing(ConfigMap, 'apply')],
    primary: false,
    reconcile({ object, read }) {
      const { name = '', namespace = '' } = object.metadata;
      const backend = read.derived(backendNamed, name);
      if (backend === undefined || backend.ref.namespace !== namespace) return plan();
      const data = read.derived(weights, name);
      if (Object.keys(data).length === 0) return plan();
      const copy = {
        apiVersion: ConfigMap.apiVersion,
        kind: 'ConfigMap',
        metadata: drainedWeightsRef(namespace, name),
        data,
      };
      return plan({
        groups: [{ name: 'copy', quietMs: QUIET_MS, quietAtCreation: true, children: [apply(ConfigMap, copy)] }],
      });
    },
  });
}
