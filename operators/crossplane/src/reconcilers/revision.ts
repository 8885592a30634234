// The status of a revision: its objects, its dependencies, and both halves of its health. It changes only the revision itself.
import { findCondition, lastLines, POD_PROBLEM_FIELDS, Pod, podProblem } from '@capstan/kube';
import {
  type ConditionInput,
  drop,
  type EventInput,
  noCondition,
  type Plan,
  patch,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { bySource, checkDependencies } from '../dependencies/dependency-check.ts';
import { type InstalledPackages, normalised } from '../dependencies/installed-packages.ts';
import { type Payloads, payloadKey } from '../establish/payload.ts';
import {
  configWarning,
  type Health,
  healthCondition,
  healthy,
  packageWarning,
  permissionsRefused,
  revisionHealthy,
  rollUp,
  runtimeHealthy,
  unpacked,
  verified,
} from '../health/conditions.ts';
import { type PayloadHealth, payloadHealth } from '../health/payload-health.ts';
import { runtimeHealth } from '../health/runtime-health.ts';
import { CANDIDATE_ANNOTATION } from '../kinds/index.ts';
import { type PackageKind, PROVIDER, type RevisionObject, runtimeFor } from '../packages/package-kind.ts';
import { isPaused, pausedCondition } from '../packages/paused.ts';
import { readReference } from '../packages/reference.ts';
import {
  contentKey,
  type ReadyContent,
  type RevisionContent,
  type RevisionContents,
} from '../packages/revision-content.ts';
import { runtimeHealthOf } from '../packages/revisions.ts';
import type { Settings } from '../settings.ts';
import type { RevisionRuntime, RevisionRuntimes } from '../workload/runtime-of-revision.ts';
import { derivedReads } from './payload.ts';
import { PROVIDER_RBAC } from './provider-rbac.ts';

export interface RevisionParts {
  readonly settings: Settings;
  readonly contents: RevisionContents;
  readonly payloads: Payloads;
  readonly runtimes: RevisionRuntimes;
  readonly installed: InstalledPackages;
}

export function createRevisionReconciler(kind: PackageKind, parts: RevisionParts): Reconciler {
  const { settings, contents, payloads, runtimes, installed } = parts;
  const own = runtimeFor(kind, settings);
  const words = (message: string) => lastLines(message, settings.statusLogLines);
  const problemOfPod = (pod: Pod) => podProblem(pod, { words })?.message;
  return reconciler<RevisionObject>({
    name: `${kind.name}-revision`,
    resource: kind.revision,
    reads: [
      ...derivedReads(kind, settings),
      kind.package,
      ...(own === undefined
        ? []
        : [reading(Pod, 'everywhere', { fields: POD_PROBLEM_FIELDS, namespaces: [settings.namespace] })]),
    ],
    writes: [writing(kind.revision, 'patch')],
    reconcile({ object, read }) {
      if (isPaused(object)) return plan({ prune: false, conditions: [pausedCondition(true)] });
      const name = object.metadata.name ?? '';
      if (object.spec.desiredState !== 'Active') return inactive(read, object);
      const found = read.derived(contents, contentKey(kind, name));
      const packageName = object.metadata.ownerReferences?.find(({ controller }) => controller)?.name ?? '';
      const failure = problemsOf(read, packageName);
      const payload = payloadOf(read, object, packageName, found, failure.payload);
      const runtime = own === undefined ? undefined : read.derived(runtimes.ofRevision, contentKey(kind, name));
      const wasOurs = wasRunHere(read, name);
      const runtimePart =
        own === undefined || runtime === undefined
          ? wasOurs
            ? undefined
            : externalHealth(read, name)
          : runtimeHealth({
              read,
              runtime,
              workload: own.workload,
              revision: name,
              payload,
              failure: failure?.runtime,
              problemOfPod,
            });
      const conditions = [
        pausedCondition(false),
        unpacking(found),
        healthCondition(revisionHealthy, payload),
        ...(runtime !== undefined && runtimePart !== undefined ? [healthCondition(runtimeHealthy, runtimePart)] : []),
        healthCondition(healthy, rollUp(payload, permissionProblem(read, name) ?? runtimePart)),
        verification(found),
        leftOut(found),
        ...warnings(runtime),
        ...(wasOurs ? LEFT_BEHIND : []),
      ];
      return plan({
        patches: metaPatches(object, found),
        held: false,
        conditions,
        status: {
          ...imageStatus(found),
          ...(found.state === 'ready' ? contentStatus(read, object, found) : {}),
          ...(payload.objectRefs === undefined ? {} : { objectRefs: payload.objectRefs }),
          ...runtimeStatus(object, runtime),
          ...(wasOurs ? LEFT_FIELDS : {}),
        },
        events: [...eventsOf(found, payload), ...(wasOurs ? [runsOn(settings)] : [])],
      });
    },
  });

  function payloadOf(
    read: Reader,
    object: RevisionObject,
    packageName: string,
    found: RevisionContent,
    failure: string | undefined,
  ): Health & Partial<PayloadHealth> {
    if (found.state === 'failed') return { status: 'False', message: found.message };
    const payload = read.derived(payloads, payloadKey(kind, packageName));
    if (payload.revision?.uid !== object.metadata.uid)
      return { status: 'False', message: 'another revision of the package is active' };
    if (payload.problem !== undefined) return { status: 'False', message: payload.problem };
    const health = payloadHealth(read, payload, object.metadata.uid ?? '');
    return failure === undefined ? health : { ...health, status: 'False', message: failure, isUnderWay: false };
  }

  /** Whether it ran here before it became another owner's. */
  function wasRunHere(read: Reader, name: string): boolean {
    return own === undefined && read.get(kind.revision, { name }, runtimeNameOf) !== undefined;
  }

  /** The health that an external controller reports counts, if it reports any. */
  function externalHealth(read: Reader, name: string): Health | undefined {
    if (kind.runtime === undefined) return undefined;
    const detail = read.get(kind.revision, { name }, runtimeHealthOf);
    return detail === undefined ? undefined : { status: detail.status as Health['status'], message: detail.message };
  }

  function contentStatus(read: Reader, { spec }: RevisionObject, { content: { meta }, verified: by }: ReadyContent) {
    const reference = readReference(spec.image, settings.registry);
    const source = 'problem' in reference ? spec.image : reference.source;
    const dependencies = normalised(meta.dependsOn, settings.registry);
    const check = checkDependencies({ source, dependencies }, bySource(read.derived(installed, '')));
    return {
      dependencies: meta.dependsOn,
      foundDependencies: check.found,
      installedDependencies: check.installed,
      invalidDependencies: check.invalid,
      permissionRequests: meta.permissionRequests.length === 0 ? drop() : meta.permissionRequests,
      capabilities: meta.capabilities.length === 0 ? drop() : meta.capabilities,
      verified: by ?? drop(),
    };
  }

  /** One that shall be active is unpacked beforehand, so that it is known whether it can be. */
  function inactive(read: Reader, { metadata }: RevisionObject): Plan {
    const isCandidate = metadata.annotations?.[CANDIDATE_ANNOTATION] === 'true';
    const wasOurs = wasRunHere(read, metadata.name ?? '');
    const found = isCandidate ? read.derived(contents, contentKey(kind, metadata.name ?? '')) : undefined;
    const health: Health =
      found?.state === 'failed'
        ? { status: 'False', message: found.message }
        : { status: 'True', message: 'the revision is inactive' };
    return plan({
      conditions: [
        pausedCondition(false),
        ...(found === undefined ? [noCondition(unpacked.type)] : [unpacking(found)]),
        healthCondition(revisionHealthy, health),
        healthCondition(healthy, health),
        ...(own === undefined
          ? []
          : [healthCondition(runtimeHealthy, { status: 'True', message: 'the revision is inactive' })]),
        ...(found === undefined ? [] : [verification(found)]),
        ...(wasOurs ? LEFT_BEHIND : []),
      ],
      status: {
        ...(found === undefined ? {} : imageStatus(found)),
        ...(own === undefined ? {} : { runtime: own.name }),
        ...(wasOurs ? LEFT_FIELDS : {}),
      },
      events: found?.state === 'failed' ? eventsOf(found, health) : [],
    });
  }

  function runtimeStatus({ spec }: RevisionObject, runtime: RevisionRuntime | undefined) {
    if (own === undefined) return {};
    if (runtime?.state !== 'rendered') return { runtime: own.name };
    return {
      runtime: own.name,
      tlsServerSecretName: spec.tlsServerSecretName,
      tlsClientSecretName: spec.tlsClientSecretName,
      ...(runtime.rendered.endpoint === undefined ? {} : { endpoint: runtime.rendered.endpoint }),
    };
  }

  /** Pods without permissions do nothing, however well they run. */
  function permissionProblem(read: Reader, name: string): Health | undefined {
    if (kind !== PROVIDER || !settings.manageRbac) return undefined;
    const { isTrue, message } = read.get(kind.revision, { name }, permissionsRefusedOf) ?? {};
    const problem = isTrue ? message : read.writeProblem(PROVIDER_RBAC, name)?.message;
    return problem === undefined ? undefined : { status: 'False', message: problem };
  }

  /** Returns the problems of writes, by the half of the revision that they belong to. */
  function problemsOf(read: Reader, packageName: string) {
    const of = (half: string) => read.writeProblem(`${kind.name}-${half}`, packageName)?.message;
    return { payload: of('payload'), runtime: own === undefined ? undefined : of('runtime') };
  }

  /** Labels and annotations of the package itself, where they are not there yet. */
  function metaPatches({ metadata }: RevisionObject, found: RevisionContent) {
    if (found.state === 'failed') return [];
    const { labels, annotations } = found.content.meta;
    const set = [
      ...missing('labels', labels, metadata.labels),
      ...missing('annotations', annotations, metadata.annotations),
    ];
    return set.length === 0 ? [] : [patch(kind.revision, { name: metadata.name ?? '' }, set, { restore: false })];
  }
}

const permissionsRefusedOf = ({ status }: RevisionObject) => {
  const found = findCondition(status?.conditions, permissionsRefused.type);
  return { isTrue: found?.status === 'True', message: found?.message };
};

const runtimeNameOf = ({ status }: RevisionObject) => status?.runtime;

/**
 * Our conditions of a runtime before it got another owner: none of them is true of the other owner's runtime, and the other owner cannot
 * remove them.
 */
const LEFT_BEHIND = [noCondition(runtimeHealthy.type), noCondition(configWarning.type)];
const LEFT_FIELDS = { runtime: drop(), tlsServerSecretName: drop(), tlsClientSecretName: drop() };

/** Nothing is stopped for a user who may not have begun yet, and we have no right to it any more. */
function runsOn({ namespace }: Settings): EventInput {
  const note = `what ran for this revision until now runs on in the namespace ${namespace}, and its certificates are not renewed any more (they are valid for a year); delete its Deployment, Service and ServiceAccount when your controller has taken over`;
  return { reason: 'RuntimeRunsOn', note };
}

function missing(
  part: 'labels' | 'annotations',
  wanted: Readonly<Record<string, string>>,
  present: Readonly<Record<string, string>> = {},
) {
  return Object.entries(wanted).flatMap(([name, value]) =>
    present[name] === value || name.startsWith('capstan.dev/')
      ? []
      : [{ path: `/metadata/${part}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, value }],
  );
}

function imageStatus(found: RevisionContent) {
  const applied = found.settings?.applied ?? [];
  return {
    ...(found.resolvedImage === undefined ? {} : { resolvedImage: found.resolvedImage }),
    appliedImageConfigRefs: applied.length === 0 ? drop() : applied,
  };
}

function unpacking(found: RevisionContent): ConditionInput {
  return found.state === 'ready' ? unpacked.isTrue('Unpacked') : unpacked.isFalse('Refused', found.message);
}

function verification(found: RevisionContent): ConditionInput {
  if (found.state === 'failed')
    return found.reason === 'Verify'
      ? verified.isFalse('SignatureVerificationFailed', found.message)
      : noCondition(verified.type);
  if (found.verified === undefined) return noCondition(verified.type);
  return verified.isTrue('SignatureVerificationSucceeded', `verified by ${found.verified.authority}`);
}

function leftOut(found: RevisionContent): ConditionInput {
  const foreign = found.state === 'ready' ? (found.content.foreign ?? []) : [];
  if (foreign.length === 0) return noCondition(packageWarning.type);
  return packageWarning.isTrue('ForeignKinds', `left out: ${foreign.join('; ')}`);
}

function warnings(runtime: RevisionRuntime | undefined): ConditionInput[] {
  if (runtime === undefined) return [];
  if (runtime.ignored !== undefined) return [configWarning.isTrue('Ignored', runtime.ignored.message)];
  if (runtime.state === 'failed' || runtime.warnings.length === 0) return [noCondition(configWarning.type)];
  return [configWarning.isTrue('NoEffect', runtime.warnings.join('; '))];
}

const EVENT_REASONS = {
  Unpack: 'ParsePackage',
  Parse: 'LintPackage',
  Verify: 'ImageConfigSelection',
  Constraint: 'LintPackage',
} as const;

function eventsOf(found: RevisionContent, payload: Health & Partial<PayloadHealth>): EventInput[] {
  if (found.state === 'failed') return [{ type: 'Warning', reason: EVENT_REASONS[found.reason], note: found.message }];
  const lint: EventInput[] = (found.content.foreign ?? []).map((note) => ({
    type: 'Warning',
    reason: EVENT_REASONS.Parse,
    note: `left out: ${note}`,
  }));
  if (payload.isUnderWay) return lint;
  if (payload.status === 'False') return [...lint, { type: 'Warning', reason: 'SyncPackage', note: payload.message }];
  return [...lint, { reason: 'SyncPackage', note: 'the package’s objects are installed' }];
}
