// The health of a discoverer's Deployment and pods, as its backend reports it.
import { type Deployment, POD_PROBLEM_FIELDS, type Pod, podProblem, rolloutProgress } from '@capstan/kube';

export interface DeploymentHealth {
  /** A pod is ready, whatever it was started with. */
  readonly isAvailable: boolean;
  /** Every pod matches the current Deployment and is ready. */
  readonly isComplete: boolean;
  /** The update makes no progress: the controller's message, and since when. */
  readonly stuck: { readonly message: string; readonly since: string } | undefined;
}

export const deploymentHealth = (deployment: Deployment): DeploymentHealth => {
  const { isAvailable, isComplete, problem } = rolloutProgress(deployment);
  return { isAvailable, isComplete, stuck: problem && { message: problem.message, since: problem.since ?? '' } };
};

export interface PodHealth {
  readonly name: string;
  readonly isGoing: boolean;
  readonly restarts: number;
  readonly startedAt: string | undefined;
  /** Why it does not run, and since when. */
  readonly failure: { readonly message: string; readonly at: string | undefined } | undefined;
}

export const podHealth = (pod: Pod): PodHealth => {
  const { metadata, status } = pod;
  return {
    name: metadata.name ?? '',
    isGoing: metadata.deletionTimestamp !== undefined,
    restarts: status?.containerStatuses?.[0]?.restartCount ?? 0,
    startedAt: status?.startTime,
    failure: podProblem(pod),
  };
};

/** The fields of discoverers' pods that are read. Pods of other owners are cached by name alone. */
export const POD_READ = {
  fields: ['status.startTime', ...POD_PROBLEM_FIELDS],
  labels: { matchExpressions: [{ key: 'cluster', operator: 'Exists' as const }] },
};
