// Rules as the manifests that `capstan rbac` prints and that tests install.
import {
  ClusterRole,
  ClusterRoleBinding,
  type KubeObject,
  Namespace,
  Role,
  RoleBinding,
  ServiceAccount,
} from '@capstan/kube/cluster';
import type { Operator } from '../operator.ts';
import { type Bound, LOCAL, roleOf, type Role as WorldRole } from '../reconciler.ts';
import { SYSTEM_NAMESPACE } from '../system-names.ts';
import { type PolicyRule, rulesBeyond, rulesOf } from './rules.ts';

export interface RbacOptions {
  /** The namespace that the operator runs in. */
  namespace: string;
  /** Where its Lease and its digest key are; `capstan-system` by default. */
  systemNamespace?: string;
  /** The name of the ServiceAccount, roles and bindings; `capstan-<operator>` by default. */
  name?: string;
  /** A ServiceAccount that several operators share: bindings are named after both. Default one of its own. */
  account?: string;
  /** Restrict namespaced kinds to these namespaces: Roles instead of a ClusterRole. */
  watchNamespaces?: readonly string[];
  /** Whether the account is bound to the roles that bound its grants; true by default. An account that only reads grants nothing. */
  bounds?: boolean;
  /** The role of the cluster for the operator; `local` by default. */
  role?: WorldRole;
}

/** ServiceAccount, roles and bindings with exactly the declared rights of the operator, and the namespaces that its Roles are in. */
export function rbacManifests(operator: Operator, options: RbacOptions): KubeObject[] {
  const { namespace, watchNamespaces, systemNamespace = SYSTEM_NAMESPACE } = options;
  const name = options.name ?? `capstan-${operator.name}`;
  const rules = rulesOf(operator, options.role);
  const accountName = options.account ?? name;
  const account = { kind: 'ServiceAccount', name: accountName, namespace };
  const bindingName = accountName === name ? name : `${accountName}-${operator.name}`;
  const clusterRules = watchNamespaces === undefined ? [...rules.everywhere, ...rules.cluster] : rules.cluster;
  // A Role needs its namespace before the operator could create that.
  const named = watchNamespaces === undefined ? Object.keys(rules.named) : [];
  const manifests: KubeObject[] = [
    ...named
      .filter((one) => one !== namespace && one !== systemNamespace)
      .map((one) => object(Namespace, { name: one })),
    object(ServiceAccount, { name: accountName, namespace }),
  ];
  if (clusterRules.length > 0) {
    manifests.push(
      object(ClusterRole, { name }, { rules: clusterRules }),
      object(ClusterRoleBinding, { name: bindingName }, binding('ClusterRole', name, account)),
    );
  }
  for (const { role, roles = [] } of options.bounds === false ? [] : boundsOf(operator, options.role)) {
    manifests.push(
      ...roles,
      object(ClusterRoleBinding, { name: boundBindingName(bindingName, role) }, binding('ClusterRole', role, account)),
    );
  }
  const perNamespace = new Map<string, PolicyRule[]>();
  /** Adds the rules that are not granted in the namespace already. */
  const grant = (place: string, more: readonly PolicyRule[]) => {
    const held = perNamespace.get(place) ?? [];
    const rest = rulesBeyond(more, [...clusterRules, ...held]);
    if (rest.length > 0) perNamespace.set(place, [...held, ...rest]);
  };
  grant(namespace, rules.own);
  grant(systemNamespace, rules.system);
  for (const watched of new Set(watchNamespaces)) grant(watched, rules.everywhere);
  for (const [place, named] of Object.entries(rules.named))
    if (watchNamespaces === undefined || watchNamespaces.includes(place)) grant(place, named);
  // Where everything is granted cluster-wide, and where it is watched, this is granted already.
  if (watchNamespaces?.includes('default') === false) grant('default', rules.default);
  for (const [place, roleRules] of perNamespace) {
    manifests.push(
      object(Role, { name, namespace: place }, { rules: roleRules }),
      object(RoleBinding, { name: bindingName, namespace: place }, binding('Role', name, account)),
    );
  }
  return manifests;
}

/** A binding cannot be edited to another role: the name of the role is part of its own. */
function boundBindingName(bindingName: string, role: string): string {
  return `${bindingName}:${role}`;
}

/** Returns true for the binding of an account to a bound, whichever role the bound is. */
export function isBoundBinding({ kind, metadata: { name = '' } }: KubeObject, bindingName: string): boolean {
  return kind === ClusterRoleBinding.kind && name.startsWith(boundBindingName(bindingName, ''));
}

/** Returns the roles that bound the grants of the operator in clusters of a role, each once. */
export function boundsOf({ reconcilers }: Operator, role: WorldRole = LOCAL): readonly Bound[] {
  const bounds = reconcilers.flatMap((one) =>
    one.writes.flatMap(({ bound, in: place }) => (bound && (place ?? roleOf(one)) === role ? [bound] : [])),
  );
  return [...new Map(bounds.map((bound) => [bound.role, bound])).values()];
}

function object(
  kind: { apiVersion: string; kind: string },
  metadata: KubeObject['metadata'],
  parts: object = {},
): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...parts };
}

function binding(kind: string, name: string, account: object) {
  return { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name }, subjects: [account] };
}
