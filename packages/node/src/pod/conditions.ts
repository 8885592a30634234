// The conditions of a pod that its node sets. Those of others (the scheduler's, readiness gates) are kept.
import { formatTime, type Pod, type PodCondition } from '@capstan/kube';

export interface PodConditionInput {
  type: string;
  status: 'True' | 'False';
  reason?: string;
  message?: string;
}

/** The list with these in it, each in its old place or at the end; the time moves only with the status. */
export function withConditions(
  list: readonly PodCondition[] | undefined,
  inputs: readonly PodConditionInput[],
  now: number,
): PodCondition[] {
  const next = [...(list ?? [])];
  for (const { type, status, reason, message } of inputs) {
    const place = next.findIndex((one) => one.type === type);
    const old = next[place];
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : undefined;
    const condition: PodCondition = {
      type,
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      lastTransitionTime: lastTransitionTime ?? formatTime(now),
    };
    if (place < 0) next.push(condition);
    else next[place] = condition;
  }
  return next;
}

export interface Readiness {
  isInitialized: boolean;
  /** Names of the containers that are not ready. */
  unready: readonly string[];
  /** True for a pod that has ended. */
  isCompleted?: boolean;
}

/** Initialized, ContainersReady and Ready, with the readiness gates counted. */
export function readinessConditions(pod: Pod, readiness: Readiness): PodConditionInput[] {
  const { isInitialized, unready, isCompleted = false } = readiness;
  const containers: PodConditionInput = isCompleted
    ? { type: 'ContainersReady', status: 'False', reason: 'PodCompleted' }
    : unready.length > 0
      ? {
          type: 'ContainersReady',
          status: 'False',
          reason: 'ContainersNotReady',
          message: `containers with unready status: [${unready.join(' ')}]`,
        }
      : { type: 'ContainersReady', status: 'True' };
  const closed = (pod.spec?.readinessGates ?? [])
    .map(({ conditionType }) => conditionType)
    .filter((gate) => pod.status?.conditions?.find(({ type }) => type === gate)?.status !== 'True');
  const gated: PodConditionInput = {
    type: 'Ready',
    status: 'False',
    reason: 'ReadinessGatesNotReady',
    message: closed.map((gate) => `the status of pod readiness gate "${gate}" is not "True"`).join(', '),
  };
  return [
    { type: 'PodReadyToStartContainers', status: isCompleted ? 'False' : 'True' },
    isInitialized
      ? { type: 'Initialized', status: 'True', ...(isCompleted ? { reason: 'PodCompleted' } : {}) }
      : {
          type: 'Initialized',
          status: 'False',
          reason: 'ContainersNotInitialized',
          message: 'init containers are not done',
        },
    containers.status === 'True' && closed.length > 0 ? gated : { ...containers, type: 'Ready' },
    containers,
    { type: 'PodScheduled', status: 'True' },
  ];
}
