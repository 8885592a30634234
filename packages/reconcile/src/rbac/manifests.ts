// Rules as the manifests that `capstan rbac` prints and that tests install.
import { ClusterRole, ClusterRoleBinding, type KubeObject, Role, RoleBinding, ServiceAccount } from '@capstan/kube';
import type { Operator } from '../operator.ts';
import { type PolicyRule, rulesOf } from './rules.ts';

export interface RbacOptions {
  /** The namespace that the operator runs in. */
  namespace: string;
  /** Of the ServiceAccount, roles and bindings; `capstan-<operator>` by default. */
  name?: string;
  /** Restrict namespaced kinds to these namespaces: Roles instead of a ClusterRole. */
  watchNamespaces?: readonly string[];
}

/** ServiceAccount, roles and bindings with exactly what the operator declares. */
export function rbacManifests(operator: Operator, options: RbacOptions): KubeObject[] {
  const { namespace, watchNamespaces } = options;
  const name = options.name ?? `capstan-${operator.name}`;
  const rules = rulesOf(operator);
  const account = { kind: 'ServiceAccount', name, namespace };
  const clusterRules = watchNamespaces === undefined ? [...rules.everywhere, ...rules.cluster] : rules.cluster;
  const manifests: KubeObject[] = [object(ServiceAccount, { name, namespace })];
  if (clusterRules.length > 0) {
    manifests.push(
      object(ClusterRole, { name }, { rules: clusterRules }),
      object(ClusterRoleBinding, { name }, binding('ClusterRole', name, account)),
    );
  }
  const perNamespace = new Map<string, PolicyRule[]>([[namespace, [...rules.own]]]);
  for (const watched of watchNamespaces ?? []) {
    perNamespace.set(watched, [...(perNamespace.get(watched) ?? []), ...rules.everywhere]);
  }
  for (const [place, roleRules] of perNamespace) {
    if (roleRules.length === 0) continue;
    manifests.push(
      object(Role, { name, namespace: place }, { rules: roleRules }),
      object(RoleBinding, { name, namespace: place }, binding('Role', name, account)),
    );
  }
  return manifests;
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
