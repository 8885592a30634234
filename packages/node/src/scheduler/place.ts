// Where a pod goes: the nodes that nothing speaks against, and of those the one with the fewest pods.
import type { Node, Pod } from '@capstan/kube';
import { takenPort } from './host-ports.ts';
import { allowsNeighbours, type Placed, selectsNode } from './node-affinity.ts';
import { missingResource } from './resources.ts';
import { untoleratedTaint } from './tolerations.ts';

export type Placement = { node: Node } | { refusal: string };

/** `podsOn` gives the pods of a node that have not ended. */
export function place(pod: Pod, nodes: readonly Node[], podsOn: (node: Node) => readonly Pod[]): Placement {
  const reasons = new Map<string, number>();
  const fitting: Node[] = [];
  const placed: Placed[] = nodes.flatMap((node) => podsOn(node).map((other) => ({ pod: other, node })));
  for (const node of nodes) {
    const reason = refusalOf(pod, node, podsOn(node), placed);
    if (reason === undefined) fitting.push(node);
    else reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const [best] = fitting.toSorted((a, b) => podsOn(a).length - podsOn(b).length || compareNames(a, b));
  if (best !== undefined) return { node: best };
  if (nodes.length === 0) return { refusal: 'no nodes available to schedule pods' };
  const reported = [...reasons].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return { refusal: `0/${nodes.length} nodes are available: ${reported.join(', ')}.` };
}

function refusalOf(pod: Pod, node: Node, others: readonly Pod[], placed: readonly Placed[]): string | undefined {
  const taint = untoleratedTaint(pod, node, ['NoSchedule', 'NoExecute']);
  if (taint?.key === 'node.kubernetes.io/unschedulable') return 'node(s) were unschedulable';
  if (taint !== undefined) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
  if (!selectsNode(pod, node)) return "node(s) didn't match Pod's node affinity/selector";
  const taken = takenPort(pod, others);
  if (taken !== undefined) {
    const { port, holder } = taken;
    return `node(s) didn't have free ports for the requested pod ports (${port.port} is held by ${holder.metadata.namespace}/${holder.metadata.name})`;
  }
  const resource = missingResource(pod, node, others);
  if (resource !== undefined) return resource === 'pods' ? 'Too many pods' : `Insufficient ${resource}`;
  return allowsNeighbours(pod, node, placed) ? undefined : "node(s) didn't match pod affinity/anti-affinity rules";
}

function compareNames(a: Node, b: Node): number {
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
