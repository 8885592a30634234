// Runs what the active revision of a package runs. The objects are children of the package, so that a Deployment with a
// fixed name goes from one revision to the next in one rolling update, and one with a name of its own (the revision's) is
// made beside the one before, which stays until the new one is ready.
import { type Kind, type KubeObject, type OwnerReference, Secret, Service, ServiceAccount } from '@capstan/kube';
import {
  apply,
  type Child,
  type ChildObject,
  type GroupInput,
  keep,
  mint,
  plan,
  type Reader,
  type Reconciler,
  reconciler,
  share,
  writing,
} from '@capstan/reconcile';
import type { PackageKind, PackageObject } from '../packages/package-kind.ts';
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
      const groups: GroupInput[] = [
        { name: 'runtime of the revision before', children: [...old.workloads, ...old.services, ...old.accounts] },
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

/** Of that, what the active revision does not want: it stays while somebody needs it. */
function withoutRendered(found: Found, rendered: RuntimeObjects): Found {
  const without = (children: readonly Child[], name: string | undefined) =>
    children.filter(({ ref }) => ref.name !== name);
  return {
    workloads: without(found.workloads, rendered.workload.metadata.name),
    services: without(found.services, rendered.service.metadata.name),
    accounts: without(found.accounts, rendered.serviceAccount?.metadata.name),
  };
}

const claimOf = ({ metadata }: KubeObject) => ({
  owners: (metadata.ownerReferences ?? []).map(({ uid, controller }) => ({ uid, controller })),
});

/**
 * Ours, unless an object of that name was there before and nobody controls it: then it gets our fields and stays its
 * owner's. One that another controls is a conflict, which the runtime reports.
 */
function owned<T extends KubeObject>(
  read: Reader,
  { revision: revisionKind }: PackageKind,
  { metadata }: PackageObject,
  active: RevisionView,
  of: Kind<T>,
  object: ChildObject<T>,
): Child[] {
  const { namespace = '', name = '' } = object.metadata;
  const claim = read.get(of, { namespace, name }, claimOf);
  const isForeign =
    claim !== undefined &&
    !claim.owners.some(({ uid }) => uid === metadata.uid) &&
    !claim.owners.some(({ controller }) => controller);
  if (isForeign) return [share(of, shareable(object) as ChildObject<T>)];
  const controller: OwnerReference = {
    apiVersion: revisionKind.apiVersion,
    kind: revisionKind.kind,
    name: active.name,
    uid: active.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const whole = { ...object, metadata: { ...object.metadata, ownerReferences: [controller] } };
  return [apply(of, whole as ChildObject<T>, { controls: false })];
}

/** The list of pull secrets can only be had as a whole: it stays its owner's, and the pods name theirs themselves. */
function shareable(object: ChildObject<KubeObject>) {
  const { imagePullSecrets: _secrets, ...rest } = object as ChildObject<ServiceAccount>;
  return rest;
}
