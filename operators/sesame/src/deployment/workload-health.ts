// How far the workloads of an instance are.
import type { DaemonSet, Deployment } from '@capstan/kube';

export interface WorkloadHealth {
  readonly desired: number;
  readonly updated: number;
  readonly available: number;
  /** Pods that exist, ready or not. */
  readonly existing: number;
  /** The controller has seen the newest template and finished. */
  readonly isComplete: boolean;
  /** The obstacle, if it is known. */
  readonly problem: string | undefined;
}

export function deploymentHealth({ metadata, spec, status }: Deployment): WorkloadHealth {
  const desired = spec?.replicas ?? 1;
  const { updatedReplicas: updated = 0, availableReplicas: available = 0, replicas = 0 } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const failed = status?.conditions?.find(
    ({ type, status: state, reason }) =>
      (type === 'Progressing' && state === 'False' && reason === 'ProgressDeadlineExceeded') ||
      (type === 'ReplicaFailure' && state === 'True'),
  );
  return {
    desired,
    updated,
    available,
    existing: replicas,
    isComplete: isSeen && updated === desired && available === desired && replicas === desired,
    problem: failed?.message,
  };
}

export function daemonSetHealth({ metadata, status }: DaemonSet): WorkloadHealth {
  const {
    desiredNumberScheduled: desired = 0,
    updatedNumberScheduled: updated = 0,
    numberAvailable: available = 0,
    currentNumberScheduled: existing = 0,
  } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return {
    desired,
    updated,
    available,
    existing,
    isComplete: isSeen && updated === desired && available === desired,
    problem: undefined,
  };
}
