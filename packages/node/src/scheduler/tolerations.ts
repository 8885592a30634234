import type { Node, Pod, Taint, Toleration } from '@capstan/kube';

/** The first taint of the node that keeps the pod away from it. */
export function untoleratedTaint(pod: Pod, node: Node, effects: readonly string[]): Taint | undefined {
  const taints = [...(node.spec?.taints ?? [])];
  const isCordoned = node.spec?.unschedulable === true;
  if (isCordoned && !taints.some(({ key }) => key === UNSCHEDULABLE.key)) taints.push(UNSCHEDULABLE);
  const tolerations = pod.spec?.tolerations ?? [];
  return taints.find(
    (taint) => effects.includes(taint.effect) && !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = 'Equal', effect = '', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  // An empty key is only legal with Exists.
  return key !== '' && operator === 'Equal' && value === (taint.value ?? '');
}
