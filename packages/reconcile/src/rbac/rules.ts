// RBAC rules from what the reconcilers declare: nothing is granted that no declaration asks for.
import { type Kind, kindId } from '@capstan/kube';
import type { Operator } from '../operator.ts';
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
  /** Granted in the operator's own namespace: leases, the digest key, and reads that reach no further. */
  own: PolicyRule[];
}

type Place = keyof OperatorRules;

/** The rules that an operator needs, merged and sorted, so that they read well and compare equal. */
export function rulesOf(operator: Operator): OperatorRules {
  const grants = new Map<
    string,
    { place: Place; group: string; resource: string; names?: string[]; verbs: Set<string> }
  >();
  const grant = (place: Place, group: string, resource: string, verbs: readonly string[], names?: string[]) => {
    const key = JSON.stringify([place, group, resource, names]);
    const entry = grants.get(key) ?? { place, group, resource, verbs: new Set<string>(), ...(names ? { names } : {}) };
    for (const verb of verbs) entry.verbs.add(verb);
    grants.set(key, entry);
  };
  const placeOf = (kind: Kind): Place => (kind.scope === 'Cluster' ? 'cluster' : 'everywhere');

  for (const reconciler of operator.reconcilers) {
    const { resource } = reconciler;
    grant(placeOf(resource), resource.group, resource.plural, READ);
    if (resource.hasStatus) grant(placeOf(resource), resource.group, `${resource.plural}/status`, ['patch']);
    if (reconciler.writes.length > 0 || reconciler.release !== undefined) {
      // Our finalizer is a metadata patch; owner references that block deletion need the finalizers subresource.
      grant(placeOf(resource), resource.group, resource.plural, ['patch']);
      grant(placeOf(resource), resource.group, `${resource.plural}/finalizers`, ['update']);
    }
    for (const { kind, reach } of reconciler.reads) {
      grant(reach === 'inNamespace' ? 'own' : placeOf(kind), kind.group, kind.plural, READ);
    }
    for (const { kind, what, extraVerbs } of reconciler.writes) {
      grant(placeOf(kind), kind.group, kind.plural, READ);
      if (what !== 'others') grant(placeOf(kind), kind.group, kind.plural, ['create', 'patch', 'update', 'delete']);
      if (what !== 'children') grant(placeOf(kind), kind.group, kind.plural, ['create', 'patch', 'delete']);
      if (extraVerbs) grant(placeOf(kind), kind.group, kind.plural, extraVerbs);
    }
  }
  for (const { place, group, resource, verbs, names } of runtimePrivileges(operator))
    grant(place, group, resource, verbs, names);

  const rules: OperatorRules = { everywhere: [], cluster: [], own: [] };
  for (const { place, group, resource, names, verbs } of [...grants.values()].toSorted(byPlace)) {
    const rule = { apiGroups: [group], resources: [resource], verbs: VERBS.filter((verb) => verbs.has(verb)) };
    rules[place].push(names ? { ...rule, resourceNames: names } : rule);
  }
  return { everywhere: merged(rules.everywhere), cluster: merged(rules.cluster), own: merged(rules.own) };
}

const READ = ['get', 'list', 'watch'];
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'escalate', 'bind'];

function byPlace(left: { group: string; resource: string }, right: { group: string; resource: string }): number {
  const [a, b] = [`${left.group} ${left.resource}`, `${right.group} ${right.resource}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Rules of one group with the same verbs become one. */
function merged(rules: readonly PolicyRule[]): PolicyRule[] {
  const byVerbs = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const key = JSON.stringify([rule.apiGroups, rule.verbs, rule.resourceNames]);
    const existing = byVerbs.get(key);
    if (existing) existing.resources.push(...rule.resources);
    else byVerbs.set(key, { ...rule, resources: [...rule.resources] });
  }
  return [...byVerbs.values()];
}

/** For messages: which declaration would have allowed a read or write. */
export function declarationHint(kind: Kind, what: 'reads' | 'writes'): string {
  return `add ${kindId(kind)} to its ${what}`;
}
