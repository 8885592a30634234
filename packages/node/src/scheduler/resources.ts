// The resources that a pod requests from a node, and those that are left there.
import { type Container, type Node, type Pod, parseQuantity } from '@capstan/kube';

/** In billionths of each resource's unit. */
export type Amounts = ReadonlyMap<string, bigint>;

/** Containers together, or the hungriest init container if that is more; sidecars count for both. */
export function requestsOf(pod: Pod): Amounts {
  const total = sum((pod.spec?.containers ?? []).map(requestOf));
  const sidecars: Amounts[] = [];
  let initial: Amounts = new Map();
  for (const container of pod.spec?.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      sidecars.push(requestOf(container));
      initial = most(initial, sum(sidecars));
    } else initial = most(initial, sum([...sidecars, requestOf(container)]));
  }
  const larger = most(sum([total, ...sidecars]), initial);
  return sum([larger, amounts(pod.spec?.overhead), new Map([['pods', ONE]])]);
}

const ONE = 1_000_000_000n;

/** The first resource of which the node has too little left for the pod. */
export function missingResource(pod: Pod, node: Node, others: readonly Pod[]): string | undefined {
  const available = amounts(node.status?.allocatable ?? node.status?.capacity);
  const used = sum(others.map(requestsOf));
  for (const [resource, asked] of requestsOf(pod)) {
    if (asked === 0n) continue;
    // A node without a number of pods has no limit of them.
    const room = available.get(resource) ?? (resource === 'pods' ? undefined : 0n);
    if (room !== undefined && asked + (used.get(resource) ?? 0n) > room) return resource;
  }
  return undefined;
}

function requestOf({ resources }: Container): Amounts {
  return amounts({ ...resources?.limits, ...resources?.requests });
}

function amounts(quantities: Record<string, string | number> | undefined): Amounts {
  return new Map(Object.entries(quantities ?? {}).map(([name, quantity]) => [name, parseQuantity(quantity).nanos]));
}

function sum(list: readonly Amounts[]): Amounts {
  const total = new Map<string, bigint>();
  for (const one of list) for (const [name, amount] of one) total.set(name, (total.get(name) ?? 0n) + amount);
  return total;
}

function most(a: Amounts, b: Amounts): Amounts {
  const larger = new Map(a);
  for (const [name, amount] of b) if (amount > (larger.get(name) ?? 0n)) larger.set(name, amount);
  return larger;
}
