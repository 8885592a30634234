// Random sequences of requests, the same for the same seed. A few names of a few kinds, so that requests meet.
import { createRandom, type SeededRandom } from '@capstan/testing';
import { clusterRoleBindings, clusterRoles, leases, namespaces, roleBindings, roles } from './kinds/cluster.ts';
import { configMaps, secrets, serviceAccounts } from './kinds/config.ts';
import { gadgets, oldWidgets, widgets } from './kinds/custom.ts';
import { definitions, things } from './kinds/definitions.ts';
import type { GeneratedKind } from './kinds/kind.ts';
import { controllerRevisions, endpoints, events, newEvents, nodes } from './kinds/machines.ts';
import { budgets, endpointSlices, ingresses, services } from './kinds/network.ts';
import {
  ingressClasses,
  mutatingConfigurations,
  networkPolicies,
  priorityClasses,
  webhookConfigurations,
} from './kinds/policies.ts';
import { autoscalers, statefulSets } from './kinds/stateful.ts';
import { daemonSets, deployments, pods, replicaSets } from './kinds/workloads.ts';
import type { DiffRequest, Sequence } from './sequence.ts';
import { foreign } from './verbs/foreign.ts';
import { malformed } from './verbs/malformed.ts';
import { withMeta } from './verbs/metadata.ts';
import { operatorStep } from './verbs/operators.ts';
import { list, watch } from './verbs/read.ts';
import { remove, removeAll } from './verbs/remove.ts';
import { encoded, form, JSON_PATCH, MERGE, STRATEGIC, type Unnumbered } from './verbs/request.ts';
import { special } from './verbs/subresources.ts';
import { apply, create, patch, replace, scale, status } from './verbs/write.ts';

const KINDS: readonly GeneratedKind[] = [
  configMaps,
  configMaps,
  secrets,
  serviceAccounts,
  deployments,
  deployments,
  replicaSets,
  daemonSets,
  pods,
  services,
  services,
  ingresses,
  endpointSlices,
  budgets,
  roles,
  clusterRoles,
  roleBindings,
  leases,
  namespaces,
  widgets,
  widgets,
  widgets,
  oldWidgets,
  gadgets,
  statefulSets,
  statefulSets,
  autoscalers,
  networkPolicies,
  ingressClasses,
  priorityClasses,
  webhookConfigurations,
  mutatingConfigurations,
  nodes,
  events,
  newEvents,
  endpoints,
  controllerRevisions,
  clusterRoleBindings,
  definitions,
  definitions,
];

export const LENGTH = 20;

export function generateSequence(seed: number, { length = LENGTH, only = '' } = {}): Sequence {
  const random = createRandom(seed);
  const all = only === '' ? KINDS : KINDS.filter(({ kind }) => kind === only);
  const drawn = Array.from({ length: random.integer(1, 3) }, () => random.pick(all));
  // The managers of one version after a scale in another version are a known difference.
  const kinds = drawn.includes(oldWidgets) ? drawn.filter((kind) => kind !== widgets) : drawn;
  const requests: DiffRequest[] = [];
  const add = (request: Omit<DiffRequest, 'id'>) => requests.push({ id: requests.length + 1, ...request });
  // The one that defines a kind also uses it.
  if (kinds.includes(definitions)) kinds.push(things);
  for (const kind of kinds) for (const request of settled(random, kind, [create(random, kind)])) add(request);
  while (requests.length < length) {
    const kind = random.pick(kinds);
    for (const request of settled(random, kind, step(random, kind, requests))) add(request);
  }
  return { name: `d${seed}`, requests };
}

/** Adds reads of the changes that controllers make. One name is enough, because there is only one. */
function settled(random: SeededRandom, kind: GeneratedKind, requests: Unnumbered[]): Unnumbered[] {
  const isWrite = requests.some(({ method }) => method !== 'GET');
  if (kind.settles !== true || !isWrite) return requests;
  const path = `${kind.collection}/${kind.names[0]}`;
  // The kind of a definition follows it after a moment; a dry run can be repeated.
  const probe = { ...create(random, things), query: { dryRun: 'All' }, eventually: true };
  return [...requests, { method: 'GET', path, eventually: true }, probe];
}

/** Usually one request; a list in pages or a deletion that takes its time are several. */
function step(random: SeededRandom, kind: GeneratedKind, before: readonly DiffRequest[]): Unnumbered[] {
  const name = random.pick(kind.names);
  const path = `${kind.collection}/${name}`;
  const steps: [weight: number, make: () => Unnumbered[]][] = [
    [3, () => [create(random, kind)]],
    [4, () => [replace(random, kind, name, path)]],
    [3, () => [patch(random, kind, path, MERGE, withMeta(random, kind.patch(random)))]],
    [
      3,
      () => [
        patch(
          random,
          kind,
          path,
          kind.isCustom && random.chance(0.7) ? MERGE : STRATEGIC,
          withMeta(random, kind.patch(random)),
        ),
      ],
    ],
    [3, () => [patch(random, kind, path, JSON_PATCH, kind.operations(random))]],
    [6, () => [apply(random, kind, name, path)]],
    [2, () => [status(random, kind, name, path)]],
    [1, () => [scale(random, kind, path, before.length)]],
    [3, () => [{ method: 'GET', path, ...form(random) }]],
    [3, () => list(random, kind, before)],
    [3, () => remove(random, kind, path)],
    [0.5, () => [removeAll(random, kind)]],
    [1, () => [malformed(random, kind, name, path)]],
    [1, () => [watch(random, kind, before)]],
    [0.5, () => [foreign(random, kind, path)]],
    [3, () => operatorStep(random, kind, path, before)],
    [2, () => special(random, kind, path) ?? [{ method: 'GET', path, ...encoded(random, kind) }]],
  ];
  const total = steps.reduce((sum, [weight]) => sum + weight, 0);
  let drawn = random() * total;
  for (const [weight, make] of steps) {
    drawn -= weight;
    if (drawn < 0) return make();
  }
  return [{ method: 'GET', path }];
}
