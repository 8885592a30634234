// Why the pods of a runtime do not start.
import { CRASH_LOOP, type Pod, STUCK_REASONS } from '@capstan/kube';

const LONGEST = 1000;

/** Why a pod does not start, in words for a status; undefined when it does. `lines` of its last words, 0 for one. */
export function podTrouble({ metadata, status }: Pod, lines: number): string | undefined {
  const name = metadata.name ?? '';
  const unschedulable = status?.conditions?.find(
    ({ type, status: is, reason }) => type === 'PodScheduled' && is === 'False' && reason === 'Unschedulable',
  );
  if (unschedulable !== undefined) return `pod ${name} cannot be scheduled: ${unschedulable.message ?? ''}`;
  for (const container of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { waiting } = container.state ?? {};
    if (waiting?.reason === undefined || !isStuck(waiting.reason)) continue;
    const ended = container.lastState?.terminated ?? container.state?.terminated;
    const parts = [`container ${container.name} of pod ${name}: ${waiting.reason}`];
    if (ended !== undefined) parts.push(`it ended with code ${ended.exitCode}`);
    const words = lastLines(ended?.message ?? waiting.message ?? '', lines);
    if (words !== '') parts.push(words);
    return parts.join('; ').slice(0, LONGEST);
  }
  return undefined;
}

const isStuck = (reason: string) => reason === CRASH_LOOP || STUCK_REASONS.has(reason);

function lastLines(text: string, lines: number): string {
  const all = text.trim().split('\n');
  return all.slice(-Math.max(1, lines)).join('\n');
}

/** What a rollout of this says to a user. */
export const troubleOf =
  (lines: number) =>
  (pod: Pod): string | undefined =>
    pod.metadata.deletionTimestamp === undefined ? podTrouble(pod, lines) : undefined;
