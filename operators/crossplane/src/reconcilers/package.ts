// From a package to its revisions: the digest of its image, the revision for it, the active revision, and the old revisions that are kept.
// The objects and workloads of a revision are decided elsewhere.
import { Secret, ServiceAccount } from '@capstan/kube';
import {
  apply,
  type ConditionInput,
  drop,
  type EventInput,
  plan,
  type Reconciler,
  reading,
  reconciler,
} from '@capstan/reconcile';
import type { RegistryFacts } from '../facts/registry-facts.ts';
import { healthCondition, healthy, installed } from '../health/conditions.ts';
import { imageSettings } from '../images/image-settings.ts';
import { keychainOf } from '../images/keychain.ts';
import { CANDIDATE_ANNOTATION, DIGEST_ANNOTATION, ImageConfig, PACKAGE_LABEL } from '../kinds/index.ts';
import { type CurrentRevision, currentRevision } from '../packages/current-revision.ts';
import { type PackageKind, type PackageObject, type RevisionObject, runtimeFor } from '../packages/package-kind.ts';
import { isPaused, pausedCondition } from '../packages/paused.ts';
import { readReference } from '../packages/reference.ts';
import { type History, historyOf, type WantedRevision } from '../packages/revision-history.ts';
import { type ConditionView, healthOf, type RevisionView, revisionsOf, unpackedOf } from '../packages/revisions.ts';
import { unqualified } from '../packages/version-2.ts';
import { isDefaultReference, labelValue, tlsSecretNames } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import { ownerKey } from '../workload/owned-objects.ts';

type PackageMemory = NonNullable<NonNullable<PackageObject['status']>['memory']>;

export function createPackageReconciler(kind: PackageKind, settings: Settings, facts: RegistryFacts): Reconciler {
  const runtime = runtimeFor(kind, settings);
  const within = { namespaces: [settings.namespace] };
  return reconciler<PackageObject, PackageMemory>({
    name: kind.name,
    resource: kind.package,
    reads: [
      ImageConfig,
      reading(Secret, 'referenced', within),
      reading(ServiceAccount, 'everywhere', within),
      ...(runtime === undefined
        ? []
        : [reading(runtime.workload.kind, 'everywhere', { fields: runtime.workload.fields, ...within })]),
    ],
    writes: [kind.revision],
    reconcile({ object, read, memory }) {
      if (isPaused(object)) return plan({ prune: false, conditions: [pausedCondition(true)] });
      const revisions = revisionsOf(read, kind, object);
      const original = readReference(object.spec.package, settings.registry);
      if ('problem' in original) return unknown(revisions, `spec.package cannot be read: ${original.problem}`);
      const notQualified = unqualified(object.spec.package, settings);
      if (notQualified !== undefined) return unknown(revisions, notQualified);
      const image = imageSettings(read, original.qualified);
      const reference = readReference(image.image, settings.registry);
      const status = {
        resolvedPackage: image.image,
        appliedImageConfigRefs: image.applied.length === 0 ? drop() : image.applied,
      };
      if ('problem' in reference)
        return unknown(
          revisions,
          `an ImageConfig rewrites spec.package to ${image.image}: ${reference.problem}`,
          status,
        );
      const secrets = [
        ...(object.spec.packagePullSecrets ?? []).map(({ name }) => name),
        ...(image.pullSecret === undefined ? [] : [image.pullSecret]),
      ];
      const keychain = keychainOf({ read, settings, secrets });
      const identifier = read.get(kind.package, { name: object.metadata.name ?? '' }, identifierOf);
      const known = { identifier, digest: memory.own?.digest };
      const current = currentRevision({ read, facts, object, image, reference, keychain, known });
      if ('problem' in current) return unknown(revisions, current.problem, status);
      const unpacked = read.get(kind.revision, { name: current.name }, unpackedOf);
      const history = historyOf({
        revisions,
        current,
        policy: object.spec.revisionActivationPolicy,
        isUnpacked: unpacked?.status === 'True',
        limit: object.spec.revisionHistoryLimit,
        lastActive: memory.own?.active,
        serving: servingOf(object),
      });
      return plan({
        children: history.wanted.map((wanted) => revisionChild(wanted, object, current)),
        status: { ...status, currentRevision: current.name, currentIdentifier: object.spec.package },
        conditions: [
          pausedCondition(false),
          installedCondition(history, current, object.spec.revisionActivationPolicy),
          refusal(history, current, unpacked) ?? health(history, current),
        ],
        memory: {
          ...(current.digest === undefined ? {} : { digest: current.digest }),
          ...(history.active === undefined ? {} : { active: history.active }),
        },
        events: eventsOf(history, current),
      });

      /** Revisions with pods of theirs, which outlive the switch until those of the active one are ready. */
      function servingOf({ metadata }: PackageObject): ReadonlySet<string> {
        if (runtime === undefined) return new Set();
        const { byOwner, running: runningOf } = runtime.workload;
        const running = read.by(byOwner, ownerKey(kind, metadata.uid ?? ''), runningOf);
        return new Set(running.flatMap(({ revision }) => revision ?? []));
      }

      function health({ active }: History, { name }: CurrentRevision): ConditionInput {
        const found = read.get(kind.revision, { name: active ?? name }, healthOf);
        if (found === undefined || active === undefined)
          return healthCondition(healthy, {
            status: 'Unknown',
            message: active === undefined ? 'no revision is active' : 'nothing is known yet about the active revision',
          });
        return { type: healthy.type, ...found } as ConditionInput;
      }
    },
  });

  function revisionChild(wanted: WantedRevision, object: PackageObject, current: CurrentRevision) {
    const { name, existing } = wanted;
    const isCurrent = name === current.name;
    const digest = isCurrent ? (current.digest ?? existing?.digest) : existing?.digest;
    const annotations = {
      ...(digest === undefined ? {} : { [DIGEST_ANNOTATION]: digest }),
      ...(wanted.isCandidate ? { [CANDIDATE_ANNOTATION]: 'true' } : {}),
    };
    const metadata = { name, labels: { [PACKAGE_LABEL]: labelValue(object.metadata.name ?? '') }, annotations };
    // An old revision keeps its content: only its activity changes.
    const content = isCurrent || existing === undefined ? specOf(object) : frozen(existing.spec);
    const spec = { ...content, desiredState: wanted.state, revision: wanted.revision };
    return apply<RevisionObject>(kind.revision, { metadata, spec });
  }

  function specOf(object: PackageObject): Omit<RevisionObject['spec'], 'desiredState' | 'revision'> {
    const { spec, metadata } = object;
    const tls =
      kind.runtime === undefined || runtime === undefined
        ? undefined
        : tlsSecretNames(kind.runtime, metadata.name ?? '');
    return {
      image: spec.package,
      ...pulling(spec),
      ...(kind.runtime && {
        ...(isNamed(spec.runtimeConfigRef) && { runtimeConfigRef: spec.runtimeConfigRef }),
        ...(spec.controllerConfigRef && { controllerConfigRef: spec.controllerConfigRef }),
      }),
      ...(tls && {
        tlsServerSecretName: tls.server,
        ...(tls.client === undefined ? {} : { tlsClientSecretName: tls.client }),
      }),
    };
  }
}

/** While the requested revision is not known, everything stays as it is, and the reason is on the package. */
function unknown(revisions: readonly RevisionView[], problem: string, status = {}) {
  const active = revisions.findLast(({ spec }) => spec.desiredState === 'Active');
  const kept = active === undefined ? '' : `; the revision ${active.name} stays active`;
  return plan({
    prune: false,
    status,
    conditions: [
      pausedCondition(false),
      installed.isFalse('UnpackingPackage', `${problem}${kept}`),
      ...(active === undefined
        ? [healthCondition(healthy, { status: 'Unknown', message: 'the package could not be unpacked' })]
        : []),
    ],
    events: [{ type: 'Warning', reason: 'UnpackPackage', note: problem }],
  });
}

const identifierOf = ({ status }: PackageObject) => status?.currentIdentifier;

function pulling(spec: PackageObject['spec'] | RevisionObject['spec']) {
  return {
    packagePullPolicy: spec.packagePullPolicy,
    ...(spec.packagePullSecrets && { packagePullSecrets: spec.packagePullSecrets }),
    ignoreCrossplaneConstraints: spec.ignoreCrossplaneConstraints,
    skipDependencyResolution: spec.skipDependencyResolution,
    ...(spec.commonLabels && { commonLabels: spec.commonLabels }),
    ...(spec.commonAnnotations && { commonAnnotations: spec.commonAnnotations }),
  };
}

function frozen({ desiredState: _state, revision: _revision, ...spec }: RevisionObject['spec']) {
  return spec;
}

/** The requested revision cannot replace the one in force. The package reports this, however healthy the latter is. */
function refusal(
  { active }: History,
  { name }: CurrentRevision,
  unpacked: ConditionView | undefined,
): ConditionInput | undefined {
  if (active === undefined || active === name || unpacked?.status !== 'False') return undefined;
  return healthCondition(healthy, {
    status: 'False',
    message: `the revision ${name} cannot be used: ${unpacked.message}; the revision ${active} stays in force`,
  });
}

function installedCondition(
  { active }: History,
  { name, note = '' }: CurrentRevision,
  policy: PackageObject['spec']['revisionActivationPolicy'],
): ConditionInput {
  if (active === name) return installed.isTrue('ActivePackageRevision', note);
  if (active !== undefined && policy === 'Automatic')
    return installed.isTrue(
      'ActivePackageRevision',
      `the revision ${active} stays in force until ${name} is unpacked; see the conditions of that revision`,
    );
  if (active !== undefined)
    return installed.isTrue(
      'ActivePackageRevision',
      `the revision ${active} is active; the newest, ${name}, waits for spec.desiredState: Active`,
    );
  return installed.isFalse(
    'InactivePackageRevision',
    `the revision ${name} is inactive; set its spec.desiredState to Active`,
  );
}

function eventsOf({ active }: History, { name }: CurrentRevision): EventInput[] {
  return active === name ? [{ reason: 'InstallPackageRevision', note: `the revision ${name} is active` }] : [];
}

/** Returns whether a reference names another config than the default one. */
function isNamed(reference: PackageObject['spec']['runtimeConfigRef'] | undefined): boolean {
  return reference !== undefined && !isDefaultReference(reference);
}
