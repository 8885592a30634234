// ReplicaSet and ReplicationController: exactly as many pods as the spec asks for, and a status that counts them.
import {
  compileLabelSelector,
  equal,
  formatTime,
  isApiError,
  isForbidden,
  isNotFound,
  type Kind,
  type KubeObject,
  keyOf,
  type LabelSelector,
  Pod,
  type PodTemplateSpec,
  ReplicaSet,
  type ReplicaSetCondition,
  ReplicationController,
  reasonOf,
} from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { claim, controllerOf, createOwnership, isControlledBy } from '../controller/ownership.ts';
import {
  isActive,
  isEnded,
  isPodReady,
  isTerminating,
  podFromTemplate,
  positive,
  untilAvailable,
} from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import { chooseVictims } from './choose-victims.ts';

/** The number of pods that are created or deleted in one go. The next run continues with the rest. */
const BURST = 500;

/** The common part of both kinds; a ReplicationController selects by labels alone. */
interface Replicated extends KubeObject {
  spec?: { replicas?: number; minReadySeconds?: number; template?: PodTemplateSpec };
  status?: ReplicaSet['status'];
}

export const replicaSetController = (tools: Toolkit): Controller =>
  replicas(tools, 'replicaset', ReplicaSet, (set) => set.spec?.selector);

export const replicationController = (tools: Toolkit): Controller =>
  replicas(tools, 'replicationcontroller', ReplicationController, (controller) => ({
    matchLabels: controller.spec?.selector ?? {},
  }));

function replicas<T extends Replicated>(
  tools: Toolkit,
  name: string,
  kind: Kind<T>,
  selectorOf: (set: T) => LabelSelector | undefined,
): Controller {
  const { clock, write } = tools;
  const replicaSets = tools.cache(kind);
  const pods = createOwnership(tools.cache(Pod));
  const setsOf = createOwnership(replicaSets);

  function* keysOf(pod: Pod): Iterable<string> {
    const owner = controllerOf(pod);
    const { namespace = '', labels } = pod.metadata;
    if (owner?.kind === kind.kind) yield keyOf({ namespace, name: owner.name });
    if (owner !== undefined || labels === undefined) return;
    // A pod without a controller: every set that selects it may adopt it.
    for (const set of replicaSets.list()) {
      if (set.metadata.namespace !== namespace) continue;
      if (compileLabelSelector(selectorOf(set)).matches(labels))
        yield keyOf({ namespace, name: set.metadata.name ?? '' });
    }
  }

  /** Related pods share a Deployment: deleting from a crowded node first keeps the rest spread. */
  function neighboursOf(set: T): (pod: Pod) => number {
    const owner = controllerOf(set);
    const related = owner === undefined ? [set] : setsOf.of({ apiVersion: '', kind: '', metadata: { uid: owner.uid } });
    const perNode = new Map<string, number>();
    for (const pod of related.flatMap((one) => pods.of(one))) {
      if (isActive(pod) && pod.spec?.nodeName)
        perNode.set(pod.spec.nodeName, (perNode.get(pod.spec.nodeName) ?? 0) + 1);
    }
    return (pod) => perNode.get(pod.spec?.nodeName ?? '') ?? 0;
  }

  async function create(set: T, count: number): Promise<void> {
    // One first, then ever more: a template that the server refuses is refused once, not five hundred times.
    for (let left = count, batch = 1; left > 0; left -= batch, batch = Math.min(2 * batch, left)) {
      const created = await Promise.allSettled(
        Array.from({ length: batch }, () => write.create(Pod, podFromTemplate(set, set.spec?.template ?? {}))),
      );
      for (const result of created) {
        if (result.status === 'fulfilled') {
          tools.event(set, { reason: 'SuccessfulCreate', note: `Created pod: ${result.value.metadata.name}` });
        }
      }
      const failed = created.find((result) => result.status === 'rejected');
      if (failed === undefined) continue;
      if (!isNamespaceLeaving(failed.reason)) {
        tools.event(set, {
          type: 'Warning',
          reason: 'FailedCreate',
          note: `Error creating: ${messageOf(failed.reason)}`,
        });
      }
      throw failed.reason;
    }
  }

  async function remove(set: T, victims: readonly Pod[]): Promise<void> {
    for (const pod of victims) {
      try {
        await write.remove(Pod, pod);
        tools.event(set, { reason: 'SuccessfulDelete', note: `Deleted pod: ${pod.metadata.name}` });
      } catch (error) {
        if (isNotFound(error)) continue;
        tools.event(set, { type: 'Warning', reason: 'FailedDelete', note: `Error deleting: ${messageOf(error)}` });
        throw error;
      }
    }
  }

  async function manage(set: T, active: readonly Pod[]): Promise<Failure | undefined> {
    const difference = active.length - (set.spec?.replicas ?? 1);
    if (difference === 0 || isTerminating(set)) return undefined;
    const count = Math.min(Math.abs(difference), BURST);
    try {
      if (difference < 0) await create(set, count);
      else await remove(set, chooseVictims(active, count, neighboursOf(set)));
      return undefined;
    } catch (error) {
      return { reason: difference < 0 ? 'FailedCreate' : 'FailedDelete', error };
    }
  }

  return {
    name,
    concurrency: 5,
    sources: [
      source(tools, kind, ({ metadata }) => [
        keyOf({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' }),
      ]),
      source(tools, Pod, (pod, old) => [...keysOf(pod), ...(old === undefined ? [] : keysOf(old))]),
    ],
    async reconcile(key) {
      const set = replicaSets.get(key);
      if (set === undefined) return undefined;
      const selector = compileLabelSelector(selectorOf(set));
      const claimed = await claim(tools, Pod, pods, set, selector);
      const failure = await manage(set, claimed.filter(isActive));
      // The caches already reflect the latest creations and deletions.
      const present = pods.of(set).filter((pod) => selector.matches(pod.metadata.labels) && isControlledBy(pod, set));
      const minReady = set.spec?.minReadySeconds ?? 0;
      const waits = present.filter(isActive).map((pod) => untilAvailable(pod, minReady, clock.now()));
      const status = statusOf(set, present, waits.filter((wait) => wait === 0).length, failure, clock.now());
      if (!equal(status, set.status ?? {})) {
        const latest = replicaSets.get(key) ?? set;
        await write.updateStatus(kind, { ...latest, status });
      }
      if (failure !== undefined) throw failure.error;
      const soonest = Math.min(...waits.filter((wait) => wait !== undefined && wait > 0).map(Number));
      return Number.isFinite(soonest) ? soonest : undefined;
    },
  };
}

interface Failure {
  reason: 'FailedCreate' | 'FailedDelete';
  error: unknown;
}

/** As on every cluster: the server's message, without the request. */
function messageOf(error: unknown): string {
  return isApiError(error) ? error.serverMessage : reasonOf(error);
}

function isNamespaceLeaving(error: unknown): boolean {
  return isForbidden(error) && error.message.includes('because it is being terminated');
}

function statusOf(
  set: Replicated,
  pods: readonly Pod[],
  available: number,
  failure: Failure | undefined,
  now: number,
): NonNullable<ReplicaSet['status']> {
  const active = pods.filter(isActive);
  const labels = Object.entries(set.spec?.template?.metadata?.labels ?? {});
  const isFullyLabeled = (pod: Pod) => labels.every(([key, value]) => pod.metadata.labels?.[key] === value);
  const conditions = failureConditions(set.status?.conditions ?? [], failure, now);
  return {
    replicas: active.length,
    ...positive({
      fullyLabeledReplicas: active.filter(isFullyLabeled).length,
      readyReplicas: active.filter(isPodReady).length,
      availableReplicas: available,
    }),
    ...(set.kind === 'ReplicaSet' && {
      terminatingReplicas: pods.filter((pod) => isTerminating(pod) && !isEnded(pod)).length,
    }),
    observedGeneration: set.metadata.generation ?? 0,
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}

function failureConditions(
  conditions: readonly ReplicaSetCondition[],
  failure: Failure | undefined,
  now: number,
): ReplicaSetCondition[] {
  const others = conditions.filter(({ type }) => type !== 'ReplicaFailure');
  if (failure === undefined) return others;
  const current = conditions.find(({ type }) => type === 'ReplicaFailure');
  const { reason } = failure;
  const message = messageOf(failure.error);
  if (current?.status === 'True' && current.reason === reason && current.message === message) return [...conditions];
  const lastTransitionTime = current?.status === 'True' ? current.lastTransitionTime : undefined;
  return [
    ...others,
    {
      type: 'ReplicaFailure',
      status: 'True',
      reason,
      message,
      lastTransitionTime: lastTransitionTime ?? formatTime(now),
    },
  ];
}
