// Runs the workload of the active revision of a package. The objects are children of the package. A Deployment with a fixed name therefore
// goes from one revision to the next in one rolling update. One with the revision's name is created beside the earlier one, which stays
// until the new one is ready.
import {
  formatPointer,
  type Kind,
  type KubeObject,
  type OwnerReference,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import {
  apply,
  type Child,
  type ChildObject,
  createOnly,
  type GroupInput,
  isMarked,
  keep,
  mint,
  OWNER_ANNOTATION,
  type Patch,
  patch,
  plan,
  type Reader,
  type Reconciler,
  reconciler,
  remove,
  share,
  writing,
} from '@capstan/reconcile';
import { type PackageKind, type PackageObject } from '../packages/package-kind.ts';
import { isPaused } from '../packages/paused.ts';
import { contentKey } from '../packages/revision-content.ts';
import { activeRevision, type RevisionView, revisionHealthOf, revisionsOf } from '../packages/revisions.ts';
import {
  type BuiltInRuntime,
  REVISION_LABEL,
  type RuntimeObjects,
  tlsNeeds,
  tlsSecretNames,
  type Workload,
} from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import { type AccountsInUse, RUNTIME_ACCOUNT, RUNTIME_ACCOUNT_LABEL } from '../workload/accounts.ts';
import type { Certificates } from '../workload/certificates.ts';
import { accountsByOwner, ownerKey, refOf, servicesByOwner } from '../workload/owned-objects.ts';
import type { RevisionRuntimes } from '../workload/runtime-of-revision.ts';
import { isSettled } from '../workload/settled.ts';
import { type Succession, successionOf } from '../workload/succession.ts';
import { derivedReads } from './payload.ts';
import { accountReads } from './service-accounts.ts';

export function createRuntimeReconciler(
  kind: PackageKind,
  settings: Settings,
  { workload }: BuiltInRuntime,
  runtimes: RevisionRuntimes,
  certificates: Certificates,
  inUse: AccountsInUse,
): Reconciler {
  const { namespace } = settings;
  return reconciler<PackageObject>({
    name: `${kind.name}-runtime`,
    resource: kind.package,
    primary: false,
    reads: [...accountReads(settings), ...derivedReads(kind, settings)],
    writes: [
      writing(Secret, ['mint', 'patch'], { namespaces: [namespace] }),
      writing(ServiceAccount, ['apply', 'createOnly', 'share', 'patch'], { namespaces: [namespace] }),
      writing(Service, ['apply', 'patch', 'remove'], { namespaces: [namespace] }),
      writing(workload.kind, ['apply', 'patch', 'remove'], { namespaces: [namespace] }),
    ],
    reconcile({ object, read, standing }) {
      if (isPaused(object)) return plan({ prune: false });
      const revisions = revisionsOf(read, kind, object);
      const active = activeRevision(revisions);
      const found = existing(read, kind, workload, object.metadata.uid ?? '');
      // Deactivated: the pods go, and the objects by which others know them stay.
      if (active === undefined)
        return revisions.length === 0
          ? plan({ prune: false })
          : plan({ children: [...found.services, ...found.accounts] });
      const runtime = read.derived(runtimes.ofRevision, contentKey(kind, active.name));
      if (runtime.state === 'failed') return plan({ prune: false });
      const { rendered } = runtime;
      const authority = certificates.authority(read);
      const isOver = isSettled(read, workload, rendered, active.name);
      const old = isOver ? NONE : withoutRendered(found, rendered);
      const isPayloadReady = read.get(kind.revision, { name: active.name }, revisionHealthOf)?.status === 'True';
      const uids = new Set(revisions.map(({ uid }) => uid));
      const adopted = [
        ...adoption(read, kind, object, uids, Service, rendered.service),
        ...adoption(read, kind, object, uids, workload.kind, rendered.workload),
        ...(rendered.serviceAccount === undefined
          ? []
          : adoption(read, kind, object, uids, ServiceAccount, rendered.serviceAccount)),
        ...certificateNames(object).flatMap((name) =>
          adoption(read, kind, object, uids, Secret, { metadata: { namespace, name } }),
        ),
      ];
      // Written first; the next look finds them to be ours.
      if (adopted.length > 0) return plan({ prune: false, patches: adopted });
      const theirs = upstreamService(read, object, uids, rendered);
      const account = accountOf(read, kind, object, active, uids, rendered, inUse);
      const current = refOf(rendered.workload as KubeObject);
      const { controller } = read.get(workload.kind, current, claimOf) ?? {};
      // Only a workload that was created for this package is replaced; any other is shared or reported.
      const isReplaceable =
        standing(workload.kind, current) === 'own' || (controller !== undefined && uids.has(controller.uid));
      const wanted = successionOf(read, workload, rendered.workload);
      const next: Succession =
        isReplaceable || wanted.step === 'apply' ? wanted : { step: 'apply', workload: rendered.workload };
      const fromUpstream = { controllers: [...uids], ruling: RULING };
      const oldWorkloads = next.step === 'bridge' ? without(old.workloads, next.workload.metadata.name) : old.workloads;
      const replaced = next.step === 'apply' ? [] : [keep(workload.kind, refOf(rendered.workload as KubeObject))];
      const groups: GroupInput[] = [
        {
          name: 'runtime of the revision before',
          children: [
            ...oldWorkloads,
            ...replaced,
            ...old.services,
            ...old.accounts,
            ...(theirs === undefined ? [] : [keep(Service, refOf(theirs), UNTIL_READY)]),
          ],
        },
        {
          name: 'service and account',
          children: [owned(kind, active, uids, Service, serviceOf(read, rendered, isOver)), ...account.children],
          patches: account.patches,
        },
        {
          name: 'certificates',
          open: authority !== undefined,
          waitingFor: 'the certificate authority',
          children:
            authority === undefined
              ? []
              : minted(
                  object,
                  rendered,
                  [...old.services, ...(theirs === undefined ? [] : [keep(Service, refOf(theirs), UNTIL_READY)])],
                  authority,
                  [...uids],
                ),
        },
        {
          name: 'workload',
          open: isPayloadReady && account.isThere,
          waitingFor: isPayloadReady ? 'its service account' : 'the objects of the package to be installed',
          preflight: true,
          children: next.step === 'remove' ? [] : [owned(kind, active, uids, workload.kind, next.workload)],
          removals: next.step === 'remove' ? [remove(workload.kind, next.old, { provenance: fromUpstream })] : [],
        },
        // The Service of the revision leads to its pods by now.
        ...(theirs !== undefined && isOver && isPayloadReady
          ? [{ name: 'service of upstream', removals: [remove(Service, theirs, { provenance: fromUpstream })] }]
          : []),
      ];
      return plan({ groups });
    },
  });

  function certificateNames({ metadata }: PackageObject): string[] {
    if (kind.runtime === undefined) return [];
    const { server, client } = tlsSecretNames(kind.runtime, metadata.name ?? '');
    return [server, ...(client === undefined ? [] : [client])];
  }

  function minted(
    { metadata }: PackageObject,
    { service }: RuntimeObjects,
    old: readonly Child[],
    authority: string,
    controllers: readonly string[],
  ): Child[] {
    if (kind.runtime === undefined) return [];
    const needs = tlsNeeds({
      kind: kind.runtime,
      packageName: metadata.name ?? '',
      serviceNames: [service.metadata.name ?? '', ...old.map(({ ref }) => ref.name)],
      namespace,
      authority,
      clusterDomain: settings.clusterDomain,
    });
    return needs.map(({ secretName, inputs }) =>
      mint(Secret, { namespace, name: secretName }, certificates.minters.leaf, inputs, {
        adopts: 'referring',
        controllers,
      }),
    );
  }
}

/**
 * It leads to the active revision. One that keeps its name while pods of the revision before still run leads to whatever
 * pods of the package are ready until that is over: there is no gap.
 */
function serviceOf(read: Reader, { service }: RuntimeObjects, isOver: boolean): RuntimeObjects['service'] {
  const { namespace = '', name = '' } = service.metadata;
  const { [REVISION_LABEL]: revision, ...ofPackage } = service.spec?.selector ?? {};
  const present = read.get(Service, { namespace, name }, selectorOf);
  if (isOver || present === undefined || revision === undefined || present[REVISION_LABEL] === revision) return service;
  return { ...service, spec: { ...service.spec, selector: ofPackage } };
}

const selectorOf = ({ spec }: Service) => spec?.selector ?? {};

interface Found {
  readonly workloads: readonly Child[];
  readonly services: readonly Child[];
  readonly accounts: readonly Child[];
}

const NONE: Found = { workloads: [], services: [], accounts: [] };

/** Everything that runs for a package now. */
function existing(read: Reader, kind: PackageKind, workload: Workload, uid: string): Found {
  const key = ownerKey(kind, uid);
  return {
    workloads: read.by(workload.byOwner, key, workload.running).map((ref) => keep(workload.kind, ref)),
    services: read.by(servicesByOwner, key, refOf).map((ref) => keep(Service, ref)),
    accounts: read.by(accountsByOwner, key, refOf).map((ref) => keep(ServiceAccount, ref)),
  };
}

const without = (children: readonly Child[], name: string | undefined) =>
  children.filter(({ ref }) => ref.name !== name);

/** Returns the found objects that the active revision does not want. They stay while they are in use. */
function withoutRendered(found: Found, rendered: RuntimeObjects): Found {
  const old = (children: readonly Child[], name: string | undefined) =>
    without(children, name).map(({ kind, ref }) => keep(kind, ref, UNTIL_READY));
  return {
    workloads: old(found.workloads, rendered.workload.metadata.name),
    services: old(found.services, rendered.service.metadata.name),
    accounts: old(found.accounts, rendered.serviceAccount?.metadata.name),
  };
}

/** Names the objects of upstream's package manager that go on as ours, or go when ours have taken their place. */
const RULING = 'docs/decisions/0034-ownership.md';

const UNTIL_READY = { until: 'what replaces it is ready' };

const claimOf = (object: KubeObject) => claimIn(object, object.metadata);

const claimIn = (object: KubeObject, metadata: KubeObject['metadata']) => ({
  maker: metadata.annotations?.[OWNER_ANNOTATION],
  isCreated: isMarked(object, RUNTIME_ACCOUNT),
  owners: (metadata.ownerReferences ?? []).map(({ apiVersion, uid, controller }) => ({ apiVersion, uid, controller })),
  references: metadata.ownerReferences ?? [],
  controller: metadata.ownerReferences?.find(({ controller }) => controller),
});

/**
 * Ours, unless an object of that name was there before and nothing controls it: then it gets our fields and stays its
 * owner's. One that something else controls, or another package has, is a conflict. The runtime decides which it is.
 */
function owned<T extends KubeObject>(
  packageKind: PackageKind,
  active: RevisionView,
  revisions: ReadonlySet<string>,
  of: Kind<T>,
  object: ChildObject<T>,
): Child {
  const controller = ownerReference(packageKind.revision, active, true);
  const whole = { ...object, metadata: { ...object.metadata, ownerReferences: [controller] } };
  return apply(of, whole as ChildObject<T>, {
    controls: false,
    adopts: 'shared',
    controllers: [...revisions],
  });
}

/**
 * The objects that the upstream package manager created for a revision of this package: they are controlled by the revision and name no
 * package. Our owner reference is put beside the existing one, and they continue as ours: nothing is deleted, and no pod restarts for it.
 */
function adoption(
  read: Reader,
  packageKind: PackageKind,
  { metadata }: PackageObject,
  revisions: ReadonlySet<string>,
  of: Kind,
  object: ChildObject<KubeObject>,
): Patch[] {
  const { namespace = '', name = '' } = object.metadata;
  const claim = read.get(of, { namespace, name }, claimOf);
  const isUpstream =
    claim?.maker === undefined && claim?.controller !== undefined && revisions.has(claim.controller.uid);
  if (claim === undefined || !isUpstream || claim.owners.some(({ uid }) => uid === metadata.uid)) return [];
  const value = [...claim.references, ownerReference(packageKind.package, metadata, false)];
  return [patch(of, { namespace, name }, [{ path: '/metadata/ownerReferences', value }], { restore: false })];
}

/** Upstream names the Service after the package; ours is named after the revision, unless the configuration names it. */
function upstreamService(
  read: Reader,
  { metadata: { name = '' } }: PackageObject,
  revisions: ReadonlySet<string>,
  { service }: RuntimeObjects,
): Service | undefined {
  if (service.metadata.name === name) return undefined;
  const found = read.get(Service, { namespace: service.metadata.namespace ?? '', name }, identityOf);
  const isTheirs =
    found?.metadata.annotations?.[OWNER_ANNOTATION] === undefined &&
    found?.metadata.ownerReferences?.some(({ controller, uid }) => controller && revisions.has(uid));
  return isTheirs ? found : undefined;
}

const identityOf = ({ apiVersion, kind, metadata }: Service): Service => {
  const { namespace, name, uid, ownerReferences, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(uid && { uid }),
      ...(ownerReferences && { ownerReferences }),
      ...(annotations && { annotations }),
    },
  };
};

interface PlannedAccount {
  readonly children: readonly Child[];
  readonly patches: readonly Patch[];
  /** Pods that start before their account has its annotations never get the values that these stand for. */
  readonly isThere: boolean;
}

/**
 * The account with a revision's own name is its own. An account that the configuration names may belong to several packages: all of them
 * share it in the same way. A user's account is updated, and gets its former content back.
 */
function accountOf(
  read: Reader,
  kind: PackageKind,
  object: PackageObject,
  active: RevisionView,
  revisions: ReadonlySet<string>,
  { serviceAccount }: RuntimeObjects,
  inUse: AccountsInUse,
): PlannedAccount {
  if (serviceAccount === undefined) return { children: [], patches: [], isThere: true };
  const { namespace = '', name = '', labels = {}, annotations = {} } = serviceAccount.metadata;
  const claim = read.get(ServiceAccount, { namespace, name }, claimOf);
  const isOwn = name === active.name && claim?.isCreated !== true;
  const isControlled = claim?.owners.some(
    ({ controller, apiVersion }) => controller && apiVersion !== kind.revision.apiVersion,
  );
  const isMine = claim?.maker !== undefined || claim?.owners.some(({ uid }) => uid === object.metadata.uid);
  if (isControlled || (isOwn && (claim === undefined || isMine)))
    return { children: [owned(kind, active, revisions, ServiceAccount, serviceAccount)], patches: [], isThere: true };
  // The mark is no package's: it stays when the first of them leaves before the next has come.
  if (claim === undefined) {
    const marked = { metadata: { namespace, name, labels: { [RUNTIME_ACCOUNT_LABEL]: 'true' } } };
    return { children: [createOnly(ServiceAccount, marked, { owned: false })], patches: [], isThere: false };
  }
  // Accounts that an earlier release created have no label yet.
  if (claim.isCreated || claim.maker !== undefined) {
    const { imagePullSecrets: _secrets, ...rest } = serviceAccount;
    const use = read.derived(inUse, '')[name];
    const secrets = use?.users[0] === object.metadata.uid ? use?.pullSecrets : undefined;
    const shared = {
      ...rest,
      metadata: {
        ...rest.metadata,
        labels: { ...labels, [RUNTIME_ACCOUNT_LABEL]: 'true' },
        ownerReferences: [ownerReference(kind.package, object.metadata, false)],
      },
      // The list can only be written as a whole: the first of all users writes the entries that all of them need.
      ...(secrets !== undefined && secrets.length > 0 && { imagePullSecrets: [...secrets] }),
    };
    return { children: [share(ServiceAccount, shared)], patches: [], isThere: true };
  }
  const fields = (part: string, values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([key, value]) => ({ path: formatPointer(['metadata', part, key]), value }));
  // The mark of accounts that were created for packages is not a template's to give.
  const { [RUNTIME_ACCOUNT_LABEL]: _mark, ...given } = labels;
  const set = [...fields('labels', given), ...fields('annotations', annotations)];
  return {
    children: [keep(ServiceAccount, { namespace, name })],
    patches: set.length === 0 ? [] : [patch(ServiceAccount, { namespace, name }, set)],
    isThere: true,
  };
}

function ownerReference(
  { apiVersion, kind }: Kind,
  { name = '', uid = '' }: { readonly name?: string; readonly uid?: string },
  controller: boolean,
): OwnerReference {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion: controller };
}
