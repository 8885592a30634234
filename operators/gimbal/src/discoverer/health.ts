// How a discoverer's Deployment and pods are doing, as far as its backend tells.
import { CRASH_LOOP, type Deployment, type Pod, STUCK_REASONS } from '@capstan/kube';

export interface DeploymentHealth {
  /** A pod is ready, whatever it was started with. */
  readonly isAvailable: boolean;
  /** Every pod is what the Deployment asks for now, and ready. */
  readonly isComplete: boolean;
  /** The update does not come to an end: what the controller says, and since when. */
  readonly stuck: { readonly message: string; readonly since: string } | undefined;
}

export const deploymentHealth = ({ metadata, status = {} }: Deployment): DeploymentHealth => {
  const isCurrent = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const isAvailable = (status.availableReplicas ?? 0) > 0;
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing');
  const isStuck = isCurrent && progressing?.status === 'False';
  return {
    isAvailable,
    isComplete:
      isCurrent && isAvailable && (status.updatedReplicas ?? 0) >= 1 && status.replicas === status.updatedReplicas,
    stuck: isStuck
      ? { message: progressing.message ?? 'the update does not end', since: progressing.lastTransitionTime ?? '' }
      : undefined,
  };
};

export interface PodHealth {
  readonly name: string;
  readonly isGoing: boolean;
  readonly restarts: number;
  readonly startedAt: string | undefined;
  /** Why it does not run, and since when. */
  readonly trouble: { readonly message: string; readonly at: string | undefined } | undefined;
}

export const podHealth = ({ metadata, status }: Pod): PodHealth => {
  const [container] = status?.containerStatuses ?? [];
  return {
    name: metadata.name ?? '',
    isGoing: metadata.deletionTimestamp !== undefined,
    restarts: container?.restartCount ?? 0,
    startedAt: status?.startTime,
    trouble: metadata.deletionTimestamp === undefined ? troubleOf(metadata.name ?? '', status) : undefined,
  };
};

function troubleOf(name: string, status: Pod['status']): PodHealth['trouble'] {
  const unscheduled = status?.conditions?.find(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
  );
  if (unscheduled?.status === 'False')
    return {
      message: `pod ${name} cannot be scheduled: ${unscheduled.message ?? ''}`,
      at: unscheduled.lastTransitionTime,
    };
  for (const { state, lastState } of status?.containerStatuses ?? []) {
    const ended = state?.terminated ?? lastState?.terminated;
    const reason = state?.waiting?.reason;
    if (reason !== undefined && (reason === CRASH_LOOP || STUCK_REASONS.has(reason))) {
      const words = lastLine(ended?.message ?? state?.waiting?.message ?? '');
      const code = ended === undefined ? '' : `; it ended with code ${ended.exitCode}`;
      return { message: `pod ${name}: ${reason}${code}${words === '' ? '' : `: ${words}`}`, at: ended?.finishedAt };
    }
    if (state?.terminated !== undefined && state.terminated.exitCode !== 0)
      return {
        message: `pod ${name} ended with code ${state.terminated.exitCode}: ${lastLine(state.terminated.message ?? '')}`,
        at: state.terminated.finishedAt,
      };
  }
  return undefined;
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
}

/** What is read of discoverers' pods; pods of others are cached by name alone. */
export const POD_READ = {
  fields: ['status.conditions', 'status.startTime', 'status.containerStatuses'],
  labels: { matchExpressions: [{ key: 'cluster', operator: 'Exists' as const }] },
};
