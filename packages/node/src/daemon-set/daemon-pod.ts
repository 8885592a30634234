// A DaemonSet's pod for one node: tied to it by affinity (so that the scheduler checks ports and resources), and tolerant of the taints of
// unhealthy nodes.
import type { DaemonSet, Node, Pod, PodSpec, Toleration } from '@capstan/kube';
import { podFromTemplate } from '../controller/pods.ts';
import { selectsNode } from '../scheduler/node-affinity.ts';
import { untoleratedTaint } from '../scheduler/tolerations.ts';

export const HASH_LABEL = 'controller-revision-hash';

const TOLERATIONS: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

export function daemonPod(set: DaemonSet, node: string, hash: string): Pod {
  const pod = podFromTemplate(set, set.spec?.template ?? {});
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [HASH_LABEL]: hash } },
    spec: boundTo(tolerant(pod.spec ?? { containers: [] }), node),
  };
}

function tolerant(spec: PodSpec): PodSpec {
  const own = spec.tolerations ?? [];
  const more = [...TOLERATIONS, ...(spec.hostNetwork === true ? [HOST_NETWORK] : [])];
  const missing = more.filter((one) => !own.some(({ key, effect }) => key === one.key && effect === one.effect));
  return { ...spec, tolerations: [...own, ...missing] };
}

function boundTo(spec: PodSpec, node: string): PodSpec {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  const { nodeAffinity } = spec.affinity ?? {};
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms = terms.map((term) => ({ ...term, matchFields }));
  return {
    ...spec,
    affinity: {
      ...spec.affinity,
      nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    },
  };
}

/** The node that a daemon pod is on, or is meant for. */
export function nodeOf(pod: Pod): string | undefined {
  if (pod.spec?.nodeName) return pod.spec.nodeName;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms[0]?.matchFields?.find(({ key }) => key === 'metadata.name')?.values?.[0];
}

/** Whether the node should get a pod of the set, and whether one that is there may stay. */
export function wants(set: DaemonSet, node: Node): { shouldRun: boolean; mayStay: boolean } {
  const template = set.spec?.template.spec ?? { containers: [] };
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: tolerant(template) };
  if (!selectsNode(pod, node)) return { shouldRun: false, mayStay: false };
  return {
    shouldRun: untoleratedTaint(pod, node, ['NoSchedule', 'NoExecute']) === undefined,
    mayStay: untoleratedTaint(pod, node, ['NoExecute']) === undefined,
  };
}
