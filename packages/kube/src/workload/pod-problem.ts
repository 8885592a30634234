// Explains why a pod does not start, in a text for a status. The text stays the same through all attempts of the kubelet: a container waits
// between two attempts and runs during one, so the reason is that of its last termination.
import type { ContainerStatus, Pod } from '../builtin/index.ts';
import { STUCK_REASONS } from './stuck-reasons.ts';

export interface PodProblem {
  readonly message: string;
  /** The time of the last occurrence, if the kubelet reports it. */
  readonly at: string | undefined;
}

export interface PodProblemOptions {
  /** Selects the part of a container's termination message that is shown. Default: its last line. */
  words?(message: string): string;
}

/** The fields of a pod that `podProblem` reads. */
export const POD_PROBLEM_FIELDS = ['status.conditions', 'status.initContainerStatuses', 'status.containerStatuses'];

const LONGEST = 1000;

/** Undefined when the pod is healthy, starting, or being deleted. */
export function podProblem({ metadata, status }: Pod, options: PodProblemOptions = {}): PodProblem | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const pod = `pod ${metadata.name ?? ''}`;
  const unscheduled = status?.conditions?.find(
    ({ type, status: is, reason }) => type === 'PodScheduled' && is === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled !== undefined)
    return problem(`${pod} cannot be scheduled: ${unscheduled.message ?? ''}`, unscheduled.lastTransitionTime);
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  for (const container of containers) {
    const subject = containers.length === 1 ? pod : `container ${container.name} of ${pod}`;
    const found = containerProblem(subject, container, options.words ?? lastLines);
    if (found !== undefined) return found;
  }
  return undefined;
}

function containerProblem(
  subject: string,
  { ready, state, lastState }: ContainerStatus,
  words: (message: string) => string,
): PodProblem | undefined {
  const { waiting } = state ?? {};
  const ended = state?.terminated ?? lastState?.terminated;
  if (waiting?.reason !== undefined && STUCK_REASONS.has(waiting.reason)) {
    const why = waiting.message ? `: ${waiting.message}` : '';
    return problem(`${subject} waits: ${waiting.reason}${why}`, ended?.finishedAt);
  }
  if (ready || ended === undefined || ended.exitCode === 0) return undefined;
  const reason = ended.reason === undefined || ended.reason === 'Error' ? '' : ` (${ended.reason})`;
  const detail = words(ended.message ?? '');
  const message = `${subject} ended with code ${ended.exitCode}${reason}${detail === '' ? '; see its log' : `: ${detail}`}`;
  return problem(message, ended.finishedAt);
}

function problem(message: string, at: string | undefined): PodProblem {
  return { message: message.slice(0, LONGEST), at };
}

/** The last lines of a text; one by default. */
export function lastLines(text: string, lines = 1): string {
  return text.trim().split('\n').slice(-Math.max(1, lines)).join('\n');
}
