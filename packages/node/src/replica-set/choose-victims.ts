// Which pods of a ReplicaSet go first when there are too many: those that are least use, in Kubernetes' order.
import { type Pod, parseTime } from '@capstan/kube';
import { isPodReady, podCondition } from '../controller/pods.ts';

/** The first `count` of the order. `neighbours` counts, for each pod, the related pods on its node. */
export function chooseVictims(pods: readonly Pod[], count: number, neighbours: (pod: Pod) => number): Pod[] {
  if (count >= pods.length) return [...pods];
  const ranked = pods.map((pod) => ({ pod, rank: rankOf(pod, neighbours(pod)) }));
  return ranked
    .toSorted((a, b) => compareRanks(a.rank, b.rank))
    .slice(0, count)
    .map(({ pod }) => pod);
}

const PHASES: Record<string, number> = { Pending: 0, Unknown: 1, Running: 2 };

/** Smaller goes first; the parts count in this order. */
function rankOf(pod: Pod, neighbours: number): (number | string)[] {
  const isReady = isPodReady(pod);
  const restarts = (pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
  return [
    pod.spec?.nodeName ? 1 : 0,
    PHASES[pod.status?.phase ?? 'Pending'] ?? 0,
    isReady ? 1 : 0,
    deletionCost(pod),
    -neighbours,
    isReady ? -timeOf(podCondition(pod, 'Ready')?.lastTransitionTime) : 0,
    -Math.max(0, ...restarts),
    -timeOf(pod.metadata.creationTimestamp),
    pod.metadata.name ?? '',
  ];
}

function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? '0';
  return /^-?[0-9]{1,10}$/.test(text) ? Number(text) : 0;
}

function timeOf(text: string | undefined): number {
  return text === undefined ? 0 : parseTime(text);
}

function compareRanks(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  for (const [place, one] of a.entries()) {
    const other = b[place] ?? 0;
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
