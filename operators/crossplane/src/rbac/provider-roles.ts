// The roles of a provider: the rights of users (edit, view) and of the provider itself (system). Pure. Rules are per API group, with
// resources sorted, so that equal providers give equal bytes.
import type { PolicyRule } from '@capstan/kube';

export interface DefinedType {
  readonly group: string;
  readonly plural: string;
}

export interface RoleObject {
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
  readonly rules: PolicyRule[];
}

const AGGREGATE = 'rbac.crossplane.io/aggregate-to-';
const EDIT_LABELS = { [`${AGGREGATE}crossplane`]: 'true', [`${AGGREGATE}admin`]: 'true', [`${AGGREGATE}edit`]: 'true' };
const VIEW_LABELS = { [`${AGGREGATE}view`]: 'true' };
const SYSTEM_LABEL = 'rbac.crossplane.io/system';

const VIEW_VERBS = ['get', 'list', 'watch'];
const SYSTEM_VERBS = ['get', 'list', 'watch', 'update', 'patch', 'create'];

export function systemRoleName(revision: string): string {
  return `crossplane:provider:${revision}:system`;
}

export interface ProviderRolesInput {
  readonly revision: string;
  /** The types that it defines itself, which users may edit and view. */
  readonly types: readonly DefinedType[];
  /** Types of other members of its family, which its controller may use as well. */
  readonly familyTypes: readonly DefinedType[];
  /** Further rules that the package asks for, if they are allowed. */
  readonly permissionRequests: readonly PolicyRule[];
  /** The rules that every provider gets. */
  readonly baseRules: readonly PolicyRule[];
}

/** No types, no roles. */
export function providerRoles(input: ProviderRolesInput): RoleObject[] {
  const { revision, types, familyTypes, permissionRequests, baseRules } = input;
  if (types.length === 0) return [];
  const name = (suffix: string) => `crossplane:provider:${revision}:${suffix}`;
  const all = [...types, ...familyTypes];
  return [
    {
      metadata: { name: name('aggregate-to-edit'), labels: EDIT_LABELS },
      rules: rulesFor(types, ['*']),
    },
    {
      metadata: { name: name('aggregate-to-view'), labels: VIEW_LABELS },
      rules: rulesFor(types, VIEW_VERBS),
    },
    {
      metadata: { name: systemRoleName(revision), labels: { [SYSTEM_LABEL]: revision.slice(0, 63) } },
      rules: [
        ...rulesFor(all, SYSTEM_VERBS),
        { apiGroups: groupsOf(all), resources: ['*/finalizers'], verbs: ['update'] },
        ...baseRules,
        ...permissionRequests,
      ],
    },
  ];
}

/** `buckets.s3.example.org` is the plural and its group. */
export function definedType(crdName: string): DefinedType {
  const dot = crdName.indexOf('.');
  return { plural: crdName.slice(0, dot), group: crdName.slice(dot + 1) };
}

function groupsOf(types: readonly DefinedType[]): string[] {
  return [...new Set(types.map(({ group }) => group))].toSorted();
}

function rulesFor(types: readonly DefinedType[], verbs: string[]): PolicyRule[] {
  return groupsOf(types).map((group) => ({
    apiGroups: [group],
    resources: [
      ...new Set(types.filter((type) => type.group === group).flatMap(({ plural }) => [plural, `${plural}/status`])),
    ].toSorted(),
    verbs,
  }));
}
