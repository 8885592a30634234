// RBAC rules from what the reconcilers declare: nothing is granted that no declaration asks for.
import type { Kind } from '@capstan/kube/cluster';
import type { Operator } from '../operator.ts';
import {
  LOCAL,
  type ReadDeclaration,
  type Reconciler,
  type Role,
  roleOf,
  type WriteDeclaration,
} from '../reconciler.ts';
import { writtenKinds } from '../worlds/views.ts';
import { type Privilege, runtimePrivileges } from './runtime-privileges.ts';

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
}

type Place = keyof OperatorRules;

/** The rules that an operator needs in the clusters of a role, merged and sorted, so that they read well and compare equal. */
export function rulesOf(operator: Operator, role: Role = LOCAL): OperatorRules {
  const privileges = [
    ...operator.reconcilers.flatMap((reconciler) => privilegesOf(reconciler, role)),
    ...(operator.sinks ?? []).flatMap((sink) => sink.reads.filter((read) => isIn(read, sink, role)).flatMap(ofRead)),
    ...(role === LOCAL ? runtimePrivileges(operator) : []),
  ];
  const rulesIn = (place: Place) => mergedRules(privileges.filter((privilege) => privilege.place === place));
  return {
    everywhere: rulesIn('everywhere'),
    cluster: rulesIn('cluster'),
    own: rulesIn('own'),
    system: rulesIn('system'),
    default: rulesIn('default'),
  };
}

function privilegesOf(reconciler: Reconciler, role: Role): readonly Privilege[] {
  return [
    ...(roleOf(reconciler) === role
      ? writtenKinds(reconciler.resource).flatMap((kind) => ofResource(kind, reconciler))
      : []),
    ...reconciler.reads.filter((read) => isIn(read, reconciler, role)).flatMap(ofRead),
    ...reconciler.writes.filter((write) => isIn(write, reconciler, role)).map(ofWrite),
  ];
}

function isIn(declaration: { readonly in?: Role }, part: { readonly in?: Role }, role: Role): boolean {
  return (declaration.in ?? roleOf(part)) === role;
}

/** What is reconciled, under whatever name it was written. */
function ofResource(kind: Kind, { writes, release, writesStatus = true }: Reconciler): readonly Privilege[] {
  const makesChildren = writes.some(({ what }) => what !== 'others');
  // Our finalizer is a metadata patch; owner references that block deletion need the finalizers subresource.
  const holds = writes.length > 0 || release !== undefined;
  return [
    { ...placed(kind), verbs: holds ? [...READ, 'patch'] : READ },
    ...(kind.hasStatus && writesStatus ? [{ ...placed(kind, '/status'), verbs: ['patch'] }] : []),
    ...(makesChildren ? [{ ...placed(kind, '/finalizers'), verbs: ['update'] }] : []),
  ];
}

function ofRead({ kind, reach }: ReadDeclaration): readonly Privilege[] {
  // Single objects and our own are looked up under the kind's own name alone.
  const kinds = reach === 'referenced' || reach === 'owned' ? [kind] : writtenKinds(kind);
  return kinds.map((written) => {
    const isOwn = reach === 'inNamespace' && written.scope === 'Namespaced';
    return { ...placed(written), ...(isOwn ? { place: 'own' as const } : {}), verbs: READ };
  });
}

function ofWrite({ kind, what, extraVerbs = [], onlyVerbs }: WriteDeclaration): Privilege {
  if (onlyVerbs !== undefined) return { ...placed(kind), verbs: [...READ, ...onlyVerbs] };
  // A minted child is replaced as a whole when it is renewed.
  const update = what === 'others' ? [] : ['update'];
  return { ...placed(kind), verbs: [...READ, 'create', ...update, 'patch', 'delete', ...extraVerbs] };
}

function placed({ scope, group, plural }: Kind, subresource = ''): Omit<Privilege, 'verbs'> {
  return { place: scope === 'Cluster' ? 'cluster' : 'everywhere', group, resource: `${plural}${subresource}` };
}

const READ = ['get', 'list', 'watch'];
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'escalate', 'bind'];

/** One rule for all resources of a group with the same verbs. */
function mergedRules(privileges: readonly Omit<Privilege, 'place'>[]): PolicyRule[] {
  const verbsOf = new Map<string, { group: string; resource: string; names?: string[]; verbs: Set<string> }>();
  for (const { group, resource, names, verbs } of privileges) {
    const key = JSON.stringify([group, resource, names]);
    const known = verbsOf.get(key) ?? { group, resource, ...(names ? { names } : {}), verbs: new Set<string>() };
    verbsOf.set(key, { ...known, verbs: known.verbs.union(new Set(verbs)) });
  }
  const rules = new Map<string, PolicyRule>();
  for (const { group, resource, names, verbs } of [...verbsOf.values()].toSorted(byResource)) {
    const sorted = VERBS.filter((verb) => verbs.has(verb));
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
