// Decides whether a pod may be on a node by its selection: nodeSelector and the required part of its node affinity.
import {
  type CompiledLabelSelector,
  compileLabelSelector,
  type Node,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type Pod,
} from '@capstan/kube';

export function selectsNode(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(pod.spec?.nodeSelector ?? {});
  if (!selected.every(([key, value]) => labels[key] === value)) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** A term without any requirement matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { 'metadata.name': node.metadata.name ?? '' };
  return (
    matchExpressions.every((one) => matchesRequirement(one, node.metadata.labels ?? {})) &&
    matchFields.every((one) => matchesRequirement(one, fields))
  );
}

function matchesRequirement(requirement: NodeSelectorRequirement, labels: Record<string, string>): boolean {
  const { key, operator, values = [] } = requirement;
  if (operator === 'Gt' || operator === 'Lt') {
    const [actual, bound] = [labels[key], values[0]];
    if (actual === undefined || bound === undefined || !/^-?[0-9]+$/.test(actual)) return false;
    return operator === 'Gt' ? BigInt(actual) > BigInt(bound) : BigInt(actual) < BigInt(bound);
  }
  // `metadata.name` is not a label key, but the rules of matching are the same.
  if (operator === 'In') return Object.hasOwn(labels, key) && values.includes(labels[key] ?? '');
  if (operator === 'NotIn') return !values.includes(labels[key] ?? '') || !Object.hasOwn(labels, key);
  if (operator === 'Exists') return Object.hasOwn(labels, key);
  return operator === 'DoesNotExist' && !Object.hasOwn(labels, key);
}

/** Required pod affinity and anti-affinity: whether the pods that are on nodes of the same topology let this one in. */
export function allowsNeighbours(pod: Pod, node: Node, placed: readonly Placed[]): boolean {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  for (const term of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
    if (near(term.topologyKey, node, placed).some((other) => concerns(term, pod, other.pod))) return false;
  }
  for (const other of placed) {
    const terms = other.pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const term of terms) {
      if (near(term.topologyKey, node, [other]).length > 0 && concerns(term, other.pod, pod)) return false;
    }
  }
  for (const term of podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
    const isThere = near(term.topologyKey, node, placed).some((other) => concerns(term, pod, other.pod));
    // The first of a group that wants to be together would otherwise wait for itself.
    const isFirst = concerns(term, pod, pod) && !placed.some((other) => concerns(term, pod, other.pod));
    if (!isThere && !isFirst) return false;
  }
  return true;
}

export interface Placed {
  pod: Pod;
  node: Node;
}

function near(topologyKey: string, node: Node, placed: readonly Placed[]): readonly Placed[] {
  const place = node.metadata.labels?.[topologyKey];
  return place === undefined ? [] : placed.filter((other) => other.node.metadata.labels?.[topologyKey] === place);
}

type AffinityTerm = NonNullable<
  NonNullable<
    NonNullable<NonNullable<Pod['spec']>['affinity']>['podAffinity']
  >['requiredDuringSchedulingIgnoredDuringExecution']
>[number];

/** Namespaces by selector are not looked up here: a term with one concerns the pod's own namespace and those it lists. */
function concerns(term: AffinityTerm, pod: Pod, other: Pod): boolean {
  const namespaces = term.namespaces?.length ? term.namespaces : [pod.metadata.namespace];
  const selector: CompiledLabelSelector = compileLabelSelector(term.labelSelector);
  return namespaces.includes(other.metadata.namespace) && selector.matches(other.metadata.labels);
}
