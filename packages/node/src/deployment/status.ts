// A Deployment's status: counts, and the conditions that `kubectl rollout status` and `kubectl wait` read.
import {
  type Deployment,
  type DeploymentCondition,
  type DeploymentStatus,
  formatTime,
  parseTime,
  type ReplicaSet,
} from '@capstan/kube';
import { positive } from '../controller/pods.ts';
import { availableOf, maxUnavailable, replicasOf, sumOf } from './rolling-update.ts';

export interface ConditionInput {
  type: 'Available' | 'Progressing' | 'ReplicaFailure';
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
}

const COMPLETE = 'NewReplicaSetAvailable';
const TIMED_OUT = 'ProgressDeadlineExceeded';
const PAUSED = 'DeploymentPaused';
const DEFAULT_DEADLINE_SECONDS = 600;
/** Stands for no deadline at all. */
const NO_DEADLINE = 2_147_483_647;

export function deadlineOf(deployment: Deployment): number | undefined {
  const seconds = deployment.spec?.progressDeadlineSeconds ?? DEFAULT_DEADLINE_SECONDS;
  return seconds === NO_DEADLINE ? undefined : seconds * 1000;
}

export function conditionOf(conditions: readonly DeploymentCondition[] | undefined, type: string) {
  return conditions?.find((one) => one.type === type);
}

/** As Kubernetes does: one of the same status and reason is left alone, message and times included. */
export function withCondition(
  conditions: readonly DeploymentCondition[],
  input: ConditionInput,
  now: number,
): DeploymentCondition[] {
  const current = conditionOf(conditions, input.type);
  if (current?.status === input.status && current.reason === input.reason) return [...conditions];
  return [...without(conditions, input.type), stamped(current, input, now)];
}

function stamped(current: DeploymentCondition | undefined, input: ConditionInput, now: number): DeploymentCondition {
  const time = formatTime(now);
  const kept = current?.status === input.status ? current.lastTransitionTime : undefined;
  const { type, status, reason, message } = input;
  return { type, status, reason, message, lastUpdateTime: time, lastTransitionTime: kept ?? time };
}

function without(conditions: readonly DeploymentCondition[], type: string): DeploymentCondition[] {
  return conditions.filter((one) => one.type !== type);
}

/** Counts, and whether enough pods serve. */
export function countedStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  fresh: ReplicaSet | undefined,
  now: number,
): DeploymentStatus {
  const available = sumOf(all, availableOf);
  const isAvailable = available >= replicasOf(deployment) - maxUnavailable(deployment);
  const { collisionCount, conditions = [] } = deployment.status ?? {};
  const counts = positive({
    replicas: sumOf(all, (set) => set.status?.replicas ?? 0),
    updatedReplicas: fresh?.status?.replicas ?? 0,
    readyReplicas: sumOf(all, (set) => set.status?.readyReplicas ?? 0),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sumOf(all, replicasOf) - available),
  });
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    ...counts,
    terminatingReplicas: sumOf(all, (set) => set.status?.terminatingReplicas ?? 0),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions: withCondition(
      conditions,
      isAvailable
        ? {
            type: 'Available',
            status: 'True',
            reason: 'MinimumReplicasAvailable',
            message: 'Deployment has minimum availability.',
          }
        : {
            type: 'Available',
            status: 'False',
            reason: 'MinimumReplicasUnavailable',
            message: 'Deployment does not have minimum availability.',
          },
      now,
    ),
  };
}

/** The counted status with the progress of the rollout in it. `blocked` shows why it can never go on, if that is so. */
export function rolloutStatus(
  deployment: Deployment,
  all: readonly ReplicaSet[],
  fresh: ReplicaSet | undefined,
  now: number,
  blocked?: string,
): DeploymentStatus {
  const status = countedStatus(deployment, all, fresh, now);
  let conditions = status.conditions ?? [];
  const current = conditionOf(deployment.status?.conditions, 'Progressing');
  const deadline = deadlineOf(deployment);
  const isSettled = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === COMPLETE;
  if (deadline === undefined) conditions = without(conditions, 'Progressing');
  else if (!isSettled) conditions = withProgress(deployment, status, fresh, now, blocked);
  const failure = [fresh, ...all].flatMap((set) => set?.status?.conditions ?? []).find(isFailure);
  conditions =
    failure === undefined
      ? without(conditions, 'ReplicaFailure')
      : withCondition(
          conditions,
          {
            type: 'ReplicaFailure',
            status: 'True',
            reason: failure.reason ?? '',
            message: failure.message ?? '',
          },
          now,
        );
  return { ...status, conditions };
}

function isFailure({ type, status }: { type: string; status: string }): boolean {
  return type === 'ReplicaFailure' && status === 'True';
}

function withProgress(
  deployment: Deployment,
  status: DeploymentStatus,
  fresh: ReplicaSet | undefined,
  now: number,
  blocked: string | undefined,
): DeploymentCondition[] {
  const conditions = status.conditions ?? [];
  const what =
    fresh === undefined
      ? `Deployment ${JSON.stringify(deployment.metadata.name)}`
      : `ReplicaSet ${JSON.stringify(fresh.metadata.name)}`;
  const current = conditionOf(conditions, 'Progressing');
  if (isComplete(deployment, status)) {
    const message = `${what} has successfully progressed.`;
    return withCondition(conditions, { type: 'Progressing', status: 'True', reason: COMPLETE, message }, now);
  }
  if (blocked !== undefined) {
    // The reason at which `kubectl rollout status` gives up: waiting for the deadline would change nothing.
    const input: ConditionInput = { type: 'Progressing', status: 'False', reason: TIMED_OUT, message: blocked };
    return [
      ...without(conditions, 'Progressing'),
      current?.message === blocked ? current : stamped(current, input, now),
    ];
  }
  if (isProgressing(deployment.status, status)) {
    const input: ConditionInput = {
      type: 'Progressing',
      status: 'True',
      reason: 'ReplicaSetUpdated',
      message: `${what} is progressing.`,
    };
    // Replace the condition even when it is equal: the deadline counts from lastUpdateTime.
    return [...without(conditions, 'Progressing'), stamped(current, input, now)];
  }
  if (isTimedOut(deployment, status, now)) {
    const message = `${what} has timed out progressing.`;
    return withCondition(conditions, { type: 'Progressing', status: 'False', reason: TIMED_OUT, message }, now);
  }
  return conditions;
}

export function isComplete(deployment: Deployment, status: DeploymentStatus | undefined): boolean {
  const wanted = replicasOf(deployment);
  return (
    (status?.updatedReplicas ?? 0) === wanted &&
    (status?.replicas ?? 0) === wanted &&
    (status?.availableReplicas ?? 0) === wanted &&
    (status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function isProgressing(old: DeploymentStatus | undefined, status: DeploymentStatus): boolean {
  const outdated = (one: DeploymentStatus | undefined) => (one?.replicas ?? 0) - (one?.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old?.updatedReplicas ?? 0) ||
    outdated(status) < outdated(old) ||
    (status.readyReplicas ?? 0) > (old?.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old?.availableReplicas ?? 0)
  );
}

function isTimedOut(deployment: Deployment, status: DeploymentStatus, now: number): boolean {
  const current = conditionOf(status.conditions, 'Progressing');
  const deadline = deadlineOf(deployment);
  if (current === undefined || deadline === undefined || current.reason === COMPLETE) return false;
  if (current.reason === TIMED_OUT) return true;
  return parseTime(current.lastUpdateTime ?? formatTime(now)) + deadline < now;
}

/** When to look again whether the deadline has passed, in milliseconds; undefined when there is nothing to wait for. */
export function untilDeadline(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const current = conditionOf(status.conditions, 'Progressing');
  const deadline = deadlineOf(deployment);
  if (current === undefined || deadline === undefined) return undefined;
  if (isComplete(deployment, status) || current.reason === TIMED_OUT || current.reason === COMPLETE) return undefined;
  if (deployment.spec?.paused === true) return undefined;
  const due = parseTime(current.lastUpdateTime ?? formatTime(now)) + deadline;
  return Math.max(0, due - now) + 1000;
}

/** The condition that reports a pause or a resumption by a user, when it is new. Pausing also stops the deadline. */
export function pauseCondition(deployment: Deployment): ConditionInput | undefined {
  const current = conditionOf(deployment.status?.conditions, 'Progressing');
  if (deadlineOf(deployment) === undefined || current?.reason === TIMED_OUT) return undefined;
  const isPaused = deployment.spec?.paused === true;
  const wasPaused = current?.reason === PAUSED;
  if (isPaused === wasPaused) return undefined;
  return isPaused
    ? { type: 'Progressing', status: 'Unknown', reason: PAUSED, message: 'Deployment is paused' }
    : { type: 'Progressing', status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' };
}
