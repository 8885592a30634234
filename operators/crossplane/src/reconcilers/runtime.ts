// Runs what the active revision of a package runs. The objects are children of the package, so that a Deployment with a
// fixed name goes from one revision to the next in one rolling update, and one with a name of its own (the revision's) is
// made beside the one before, which stays until the new one is ready.
import {
  type Kind,
  type KubeObject,
  kindId,
  type OwnerReference,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import {
  apply,
  type Child,
  type ChildObject,
  type GroupInput,
  keep,
  mint,
  OWNER_ANNOTATION,
  plan,
  type Reader,
  type Reconciler,
  reconciler,
  share,
  writing,
} from '@capstan/reconcile';
import { PACKAGE_KINDS, type PackageKind, type PackageObject } from '../packages/package-kind.ts';
import { isPaused } from '../packages/paused.ts';
import { contentKey } from '../packages/revision-content.ts';
import { activeRevision, type RevisionView, revisionHealthOf, revisionsOf } from '../packages/revisions.ts';
import { type BuiltInRuntime, type RuntimeObjects, tlsNeeds, type Workload } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import type { Certificates } from '../workload/certificates.ts';
import { accountsByOwner, ownerKey, refOf, servicesByOwner } from '../workload/owned-objects.ts';
import type { RevisionRuntimes } from '../workload/runtime-of-revision.ts';
import { isSettled } from '../workload/settled.ts';
import { derivedReads } from './payload.ts';

export function createRuntimeReconciler(
  kind: PackageKind,
  settings: Settings,
  { workload }: BuiltInRuntime,
  runtimes: RevisionRuntimes,
  certificates: Certificates,
): Reconciler {
  const { namespace } = settings;
  return reconciler<PackageObject>({
    name: `${kind.name}-runtime`,
    resource: kind.package,
    primary: false,
    reads: derivedReads(kind, settings),
    writes: [Secret, writing(ServiceAccount, 'both'), writing(Service, 'both'), writing(workload.kind, 'both')],
    reconcile({ object, read }) {
      if (isPaused(object)) return plan({ prune: false });
      const revisions = revisionsOf(read, kind, object);
      const active = activeRevision(revisions);
      const found = existing(read, kind, workload, object.metadata.uid ?? '');
      // Deactivated: the pods go, what others may know them by stays.
      if (active === undefined)
        return revisions.length === 0
          ? plan({ prune: false })
          : plan({ children: [...found.services, ...found.accounts] });
      const runtime = read.derived(runtimes.ofRevision, contentKey(kind, active.name));
      if (runtime.state === 'failed') return plan({ prune: false });
      const { rendered } = runtime;
      const authority = certificates.authority(read);
      const old = isSettled(read, workload, rendered, active.name) ? NONE : withoutRendered(found, rendered);
      const isPayloadReady = read.get(kind.revision, { name: active.name }, revisionHealthOf)?.status === 'True';
      const kept = without(
        [...old.accounts, ...sharedAccounts(read, kind, object.metadata.uid ?? '')],
        rendered.serviceAccount?.metadata.name,
      );
      const groups: GroupInput[] = [
        { name: 'runtime of the revision before', children: [...old.workloads, ...old.services, ...onceEach(kept)] },
        {
          name: 'service and account',
          children: [
            ...owned(read, kind, object, active, Service, rendered.service),
            ...(rendered.serviceAccount === undefined
              ? []
              : owned(read, kind, object, active, ServiceAccount, rendered.serviceAccount)),
          ],
        },
        {
          name: 'certificates',
          open: authority !== undefined,
          waitingFor: 'the certificate authority',
          children: authority === undefined ? [] : minted(object, rendered, old.services, authority),
        },
        {
          name: 'workload',
          open: isPayloadReady,
          waitingFor: 'the objects of the package to be installed',
          preflight: true,
          children: owned(read, kind, object, active, workload.kind, rendered.workload),
        },
      ];
      return plan({ groups });
    },
  });

  function minted(
    { metadata }: PackageObject,
    { service }: RuntimeObjects,
    old: readonly Child[],
    authority: string,
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
      mint(Secret, { namespace, name: secretName }, certificates.minters.leaf, inputs),
    );
  }
}

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

/** Accounts of this package that others run as, too: they stay while somebody does, whatever this package wants. */
function sharedAccounts(read: Reader, kind: PackageKind, uid: string): Child[] {
  return read
    .by(accountsByOwner, ownerKey(kind, uid), holdersOf)
    .filter(({ holders }) => holders.some((holder) => holder !== uid))
    .map(({ namespace, name }) => keep(ServiceAccount, { namespace, name }));
}

const PACKAGES: ReadonlySet<string> = new Set(PACKAGE_KINDS.map(({ kind }) => kind));

const holdersOf = (account: KubeObject) => ({
  ...refOf(account),
  holders: (account.metadata.ownerReferences ?? []).filter(({ kind }) => PACKAGES.has(kind)).map(({ uid }) => uid),
});

const without = (children: readonly Child[], name: string | undefined) =>
  children.filter(({ ref }) => ref.name !== name);

function onceEach(children: readonly Child[]): Child[] {
  return [...new Map(children.map((child) => [child.ref.name, child])).values()];
}

/** Of that, what the active revision does not want: it stays while somebody needs it. */
function withoutRendered(found: Found, rendered: RuntimeObjects): Found {
  return {
    workloads: without(found.workloads, rendered.workload.metadata.name),
    services: without(found.services, rendered.service.metadata.name),
    accounts: without(found.accounts, rendered.serviceAccount?.metadata.name),
  };
}

const claimOf = ({ metadata }: KubeObject) => ({
  maker: metadata.annotations?.[OWNER_ANNOTATION],
  owners: (metadata.ownerReferences ?? []).map(({ apiVersion, uid, controller }) => ({ apiVersion, uid, controller })),
});

/**
 * Ours, unless an object of that name was there before and nobody controls it: then it gets our fields and stays its
 * owner's. So does an account that another package has made: several may run as one, and it stays while one of them is
 * there. Anything else that another controls is a conflict, which the runtime reports.
 */
function owned<T extends KubeObject>(
  read: Reader,
  packageKind: PackageKind,
  { metadata }: PackageObject,
  active: RevisionView,
  of: Kind<T>,
  object: ChildObject<T>,
): Child[] {
  const { namespace = '', name = '' } = object.metadata;
  const claim = read.get(of, { namespace, name }, claimOf);
  if (claim !== undefined) {
    const { maker, owners } = claim;
    const isOthers = maker !== undefined && !maker.endsWith(` ${kindId(packageKind.package)} ${metadata.name ?? ''}`);
    const isMine = !isOthers && owners.some(({ uid }) => uid === metadata.uid);
    const controller = owners.find((owner) => owner.controller);
    const isAccount = of.kind === ServiceAccount.kind;
    const isShareable = isAccount && controller?.apiVersion === packageKind.revision.apiVersion;
    if (!isMine && (controller === undefined || isShareable)) {
      const holder = isAccount && isOthers ? [ownerReference(packageKind.package, metadata, false)] : undefined;
      return [share(of, shareable(object, holder) as ChildObject<T>)];
    }
  }
  const controller = ownerReference(packageKind.revision, active, true);
  const whole = { ...object, metadata: { ...object.metadata, ownerReferences: [controller] } };
  return [apply(of, whole as ChildObject<T>, { controls: false })];
}

function ownerReference(
  { apiVersion, kind }: Kind,
  { name = '', uid = '' }: { readonly name?: string; readonly uid?: string },
  controller: boolean,
): OwnerReference {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion: controller };
}

/** The list of pull secrets can only be had as a whole: it stays its owner's, and the pods name theirs themselves. */
function shareable(object: ChildObject<KubeObject>, ownerReferences: OwnerReference[] | undefined) {
  const { imagePullSecrets: _secrets, ...rest } = object as ChildObject<ServiceAccount>;
  return { ...rest, metadata: { ...rest.metadata, ...(ownerReferences && { ownerReferences }) } };
}
