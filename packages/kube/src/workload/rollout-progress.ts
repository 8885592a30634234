import type { Deployment } from '../builtin/index.ts';

/** The progress of a Deployment towards its current spec. */
export interface RolloutProgress {
  readonly wanted: number;
  readonly updated: number;
  readonly available: number;
  readonly ready: number;
  /** Enough pods serve, of whatever template: the condition Available, or without it at least one pod. */
  readonly isAvailable: boolean;
  /** The controller has seen the last change, and every pod is of the present template and available. */
  readonly isComplete: boolean;
  /** By `kubectl rollout pause`. */
  readonly isPaused: boolean;
  /** Why pods do not come, as the controller reports it, and since when. */
  readonly problem: { readonly message: string; readonly since: string | undefined } | undefined;
}

/** The fields of a Deployment that `rolloutProgress` reads. */
export const ROLLOUT_FIELDS = ['spec.replicas', 'spec.paused', 'status'];

export function rolloutProgress({ metadata, spec, status = {} }: Deployment): RolloutProgress {
  const wanted = spec?.replicas ?? 1;
  const { updatedReplicas: updated = 0, availableReplicas: available = 0, readyReplicas: ready = 0 } = status;
  const conditions = status.conditions ?? [];
  const isSeen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const serves = conditions.find(({ type }) => type === 'Available');
  const failure = conditions.find(
    ({ type, status: is }) =>
      (type === 'ReplicaFailure' && is === 'True') || (type === 'Progressing' && is === 'False'),
  );
  const { message = 'the rollout does not progress', lastTransitionTime: since } = failure ?? {};
  return {
    wanted,
    updated,
    available,
    ready,
    isAvailable: serves === undefined ? available > 0 : serves.status === 'True',
    isComplete: isSeen && updated >= wanted && available >= wanted && (status.replicas ?? 0) === updated,
    isPaused: spec?.paused === true,
    // A problem that was reported before the controller saw the last change may be outdated.
    problem: failure === undefined || !isSeen ? undefined : { message, since },
  };
}
