// The bound of the rights of providers. The operator's account is bound to this ClusterRole, so it can grant its rules to the accounts of
// providers and no others: the API server enforces it (docs/decisions/0036-a-bound-for-packages.md).
import { ClusterRole, type KubeObject, type PolicyRule } from '@capstan/kube';
import type { Bound } from '@capstan/reconcile';
import { refusedParts } from './covers.ts';

/** The name and the label of the original's chart, so that roles which were written for it count here too. */
export const DEFAULT_MAX_ROLE = 'crossplane:allowed-provider-permissions';
export const ALLOWED_LABEL = 'rbac.crossplane.io/aggregate-to-allowed-provider-permissions';

/** The rights that the original gives every provider: secrets of connections, its events, its lease. */
export const BASE_RULES: PolicyRule[] = [
  { apiGroups: ['', 'coordination.k8s.io'], resources: ['secrets', 'configmaps', 'events', 'leases'], verbs: ['*'] },
];

const role = (name: string, parts: object, labels?: Record<string, string>): KubeObject => ({
  apiVersion: ClusterRole.apiVersion,
  kind: ClusterRole.kind,
  metadata: { name, ...(labels && { labels }) },
  ...parts,
});

/** Returns the bound of this name. The default one comes with the installation; the administrator has written any other. */
export function boundOf(name: string): Bound {
  if (name !== DEFAULT_MAX_ROLE) return { role: name };
  return {
    role: name,
    roles: [
      role(name, { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [ALLOWED_LABEL]: 'true' } }] } }),
      role('crossplane:provider-base', { rules: BASE_RULES }, { [ALLOWED_LABEL]: 'true' }),
    ],
  };
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

/** Returns the base rules as far as the bound allows them. */
export function baseRulesWithin(allowed: readonly PolicyRule[]): PolicyRule[] {
  if (BASE_RULES.every((rule) => refusedParts(allowed, rule).length === 0)) return BASE_RULES;
  return BASE_RULES.flatMap(({ apiGroups = [], resources = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => {
        const part = (verb: string) => ({ apiGroups: [group], resources: [resource], verbs: [verb] });
        const isAllowed = (verb: string) => refusedParts(allowed, part(verb)).length === 0;
        const verbs = isAllowed('*') ? ['*'] : VERBS.filter(isAllowed);
        return verbs.length === 0 ? [] : [{ ...part(''), verbs }];
      }),
    ),
  );
}
