// PodDisruptionBudget: the number of its pods that could go now without falling below its demand.
import {
  compileLabelSelector,
  Deployment,
  equal,
  keyOf,
  keyOfObject,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  setCondition,
} from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { indexBy } from '../controller/index-by.ts';
import { controllerOf } from '../controller/ownership.ts';
import { isActive, isPodReady, scaledValue } from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';

export function disruptionController(tools: Toolkit): Controller {
  const { clock, write } = tools;
  const budgets = tools.cache(PodDisruptionBudget);
  const replicaSets = tools.cache(ReplicaSet);
  const deployments = tools.cache(Deployment);
  const budgetsIn = indexBy(budgets, ({ metadata }) => metadata.namespace);
  const podsIn = indexBy(tools.cache(Pod), ({ metadata }) => metadata.namespace);

  /** The scale of the controller of a pod; undefined for a pod without a controller, or a controller without a scale. */
  function scaleOf(pod: Pod): { uid: string; replicas: number } | undefined {
    const { namespace = '' } = pod.metadata;
    const owner = controllerOf(pod);
    if (owner?.kind !== 'ReplicaSet') return undefined;
    const set = replicaSets.get(keyOf({ namespace, name: owner.name }));
    if (set?.metadata.uid !== owner.uid) return undefined;
    const above = controllerOf(set);
    const deployment = above === undefined ? undefined : deployments.get(keyOf({ namespace, name: above.name }));
    const top = deployment !== undefined && deployment.metadata.uid === above?.uid ? deployment : set;
    return { uid: top.metadata.uid ?? '', replicas: top.spec?.replicas ?? 1 };
  }

  function expected(budget: PodDisruptionBudget, pods: readonly Pod[]): { count: number; healthy: number } {
    const { minAvailable, maxUnavailable } = budget.spec ?? {};
    const scales = new Map(
      pods.flatMap((pod) => {
        const scale = scaleOf(pod);
        return scale === undefined ? [] : [[scale.uid, scale.replicas] as const];
      }),
    );
    const scale = [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
    if (maxUnavailable !== undefined) {
      return { count: scale, healthy: Math.max(0, scale - scaledValue(maxUnavailable, scale, 'up')) };
    }
    if (typeof minAvailable === 'string') return { count: scale, healthy: scaledValue(minAvailable, scale, 'up') };
    return { count: pods.length, healthy: minAvailable ?? 0 };
  }

  return {
    name: 'disruption',
    batchMs: 50,
    sources: [
      source(tools, PodDisruptionBudget, (budget) => [keyOfObject(budget)]),
      source(tools, Pod, ({ metadata }) => budgetsIn.get(metadata.namespace ?? '').map(keyOfObject)),
      source(tools, ReplicaSet, ({ metadata }, old) =>
        old === undefined ? [] : budgetsIn.get(metadata.namespace ?? '').map(keyOfObject),
      ),
      source(tools, Deployment, ({ metadata }, old) =>
        old === undefined ? [] : budgetsIn.get(metadata.namespace ?? '').map(keyOfObject),
      ),
    ],
    async reconcile(key) {
      const budget = budgets.get(key);
      if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return undefined;
      const selector = compileLabelSelector(budget.spec?.selector);
      const pods = podsIn
        .get(budget.metadata.namespace ?? '')
        .filter((pod) => selector.matches(pod.metadata.labels) && isActive(pod));
      const currentHealthy = pods.filter(isPodReady).length;
      const { count, healthy } = expected(budget, pods);
      const disruptionsAllowed = count > 0 ? Math.max(0, currentHealthy - healthy) : 0;
      const observedGeneration = budget.metadata.generation ?? 0;
      const conditions = setCondition(
        budget.status?.conditions,
        {
          type: 'DisruptionAllowed',
          status: disruptionsAllowed > 0 ? 'True' : 'False',
          reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
          observedGeneration,
        },
        clock.now(),
      );
      const status = {
        ...budget.status,
        currentHealthy,
        desiredHealthy: healthy,
        disruptionsAllowed,
        expectedPods: count,
        observedGeneration,
        conditions,
      };
      if (!equal(status, budget.status ?? {})) await write.updateStatus(PodDisruptionBudget, { ...budget, status });
      return undefined;
    },
  };
}
