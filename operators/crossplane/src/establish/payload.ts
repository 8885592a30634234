// The objects that the active revision of a package installs, and whether it may: the package is unpacked, its dependencies are installed,
// and none of its objects belongs to another client. The objects are children of the package, not of the revision: they stay the same
// objects, with all data of the types that they define, while revisions come and go. Their owner references name the revision in force (the
// controller) and the other revisions that have them.
import { type Kind, type KubeObject, kindId, type ObjectRef, type OwnerReference, Secret } from '@capstan/kube';
import {
  type DerivationDefinition,
  derivation,
  INVENTORY_LABEL,
  OWNER_ANNOTATION,
  type Reader,
} from '@capstan/reconcile';
import { bySource, checkDependencies } from '../dependencies/dependency-check.ts';
import { type InstalledPackages, normalised } from '../dependencies/installed-packages.ts';
import {
  type PackageKind,
  type PackageObject,
  PROVIDER,
  packageKindOf,
  type RevisionObject,
  runtimeFor,
} from '../packages/package-kind.ts';
import { readReference } from '../packages/reference.ts';
import { contentKey, type ReadyContent, type RevisionContents } from '../packages/revision-content.ts';
import { activeRevision, type RevisionView, revisionsOf } from '../packages/revisions.ts';
import { SERVICE_PORT } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import type { RevisionRuntimes } from '../workload/runtime-of-revision.ts';
import { webhookService } from '../workload/webhook-service.ts';
import { enrich, type PayloadObject, type WebhookTarget } from './enrich.ts';
import { isOptionalKind, isWebhookConfiguration, kindOfObject, payloadByOwner, payloadKinds } from './payload-kinds.ts';

export interface Payload {
  /** Undefined while no revision is active. */
  readonly revision: { readonly name: string; readonly uid: string } | undefined;
  /** The objects to install, with their owners. */
  readonly objects: readonly PayloadObject[];
  /** Objects that stay as they are: an earlier revision brought them and this one does not, or they wait for their webhook. */
  readonly kept: readonly { readonly kind: Kind; readonly ref: ObjectRef }[];
  /** Why nothing is installed, or undefined. */
  readonly problem: string | undefined;
  /** The reason why some objects wait, or undefined. */
  readonly waiting: string | undefined;
}

export type Payloads = DerivationDefinition<Payload>;

export function payloadKey({ kind }: PackageKind, packageName: string): string {
  return `${kind} ${packageName}`;
}

const NOTHING: Payload = { revision: undefined, objects: [], kept: [], problem: undefined, waiting: undefined };

interface Parts {
  readonly settings: Settings;
  readonly contents: RevisionContents;
  readonly runtimes: RevisionRuntimes;
  readonly installed: InstalledPackages;
}

export function createPayloads({ settings, contents, runtimes, installed }: Parts): Payloads {
  return derivation<Payload>({
    name: 'payload-of-package',
    compute({ key, read }) {
      const [kindName = '', name = ''] = key.split(' ');
      const kind = packageKindOf(kindName) ?? PROVIDER;
      const identity = read.get(kind.package, { name }, identityOf);
      if (identity === undefined) return NOTHING;
      const revisions = revisionsOf(read, kind, identity);
      const active = activeRevision(revisions);
      if (active === undefined) return NOTHING;
      const revision = { name: active.name, uid: active.uid };
      const found = read.derived(contents, contentKey(kind, active.name));
      if (found.state === 'failed') return { ...NOTHING, revision, problem: found.message };
      const problem = dependencyProblem(read, active, found);
      if (problem !== undefined) return { ...NOTHING, revision, problem };
      const kinds = payloadKinds(kind);
      const target = webhookTarget(read, kind, identity, active);
      const objects = enrich({
        kind,
        packageName: name,
        kinds,
        objects: found.content.objects,
        commonLabels: active.spec.commonLabels,
        commonAnnotations: active.spec.commonAnnotations,
        target: 'problem' in target ? undefined : target,
      });
      const refused = firstRefusal(read, kind, objects, identity);
      if (refused !== undefined) return { ...NOTHING, revision, problem: refused };
      return assembled(
        read,
        kind,
        identity.metadata.uid ?? '',
        revisions,
        active,
        objects,
        'problem' in target ? target.problem : '',
      );
    },
  });

  function dependencyProblem(read: Reader, { spec }: RevisionView, { content }: ReadyContent): string | undefined {
    if (spec.skipDependencyResolution || content.meta.dependsOn.length === 0) return undefined;
    const reference = readReference(spec.image, settings.registry);
    const source = 'problem' in reference ? spec.image : reference.source;
    const dependencies = normalised(content.meta.dependsOn, settings.registry);
    return checkDependencies({ source, dependencies }, bySource(read.derived(installed, ''))).problem;
  }

  /** Returns the address for webhooks: the Service of the running workload, with the authority of its certificate. */
  function webhookTarget(
    read: Reader,
    kind: PackageKind,
    { metadata }: PackageObject,
    active: RevisionView,
  ): WebhookTarget | { readonly problem: string } {
    if (kind.runtime === undefined) return { problem: 'a runtime, which this kind of package does not have' };
    const { namespace } = settings;
    const runtime = runtimeFor(kind, settings);
    const secret =
      runtime === undefined
        ? read.get(kind.revision, { name: active.name }, foreignTlsServerOf)
        : active.spec.tlsServerSecretName;
    const ca = secret === undefined ? undefined : read.get(Secret, { namespace, name: secret })?.data?.['ca.crt'];
    const service =
      runtime === undefined
        ? { name: metadata.name ?? '' }
        : webhookService({
            read,
            runtimes,
            workload: runtime.workload,
            kind,
            uid: metadata.uid ?? '',
            revision: active.name,
          });
    if ('problem' in service) return { problem: `the runtime: ${service.problem}` };
    if (ca === undefined)
      return { problem: `the certificate of the runtime’s webhooks${runtime === undefined ? UNNAMED : ''}` };
    return { caBundle: ca, service: { name: service.name, namespace, port: SERVICE_PORT } };
  }
}

const UNNAMED = ' (the controller that runs it names its Secret in status.tlsServerSecretName)';

/** While we ran it ourselves, we wrote the name of a Secret of ours: webhooks stay with the running workload until a user takes over. */
const foreignTlsServerOf = ({ status }: RevisionObject) =>
  status?.runtime === undefined ? status?.tlsServerSecretName : undefined;
const objectRefsOf = ({ status }: RevisionObject) => status?.objectRefs ?? [];

/** Only the identity of the package counts here, not its status. */
const identityOf = ({ apiVersion, kind, metadata: { name, uid }, spec }: PackageObject): PackageObject => ({
  apiVersion,
  kind,
  metadata: { ...(name === undefined ? {} : { name }), ...(uid === undefined ? {} : { uid }) },
  spec,
});

interface Claim {
  readonly isOurs: boolean;
  readonly by: string | undefined;
}

const ownersOf = ({ metadata }: KubeObject) => ({
  inventory: metadata.labels?.[INVENTORY_LABEL],
  owner: metadata.annotations?.[OWNER_ANNOTATION],
  references: (metadata.ownerReferences ?? []).map(({ kind, name, uid, controller }) => ({
    kind,
    name,
    uid,
    controller,
  })),
});

function claimOn(
  { references, inventory, owner }: ReturnType<typeof ownersOf>,
  of: Pick<PackageKind, 'package'>,
  { name = '', uid }: PackageObject['metadata'],
): Claim {
  const controller = references.find((reference) => reference.controller);
  // One that was there before the package has no owner reference to it.
  const isAdopted = controller === undefined && owner?.endsWith(` ${kindId(of.package)} ${name}`) === true;
  const isOurs = isAdopted || references.some((reference) => reference.uid === uid);
  if (isOurs) return { isOurs, by: undefined };
  if (controller !== undefined) return { isOurs, by: `${controller.kind} ${controller.name}` };
  return { isOurs, by: inventory === undefined ? undefined : (owner ?? 'another owner') };
}

/** Why the first object that cannot be installed cannot. */
function firstRefusal(
  read: Reader,
  of: PackageKind,
  objects: readonly PayloadObject[],
  { metadata }: PackageObject,
): string | undefined {
  for (const { kind, object } of objects) {
    const name = `${kind.kind} ${object.metadata.name ?? ''}`;
    if (isOptionalKind(kind) && read.access(kind) !== 'served')
      return `${name} cannot be installed, because ${kind.apiVersion} is not served; install the CustomResourceDefinition of ${kindId(kind)}`;
    const found = read.get(kind, { name: object.metadata.name ?? '' }, ownersOf);
    const claim = found === undefined ? undefined : claimOn(found, of, metadata);
    if (claim?.by !== undefined)
      return `${name} is already controlled by ${claim.by}; uninstall that, or take the object away from it, before installing this package`;
  }
  return undefined;
}

function assembled(
  read: Reader,
  kind: PackageKind,
  packageUid: string,
  revisions: readonly RevisionView[],
  active: RevisionView,
  objects: readonly PayloadObject[],
  waitingFor: string,
): Payload {
  const known = revisions.map((revision) => ({
    revision,
    refs: read.get(kind.revision, { name: revision.name }, objectRefsOf) ?? [],
  }));
  const kinds = payloadKinds(kind);
  const identify = (one: { kind: string; apiVersion: string }, name: string) =>
    `${one.apiVersion.split('/')[0]}/${one.kind}/${name}`;
  const planned = new Map(objects.map((one) => [identify(one.kind, one.object.metadata.name ?? ''), one]));
  const kept = new Map<string, { kind: Kind; ref: ObjectRef }>();
  const knownBy = new Map<string, RevisionView[]>();
  for (const { revision, refs } of known)
    for (const ref of refs) {
      const id = identify(ref, ref.name);
      knownBy.set(id, [...(knownBy.get(id) ?? []), revision]);
      const found = kindOfObject(kinds, ref);
      // A type that is no longer brought still has data; a webhook that is no longer brought stands in everybody's way.
      if (found !== undefined && !planned.has(id) && !isWebhookConfiguration(found))
        kept.set(id, { kind: found, ref: { name: ref.name } });
    }
  // One whose revision is no longer kept is known by its owner alone.
  for (const of of kinds)
    for (const { apiVersion, name } of ownedPayload(read, of, packageUid)) {
      const id = identify(of, name);
      if (!planned.has(id) && !isWebhookConfiguration(of))
        kept.set(id, { kind: kindOfObject(kinds, { apiVersion, kind: of.kind }) ?? of, ref: { name } });
    }
  const waiting = objects.filter(({ waits }) => waits);
  for (const { kind: of, object } of waiting) {
    const name = object.metadata.name ?? '';
    kept.set(identify(of, name), { kind: of, ref: { name } });
  }
  return {
    revision: { name: active.name, uid: active.uid },
    objects: objects
      .filter(({ waits }) => !waits)
      .map((one) =>
        withOwners(one, kind, active, knownBy.get(identify(one.kind, one.object.metadata.name ?? '')) ?? []),
      ),
    kept: [...kept.values()],
    problem: undefined,
    waiting:
      waiting.length === 0
        ? undefined
        : `${waiting.map(({ kind: of, object }) => `${of.kind} ${object.metadata.name ?? ''}`).join(', ')} wait for ${waitingFor}`,
  };
}

/** Everything of a kind that belongs to the package, whichever revision brought it. */
function ownedPayload(read: Reader, of: Kind, packageUid: string) {
  const byOwner = payloadByOwner.get(of);
  return byOwner === undefined || (isOptionalKind(of) && read.access(of) !== 'served')
    ? []
    : read.by(byOwner, packageUid, nameOf);
}

const nameOf = ({ apiVersion, metadata }: KubeObject) => ({ apiVersion, name: metadata.name ?? '' });

function withOwners(
  one: PayloadObject,
  kind: PackageKind,
  active: RevisionView,
  knownBy: readonly RevisionView[],
): PayloadObject {
  const reference = ({ name, uid }: RevisionView, controller: boolean): OwnerReference => ({
    apiVersion: kind.revision.apiVersion,
    kind: kind.revision.kind,
    name,
    uid,
    controller,
    blockOwnerDeletion: true,
  });
  const others = knownBy.filter(({ uid }) => uid !== active.uid).map((revision) => reference(revision, false));
  const { object } = one;
  const ownerReferences = [reference(active, true), ...others];
  return { ...one, object: { ...object, metadata: { ...object.metadata, ownerReferences } } };
}
