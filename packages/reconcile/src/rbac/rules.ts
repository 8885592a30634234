// RBAC rules from the declarations of the reconcilers: no right is granted that no declaration asks for.
import type { Operator } from '../operator.ts';
import { LOCAL, type Role } from '../reconciler.ts';
import { type Privilege, privilegesOf } from './privileges.ts';
import { runtimePrivileges } from './runtime-privileges.ts';

export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

export interface OperatorRules {
  /** Granted in every namespace, or by Roles in each watched namespace when `--watch-namespaces` is given. */
  everywhere: PolicyRule[];
  /** Granted cluster-wide even then: cluster-scoped kinds. */
  cluster: PolicyRule[];
  /** Granted in the operator's own namespace: reads that reach no further. */
  own: PolicyRule[];
  /** Granted in the namespace of Leases and digest keys. */
  system: PolicyRule[];
  /** Granted in the namespace `default`: events about cluster-scoped objects live there. */
  default: PolicyRule[];
  /** Granted in the namespaces that declarations name. */
  named: Readonly<Record<string, PolicyRule[]>>;
}

/** The rules that an operator needs in the clusters of a role, merged and sorted, so that they read well and compare equal. */
export function rulesOf(operator: Operator, role: Role = LOCAL): OperatorRules {
  const privileges = [...privilegesOf(operator, role), ...(role === LOCAL ? runtimePrivileges(operator) : [])];
  const rulesIn = (place: Privilege['place']) =>
    mergedRules(privileges.filter((each) => each.place === place && each.namespaces === undefined));
  const names = [...new Set(privileges.flatMap(({ namespaces = [] }) => namespaces))].toSorted();
  const rulesInNamespace = (name: string) =>
    mergedRules(privileges.filter(({ namespaces }) => namespaces?.includes(name)));
  return {
    everywhere: rulesIn('everywhere'),
    cluster: rulesIn('cluster'),
    own: rulesIn('own'),
    system: rulesIn('system'),
    default: rulesIn('default'),
    named: Object.fromEntries(names.map((name) => [name, rulesInNamespace(name)])),
  };
}

/** The parts of rules that others do not grant already. */
export function rulesBeyond(rules: readonly PolicyRule[], held: readonly PolicyRule[]): PolicyRule[] {
  const isHeld = (group: string, resource: string, verb: string) =>
    held.some(
      ({ apiGroups, resources, verbs, resourceNames: names }) =>
        names === undefined && apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
    );
  const rest = rules.flatMap(({ apiGroups, resources, verbs, resourceNames: names }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => ({
        group,
        resource,
        ...(names ? { names } : {}),
        verbs: verbs.filter((verb) => !isHeld(group, resource, verb)),
      })),
    ),
  );
  return mergedRules(rest.filter(({ verbs }) => verbs.length > 0));
}

const VERBS = ['*', 'get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

/** One rule for all resources of a group with the same verbs. */
export function mergedRules(privileges: readonly Omit<Privilege, 'place' | 'by' | 'because'>[]): PolicyRule[] {
  const verbsOf = new Map<string, { group: string; resource: string; names?: string[]; verbs: Set<string> }>();
  for (const { group, resource, names, verbs } of privileges) {
    const key = JSON.stringify([group, resource, names]);
    const known = verbsOf.get(key) ?? { group, resource, ...(names ? { names } : {}), verbs: new Set<string>() };
    verbsOf.set(key, { ...known, verbs: known.verbs.union(new Set(verbs)) });
  }
  const rules = new Map<string, PolicyRule>();
  for (const { group, resource, names, verbs } of [...verbsOf.values()].toSorted(byResource)) {
    const sorted = [...VERBS.filter((verb) => verbs.has(verb)), ...verbs.difference(new Set(VERBS))];
    const key = JSON.stringify([group, sorted, names]);
    const rule = rules.get(key) ?? { apiGroups: [group], resources: [], verbs: sorted, ...resourceNames(names) };
    rules.set(key, { ...rule, resources: [...rule.resources, resource] });
  }
  return [...rules.values()];
}

function resourceNames(names: string[] | undefined): { resourceNames?: string[] } {
  return names === undefined ? {} : { resourceNames: names };
}

function byResource(left: { group: string; resource: string }, right: { group: string; resource: string }): number {
  const [a, b] = [`${left.group} ${left.resource}`, `${right.group} ${right.resource}`];
  return a < b ? -1 : a > b ? 1 : 0;
}
