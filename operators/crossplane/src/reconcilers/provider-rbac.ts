// Permissions of providers: one set of ClusterRoles for each revision, and a binding of the system role to whatever its
// pods run as. A request beyond the provider's own types is granted only as far as --provider-clusterrole allows it. The ClusterRole
// of --max-role bounds all of it. The API server enforces that; the check here gives the user a message with the remedy.
import { ClusterRole, ClusterRoleBinding, type KubeObject, type PolicyRule } from '@capstan/kube';
import {
  apply,
  type EventInput,
  keep,
  noCondition,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { permissionsRefused } from '../health/conditions.ts';
import { FAMILY_LABEL, ProviderRevision } from '../kinds/index.ts';
import { PROVIDER, runtimeFor } from '../packages/package-kind.ts';
import { isPaused } from '../packages/paused.ts';
import { readReference } from '../packages/reference.ts';
import { contentKey } from '../packages/revision-content.ts';
import { BASE_RULES, baseRulesWithin, DEFAULT_MAX_ROLE } from '../rbac/bound.ts';
import { refusedParts } from '../rbac/covers.ts';
import { definedType, providerRoles, systemRoleName } from '../rbac/provider-roles.ts';
import type { Workload } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import { RUNTIME_ACCOUNT_LABEL } from '../workload/accounts.ts';
import { accountsByOwner, ownerKey, refOf } from '../workload/owned-objects.ts';
import type { RevisionRuntimes } from '../workload/runtime-of-revision.ts';
import { isSettled } from '../workload/settled.ts';
import { derivedReads } from './payload.ts';

export const PROVIDER_RBAC = 'provider-rbac';

export function createProviderRbacReconciler(settings: Settings, runtimes: RevisionRuntimes): Reconciler {
  const workload = runtimeFor(PROVIDER, settings)?.workload;
  return reconciler<ProviderRevision>({
    name: PROVIDER_RBAC,
    resource: ProviderRevision,
    primary: false,
    reads: [...(workload === undefined ? [] : derivedReads(PROVIDER, settings)), reading(ClusterRole, 'referenced')],
    writes: [
      // They are collected with their revision.
      writing(ClusterRole, 'apply', { prunes: false, bound: settings.bound }),
      writing(ClusterRoleBinding, 'apply', { prunes: false }),
    ],
    reconcile({ object, read }) {
      if (isPaused(object)) return plan({ prune: false });
      const name = object.metadata.name ?? '';
      const mine = read.get(ProviderRevision, { name }, brought);
      if (mine === undefined || mine.types.length === 0)
        return plan({ conditions: [noCondition(permissionsRefused.type)] });
      const refuse = (message: string) => {
        const events: EventInput[] = [{ type: 'Warning', reason: 'ApplyClusterRoles', note: message }];
        return plan({ prune: false, conditions: [permissionsRefused.isTrue('NotAllowed', message)], events });
      };
      const denied = deniedBy(read, settings, mine.requests);
      // Grant nothing rather than half of the requests: the message names all of them.
      if (denied.length > 0)
        return refuse(`the package asks for permissions that it may not have: ${some(denied)}; ${remedy(settings)}`);
      // An account that is not bound to the role may hold more: the API server decides.
      const most = read.get(ClusterRole, { name: settings.bound.role }, rulesOf);
      const roles = providerRoles({
        revision: name,
        types: mine.types,
        familyTypes: familyTypes(read, settings, mine),
        permissionRequests: mine.requests,
        baseRules: most === undefined ? BASE_RULES : baseRulesWithin(most),
      });
      const beyond =
        most === undefined ? [] : roles.flatMap(({ rules }) => rules).flatMap((rule) => refusedParts(most, rule));
      if (beyond.length > 0)
        return refuse(
          `the ClusterRole ${settings.bound.role} does not allow the package's types and requests: ${some([...new Set(beyond)])}; ${allowing(settings, object)}`,
        );
      const system = systemRoleName(name);
      return plan({
        conditions: [noCondition(permissionsRefused.type)],
        groups: [
          { name: 'roles', children: roles.map((role) => apply(ClusterRole, role)) },
          {
            name: 'binding',
            children: [
              workload === undefined
                ? // The user who runs it binds its account; one that ran here before keeps its own for as long as it runs on.
                  keep(ClusterRoleBinding, { name: system })
                : apply(ClusterRoleBinding, {
                    metadata: { name: system },
                    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: system },
                    subjects: subjectsOf(read, workload, object),
                  }),
            ],
          },
        ],
      });
    },
  });

  /** Returns the present and future accounts of its pods, and its own accounts that earlier pods still have. */
  function subjectsOf(read: Reader, workload: Workload, { metadata, spec }: ProviderRevision) {
    const key = `${ProviderRevision.kind} ${metadata.uid ?? ''}`;
    const created = read.by(accountsByOwner, key, refOf).map(({ namespace, name }) => ({ namespace, account: name }));
    const running = [...read.by(workload.byOwner, key, workload.running)];
    const runtime =
      spec.desiredState === 'Active'
        ? read.derived(runtimes.ofRevision, contentKey(PROVIDER, metadata.name ?? ''))
        : undefined;
    if (runtime?.state === 'rendered') {
      running.push(workload.running(runtime.rendered.workload as KubeObject));
      // Earlier pods run under the accounts that the package has had so far.
      const owner = metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
      const isOver = isSettled(read, workload, runtime.rendered, metadata.name ?? '');
      if (owner !== undefined && !isOver)
        for (const { namespace, name, isShared } of read.by(accountsByOwner, ownerKey(PROVIDER, owner), heldAccount))
          if (isShared) created.push({ namespace, account: name });
    }
    // Two run side by side under one account while a config gives them another name.
    const accounts = new Map(
      [...running, ...created].map(({ namespace, account }) => [`${namespace}/${account}`, { namespace, account }]),
    );
    return [...accounts.values()].flatMap(({ namespace, account }) =>
      account === undefined ? [] : [{ kind: 'ServiceAccount', namespace, name: account }],
    );
  }
}

const heldAccount = (account: KubeObject) => ({
  ...refOf(account),
  isShared: account.metadata.labels?.[RUNTIME_ACCOUNT_LABEL] === 'true',
});

type Brought = ReturnType<typeof brought>;

const brought = ({ metadata, spec, status }: ProviderRevision) => ({
  types: (status?.objectRefs ?? [])
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map(({ name }) => definedType(name)),
  requests: (status?.permissionRequests ?? []) as PolicyRule[],
  family: metadata.labels?.[FAMILY_LABEL],
  image: spec.image,
  name: metadata.name,
});

/** Members of a family from one registry and organisation may use each other's types. */
function familyTypes(read: Reader, { registry }: Settings, { family, image, name }: Brought) {
  if (family === undefined) return [];
  const home = homeOf(image, registry);
  return read
    .list(ProviderRevision, { labels: `${FAMILY_LABEL}=${family}` }, brought)
    .filter((member) => member.name !== name && homeOf(member.image, registry) === home)
    .flatMap(({ types }) => types);
}

function homeOf(image: string, registry: string): string {
  const reference = readReference(image, registry);
  return 'problem' in reference ? image : reference.source.split('/').slice(0, 2).join('/');
}

const rulesOf = ({ rules }: ClusterRole) => rules ?? [];

function deniedBy(read: Reader, { providerClusterRole }: Settings, requests: readonly PolicyRule[]): string[] {
  if (requests.length === 0) return [];
  const allowed =
    providerClusterRole === undefined ? [] : (read.get(ClusterRole, { name: providerClusterRole }, rulesOf) ?? []);
  return requests.flatMap((request) => refusedParts(allowed, request));
}

function some(parts: readonly string[]): string {
  return `${parts.slice(0, 10).join(', ')}${parts.length > 10 ? ` and ${parts.length - 10} more` : ''}`;
}

function allowing({ bound: { role } }: Settings, { metadata }: ProviderRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)?.name ?? metadata.name ?? '';
  return role === DEFAULT_MAX_ROLE
    ? `an administrator allows them with: crossplane core allow ${owner}`
    : `add them to the ClusterRole ${role}`;
}

function remedy({ providerClusterRole }: Settings): string {
  return providerClusterRole === undefined
    ? 'name a ClusterRole that allows them with --provider-clusterrole'
    : `add them to the ClusterRole ${providerClusterRole}`;
}
