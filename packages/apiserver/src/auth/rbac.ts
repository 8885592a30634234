// Authorization by the roles and bindings in the store. Bindings are kept by subject, and that index is recreated when a binding has
// changed. Roles are looked up when they are needed, so they need no index.
import type { UnknownObject } from '@capstan/kube';
import type { UserInfo } from '../core.ts';
import { notFound } from '../errors.ts';
import { isObject, textAt } from '../json/copy.ts';
import type { Store } from '../store/store.ts';
import type { Attributes } from './attributes.ts';
import { isPath } from './attributes.ts';
import { type PolicyRule, ruleAllows, rulesOf } from './policy-rule.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
export const CLUSTER_ROLES = `${RBAC_GROUP}/clusterroles`;
export const ROLES = `${RBAC_GROUP}/roles`;
export const CLUSTER_ROLE_BINDINGS = `${RBAC_GROUP}/clusterrolebindings`;
export const ROLE_BINDINGS = `${RBAC_GROUP}/rolebindings`;

/** Members may do anything, whatever the roles say: the way back when a user has broken them. */
export const MASTERS = 'system:masters';

export interface Decision {
  allowed: boolean;
  /** The binding that allows it, or the problems of those that might have. */
  reason: string;
}

export interface RoleRef {
  kind: string;
  name: string;
}

export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision;
  /** Every rule that holds for the user in a namespace (empty: at the cluster scope only); `onMissing` gets those that are bound and not there. */
  rulesFor(user: UserInfo, namespace: string, onMissing?: (role: RoleRef) => void): PolicyRule[];
  /** Throws NotFound. */
  rulesOfRole(ref: RoleRef, namespace: string): PolicyRule[];
}

/** Everybody may do everything: tests, and servers without users. */
export const allowEverything: Authorizer = {
  authorize: () => ({ allowed: true, reason: '' }),
  rulesFor: () => [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
  rulesOfRole: () => [],
};

export function createRbac(store: Store): Authorizer {
  let index: ReadonlyMap<string, Grant[]> | undefined;
  for (const resource of [CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS]) {
    store.subscribe(resource, () => {
      index = undefined;
    });
  }

  const rulesOfRole = (ref: RoleRef, namespace: string): PolicyRule[] => {
    const isCluster = ref.kind === 'ClusterRole';
    const role = isCluster ? store.get(CLUSTER_ROLES, ref.name) : store.get(ROLES, `${namespace}/${ref.name}`);
    if (role) return rulesOf(role);
    throw notFound({ group: RBAC_GROUP, resource: isCluster ? 'clusterroles' : 'roles' }, ref.name);
  };

  const grantsOf = (user: UserInfo, namespace: string): Grant[] => {
    index ??= indexBindings(store);
    const found: Grant[] = [];
    for (const subject of [`User ${user.name}`, ...user.groups.map((group) => `Group ${group}`)]) {
      for (const grant of index.get(subject) ?? []) {
        if (grant.namespace === undefined || grant.namespace === namespace) found.push(grant);
      }
    }
    return found;
  };

  return {
    rulesOfRole,
    rulesFor: (user, namespace, onMissing) =>
      grantsOf(user, namespace).flatMap((grant) => {
        try {
          return rulesOfRole(grant.role, namespace);
        } catch {
          onMissing?.(grant.role);
          return [];
        }
      }),
    authorize(user, attributes) {
      if (user.groups.includes(MASTERS)) return { allowed: true, reason: '' };
      const namespace = isPath(attributes) ? '' : attributes.namespace;
      const missing: string[] = [];
      for (const grant of grantsOf(user, namespace)) {
        let rules: PolicyRule[];
        try {
          rules = rulesOfRole(grant.role, namespace);
        } catch {
          missing.push(`${grant.role.kind.toLowerCase()}.${RBAC_GROUP} ${JSON.stringify(grant.role.name)} not found`);
          continue;
        }
        if (rules.some((rule) => ruleAllows(rule, attributes))) {
          return { allowed: true, reason: `RBAC: allowed by ${grant.description}` };
        }
      }
      return { allowed: false, reason: missing.length === 0 ? '' : `RBAC: ${formatErrors(missing)}` };
    },
  };
}

/** A role that a binding gives to a subject. */
interface Grant {
  /** Undefined: everywhere. */
  namespace: string | undefined;
  role: RoleRef;
  description: string;
}

function indexBindings(store: Store): ReadonlyMap<string, Grant[]> {
  const index = new Map<string, Grant[]>();
  const add = (binding: UnknownObject, namespace: string | undefined) => {
    const ref: unknown = binding['roleRef'];
    if (!isObject(ref)) return;
    const role = { kind: textAt(ref, ['kind']), name: textAt(ref, ['name']) };
    const subjects: unknown = binding['subjects'];
    for (const subject of Array.isArray(subjects) ? subjects : []) {
      if (!isObject(subject)) continue;
      const [key, who] = subjectOf(subject, namespace);
      const name = binding.metadata.name ?? '';
      const what =
        namespace === undefined
          ? `ClusterRoleBinding ${JSON.stringify(name)}`
          : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
      const description = `${what} of ${role.kind} ${JSON.stringify(role.name)} to ${who}`;
      const known = index.get(key);
      if (known) known.push({ namespace, role, description });
      else index.set(key, [{ namespace, role, description }]);
    }
  };
  for (const { object } of store.list(CLUSTER_ROLE_BINDINGS, '')) add(object, undefined);
  for (const { object } of store.list(ROLE_BINDINGS, '')) add(object, object.metadata.namespace ?? '');
  return index;
}

function subjectOf(subject: Record<string, unknown>, namespace: string | undefined): [key: string, who: string] {
  const kind = textAt(subject, ['kind']);
  const name = textAt(subject, ['name']);
  if (kind !== 'ServiceAccount') return [`${kind} ${name}`, `${kind} ${JSON.stringify(name)}`];
  const given = subject['namespace'];
  const home = typeof given === 'string' && given !== '' ? given : (namespace ?? '');
  return [`User ${serviceAccountName(home, name)}`, `ServiceAccount ${JSON.stringify(`${name}/${home}`)}`];
}

/** The user name of a service account. */
export const serviceAccountName = (namespace: string, name: string) => `system:serviceaccount:${namespace}:${name}`;

/** The groups of a service account, without those that everybody has. */
export const serviceAccountGroups = (namespace: string) => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];

/** A service account as a user: who a program in the cluster is. */
export function serviceAccountUser(namespace: string, name: string): UserInfo {
  return {
    name: serviceAccountName(namespace, name),
    groups: [...serviceAccountGroups(namespace), 'system:authenticated'],
  };
}

/** Several errors as Go's aggregate prints them. */
export function formatErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
