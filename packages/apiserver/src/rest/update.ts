// Every change of an existing object goes through changeObject: PUT, the three kinds of patch, server-side apply, and the server's own
// controllers. It keeps the fields that clients may not change, detects no-ops, and ends a deletion when the last finalizer is gone.
import type { UnknownObject } from '@capstan/kube';
import { collectErrors } from '../bounded-errors.ts';
import type { Core, RequestContext } from '../core.ts';
import {
  badRequest,
  conflict,
  type FieldError,
  fieldInvalid,
  invalid,
  MODIFIED,
  notFound,
  unreadableRevision,
} from '../errors.ts';
import { equalJson, isObject } from '../json/copy.ts';
import { desiredStateChanged, finalizerWarnings, validateMeta, validateMetaUpdate } from '../resources/object-meta.ts';
import { inVersion, nameOf, reportedKind } from '../resources/resource.ts';
import { atOnce, inTurns, type Pause, type Steps } from '../steps.ts';
import { findNulls } from '../validation/builtin-validation.ts';
import { admissionRequest } from './admission-request.ts';
import { storeAbsent, stored, type Track, warn } from './create.ts';
import { checkKind, decodeInTurns, type Warnings } from './decode.ts';
import { removeStored } from './delete.ts';
import type { WriteOptions } from './options.ts';
import { reportedErrors } from './reported-errors.ts';
import { keyFor, type Target } from './target.ts';

/** PUT. */
export async function replaceObject(
  core: Core,
  target: Target,
  body: unknown,
  options: WriteOptions,
  context: RequestContext,
  warnings: Warnings,
): Promise<{ object: UnknownObject; created: boolean }> {
  const decoded = await decodeInTurns(core, target, body, options, context, warnings);
  checkName(target, decoded);
  const { resource } = target;
  const track = (live: UnknownObject | undefined) => (object: UnknownObject) =>
    core.fields.updating({ target, live, object, manager: options.fieldManager });
  if (!core.store.get(resource.storageKey, keyFor(target))) {
    const { uid = '', resourceVersion: asked = '' } = decoded.metadata;
    if (!resource.strategy.allowsCreateOnUpdate) throw notFound(nameOf(resource), target.name);
    if (uid !== '') throw wrongUid(target, uid, '', options.dryRun);
    if (target.subresource !== '') throw notFound(nameOf(resource), target.name);
    if (!/^\d*$/.test(asked)) throw unreadableRevision(asked);
    const made = await storeAbsent(core, target, decoded, options, context, track(undefined));
    if (made) return { object: made, created: true };
  }
  const conditional = !resource.strategy.allowsUnconditionalUpdate;
  const object = await changeObject(core, target, { ...options, context, conditional, isReplaced: true }, (live) => ({
    object: decoded,
    written: body,
    track: track(live),
  }));
  return { object, created: false };
}

export interface ChangeOptions {
  dryRun: boolean;
  context: RequestContext;
  /** The new object must name the resourceVersion that it was made from. */
  conditional: boolean;
  /** For who asks whether it may be; default none. */
  fieldManager?: string;
  fieldValidation?: WriteOptions['fieldValidation'];
  /** The object that admissions see in place of the changed one; default that object. */
  face?: Face;
  /** A PUT, in which a uid names the intended object; default false. */
  isReplaced?: boolean;
  /** A server-side apply, which has determined the owners; default false. */
  isApplied?: boolean;
  /** Whether admission has been asked about this already; default false. */
  isAdmitted?: boolean;
}

/** An object that stands for another one, or for a part of it. */
export interface Face {
  of(object: UnknownObject): UnknownObject;
  /** The object with the changes that a client made to its face. */
  applied(object: UnknownObject, face: UnknownObject): UnknownObject;
}

export interface Proposal {
  object: UnknownObject;
  /** The same as the client wrote it; default: nothing of it counts besides. */
  written?: unknown;
  /** Default: managedFields are set already. */
  track?: Track;
}

/** A patch of Kubernetes gives up after as many conflicts. */
const MAX_PAUSED_ATTEMPTS = 5;

/**
 * Changes an object to the result of `propose` for its present state (in the target's version). If the object changed while an admission
 * ran, it starts again; a proposal that names a resourceVersion is refused then.
 */
export async function changeObject(
  core: Core,
  target: Target,
  options: ChangeOptions,
  propose: (live: UnknownObject, pause: Pause) => Proposal | Promise<Proposal>,
): Promise<UnknownObject> {
  const { resource } = target;
  const key = keyFor(target);
  for (let attempt = 1; ; attempt += 1) {
    const old = core.store.get(resource.storageKey, key);
    if (!old) throw notFound(nameOf(resource), target.name);
    const isMoved = () => core.store.get(resource.storageKey, key) !== old;
    let hasPaused = false;
    const pause = () => {
      const paused = core.pause(options.context, old);
      hasPaused ||= paused !== undefined;
      return paused;
    };
    /** A large change of an object that others change all the time is refused at last. */
    const mustRetry = () => {
      if (!isMoved()) return false;
      if (hasPaused && attempt >= MAX_PAUSED_ATTEMPTS) throw conflict(nameOf(resource), target.name, MODIFIED);
      return true;
    };
    const live = inVersion(resource, target.version, old);
    const proposal = propose(live, pause);
    const { object: proposed, track, written } = proposal instanceof Promise ? await proposal : proposal;
    if (proposal instanceof Promise && mustRetry()) continue;
    checkPreconditions(target, proposed, live, options.conditional, options);
    const prepared = prepare(target, proposed, live, options.isApplied === true);
    const tracking = inTurns(tracked(prepared, track, live, proposed.metadata.deletionTimestamp), pause);
    let next = finish(target, tracking instanceof Promise ? await tracking : tracking, live);
    if (tracking instanceof Promise && mustRetry()) continue;
    if (options.isAdmitted === true) {
      const ready = checkChange(target, next, live, proposed.metadata.uid);
      return commit(core, target, key, atOnce(outcomeOf(core, target, { next: ready, live, written })), options.dryRun);
    }
    const { face } = options;
    const asked = (object: UnknownObject) =>
      admissionRequest(target, 'UPDATE', {
        object: face ? face.of(object) : object,
        old: face ? face.of(live) : live,
        options,
        context: options.context,
      });
    const admitted = core.admission?.(asked(next));
    if (admitted) {
      const changed = await admitted;
      if (changed) next = face ? face.applied(next, changed) : changed;
      if (mustRetry()) continue;
    }
    const { strategy } = resource;
    const isLarge = core.isLarge(options.context, old) && !strategy.complete;
    if (isLarge) {
      await pause();
      if (!resource.custom) findNulls(next);
      await pause();
      if (mustRetry()) continue;
    }
    const checkInSteps = strategy.checkInSteps ?? target.version.evaluateRules;
    const ruling = checkInSteps && inTurns(checkInSteps(next, live), core.pace(options.context));
    if (ruling instanceof Promise) {
      hasPaused = true;
      await ruling;
      if (mustRetry()) continue;
    }
    let ready = checkChange(target, next, live, proposed.metadata.uid);
    const waited = core.validatingAdmission?.(asked(ready)) ?? pause();
    if (waited) {
      await waited;
      if (mustRetry()) continue;
      // An address may have been taken meanwhile.
      if (strategy.complete) ready = checkChange(target, next, live, proposed.metadata.uid);
    }
    if (target.subresource === '' || (target.subresource === 'scale' && !resource.custom))
      warn(
        options.context,
        resource.custom ? finalizerWarnings(ready, live) : (strategy.warnings?.(ready, live) ?? []),
      );
    const steps = outcomeOf(core, target, { next: ready, live, written }, isLarge);
    const outcome = isLarge ? inTurns(steps, pause) : atOnce(steps);
    if (!(outcome instanceof Promise)) return commit(core, target, key, outcome, options.dryRun);
    const reached = await outcome;
    if (mustRetry()) continue;
    return commit(core, target, key, reached, options.dryRun);
  }
}

/** A client that writes another time of deletion owns it, although the time stays the same. */
function* tracked(
  prepared: UnknownObject,
  track: Track | undefined,
  live: UnknownObject,
  written: string | undefined,
): Steps<UnknownObject> {
  if (!track) return prepared;
  yield;
  const { deletionTimestamp } = live.metadata;
  if (deletionTimestamp === undefined || written === undefined || written === deletionTimestamp) {
    return yield* track(prepared);
  }
  const object = yield* track({ ...prepared, metadata: { ...prepared.metadata, deletionTimestamp: written } });
  return { ...object, metadata: { ...object.metadata, deletionTimestamp } };
}

/** Returns the object with the values that only the store can determine, or a refusal. */
function checkChange(target: Target, wanted: UnknownObject, live: UnknownObject, uid?: string): UnknownObject {
  const { resource } = target;
  checkKind(resource, wanted);
  const complete = target.subresource === '' ? resource.strategy.complete : undefined;
  const { object: next, errors: unmet } = complete?.(wanted, live) ?? { object: wanted, errors: [] };
  const identity = [
    ...validateMetaUpdate(next, live),
    ...(uid !== undefined && uid !== '' && uid !== live.metadata.uid
      ? [fieldInvalid('metadata.uid', uid, 'field is immutable')]
      : []),
  ];
  const all = collectErrors(() => {
    // The kind's own rules for metadata, the names of finalizers, are checked after the immutable fields.
    const ofMeta = validateMeta(resource, next);
    const isOfKind = ({ field }: FieldError) => field.startsWith('metadata.finalizers[');
    const found = [...ofMeta.filter((one) => !isOfKind(one)), ...identity, ...ofMeta.filter(isOfKind)];
    const errors = [
      ...target.version.validate(next, live, target.subresource, found),
      ...(resource.strategy.validate?.(next, live) ?? []),
    ];
    return reportedErrors(resource, found, errors, unmet, false);
  });
  if (all.length > 0) throw invalid(reportedKind(resource), target.name, all);
  return next;
}

interface Change {
  next: UnknownObject;
  live: UnknownObject;
  written: unknown;
}

/** The result of a change: the object is as it was, it is gone, or it is to be stored. */
type Outcome =
  | { readonly is: 'same' | 'gone'; readonly object: UnknownObject }
  | { readonly is: 'changed'; readonly stored: UnknownObject };

function* outcomeOf(core: Core, target: Target, { next, live, written }: Change, isLarge = false): Steps<Outcome> {
  const { resource } = target;
  const untimed = withoutTimes(live);
  const isSame = (object: UnknownObject) => equalJson(withoutTimes(object), untimed);
  const isRewritten = resource.strategy.countsEmpty === true && target.subresource === '' && hasEmptyPart(written);
  yield;
  if (!isRewritten) {
    if (isSame(next)) return { is: 'same', object: live };
    yield;
    const kept = resource.custom ? next : stored(target, next);
    if (kept !== next && isSame(kept)) return { is: 'same', object: live };
    yield;
  }
  const counted = withGeneration(target, next, live, isRewritten);
  if (isGone(target, counted)) return { is: 'gone', object: counted };
  yield;
  const kept = stored(target, counted);
  if (isLarge) yield* core.store.prepare(kept);
  return { is: 'changed', stored: kept };
}

function commit(core: Core, target: Target, key: string, outcome: Outcome, dryRun: boolean): UnknownObject {
  const { resource } = target;
  if (outcome.is !== 'changed') {
    if (outcome.is === 'gone' && !dryRun) removeStored(core, target, key);
    return outcome.object;
  }
  // Whatever has to be asked for is asked for before anything is stored.
  if (dryRun || target.version.isConverted) {
    const shown = inVersion(resource, target.version, outcome.stored);
    if (dryRun) return shown;
  }
  const result = core.store.put(resource.storageKey, key, outcome.stored);
  return inVersion(resource, target.version, result);
}

/** A new time in the managed fields alone is no change of the object. */
function withoutTimes(object: UnknownObject): UnknownObject {
  const { managedFields } = object.metadata;
  if (!managedFields) return object;
  const untimed = managedFields.map((entry) => ({ ...entry, time: '' }));
  return { ...object, metadata: { ...object.metadata, managedFields: untimed } };
}

/** A deletion is over when no finalizer is left, the grace period is zero and the kind does not hold the object. */
export function isGone({ resource }: Target, object: UnknownObject): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false;
  return (metadata.deletionGracePeriodSeconds ?? 0) === 0 && resource.strategy.isHeld?.(object) !== true;
}

function checkPreconditions(
  target: Target,
  proposed: UnknownObject,
  live: UnknownObject,
  conditional: boolean,
  { isReplaced, dryRun }: Pick<ChangeOptions, 'isReplaced' | 'dryRun'>,
) {
  const { resource, name } = target;
  const { uid = '', resourceVersion = '' } = proposed.metadata;
  if (isReplaced && uid !== '' && uid !== live.metadata.uid) {
    throw wrongUid(target, uid, live.metadata.uid ?? '', dryRun);
  }
  if (!/^\d*$/.test(resourceVersion)) throw unreadableRevision(resourceVersion);
  if (resourceVersion === '' || resourceVersion === '0') {
    if (!conditional) return;
    throw invalid({ group: resource.group, kind: resource.plural }, name, [
      // The zero is how Kubernetes prints the version that is not there.
      {
        ...fieldInvalid('metadata.resourceVersion', 0, ''),
        message: 'Invalid value: 0: must be specified for an update',
      },
    ]);
  }
  if (resourceVersion !== live.metadata.resourceVersion) throw conflict(nameOf(resource), name, MODIFIED);
}

/** Kubernetes lets its storage speak here. */
function wrongUid({ resource, namespace, name }: Target, asked: string, found: string, dryRun: boolean) {
  const parts = [dryRun ? '' : '/registry', registryFolder(resource), ...(namespace === '' ? [] : [namespace]), name];
  const detail = `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${found}`;
  const why = `StorageError: invalid object, Code: 4, Key: ${parts.join('/')}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`;
  return conflict(nameOf(resource), name, why);
}

/** Where etcd would keep a resource; some are older than their names. */
function registryFolder({ custom, group, plural }: Target['resource']): string {
  return custom || group === 'apiextensions.k8s.io' ? `${group}/${plural}` : (OLD_FOLDERS[plural] ?? plural);
}

const OLD_FOLDERS: Readonly<Record<string, string>> = {
  services: 'services/specs',
  endpoints: 'services/endpoints',
  nodes: 'minions',
  ingresses: 'ingress',
};

/** Takes from the live object whatever this endpoint may not change. */
function prepare(target: Target, proposed: UnknownObject, live: UnknownObject, isApplied: boolean): UnknownObject {
  const { version, subresource } = target;
  const now = live.metadata;
  const kept = {
    name: now.name,
    ...(now.namespace !== undefined && { namespace: now.namespace }),
    uid: now.uid,
    resourceVersion: now.resourceVersion,
    creationTimestamp: now.creationTimestamp,
    ...(now.generation !== undefined && { generation: now.generation }),
    ...(now.deletionTimestamp !== undefined && { deletionTimestamp: now.deletionTimestamp }),
  };
  const { generation: _, ...given } = proposed.metadata;
  const metadata = { ...given, ...kept };
  // Another value than before is refused.
  const grace = given.deletionGracePeriodSeconds ?? now.deletionGracePeriodSeconds;
  if (grace !== undefined) metadata.deletionGracePeriodSeconds = grace;
  if (!isApplied && proposed.metadata.managedFields === undefined && now.managedFields !== undefined) {
    metadata.managedFields = now.managedFields;
  }
  if (subresource === 'status') return statusOnly(target, { ...proposed, metadata }, live);
  let object: UnknownObject = { ...proposed, metadata };
  if (version.hasStatus && subresource !== 'binding') {
    const { status: _status, ...rest } = object;
    object = live['status'] === undefined ? rest : { ...rest, status: live['status'] };
  }
  return object;
}

/** Adds the kind's own changes, after field ownership is recorded: these changes have no owner. */
function finish({ resource, subresource }: Target, object: UnknownObject, live: UnknownObject): UnknownObject {
  if (subresource === 'status') return resource.strategy.prepareStatus?.(object, live) ?? object;
  return resource.strategy.prepareUpdate?.(object, live, subresource) ?? object;
}

// Kubernetes' own kinds let a status write change metadata too (kubelets annotate nodes so), Deployments all but labels; custom
// resources take nothing but the status.
function statusOnly({ resource }: Target, proposed: UnknownObject, live: UnknownObject): UnknownObject {
  const { status: _, ...rest } = live;
  const status = proposed['status'] === undefined ? {} : { status: proposed['status'] };
  const { labels, managedFields: _fields, ...others } = resource.custom ? live.metadata : proposed.metadata;
  const kept = resource.plural === 'deployments' && !resource.custom ? live.metadata.labels : labels;
  const metadata = {
    ...others,
    ...(kept && { labels: kept }),
    ...(proposed.metadata.managedFields && { managedFields: proposed.metadata.managedFields }),
  };
  return { ...rest, metadata, ...status };
}

/** Whether the desired state has an empty list or map: for Go it differs from an absent one, and storage keeps it as absent. */
function hasEmptyPart(value: unknown, name = ''): boolean {
  if (Array.isArray(value)) return value.length === 0 || value.some((one) => hasEmptyPart(one));
  if (!isObject(value) || name === 'metadata' || name === 'status') return false;
  const parts = Object.entries(value);
  return parts.length === 0 ? name === 'matchLabels' : parts.some(([field, part]) => hasEmptyPart(part, field));
}

function withGeneration(target: Target, next: UnknownObject, live: UnknownObject, isRewritten: boolean): UnknownObject {
  const { resource, version, subresource } = target;
  // Neither the scheduler's decision nor a status changes the desired state.
  if (subresource === 'binding' || subresource === 'status') return next;
  // That of a PriorityClass stays where it began.
  if (!resource.strategy.countsGeneration || resource.group === 'scheduling.k8s.io') return next;
  // A Deployment's annotations are copied to its ReplicaSets.
  const isNoted =
    !resource.custom &&
    resource.plural === 'deployments' &&
    !equalJson(next.metadata.annotations ?? {}, live.metadata.annotations ?? {});
  const isRelabelled =
    resource.group === 'discovery.k8s.io' && !equalJson(next.metadata.labels ?? {}, live.metadata.labels ?? {});
  const statusCounts = resource.custom && !version.hasStatus && !equalJson(next['status'], live['status']);
  if (!isRewritten && !statusCounts && !isNoted && !isRelabelled && !desiredStateChanged(next, live)) return next;
  return { ...next, metadata: { ...next.metadata, generation: (live.metadata.generation ?? 0) + 1 } };
}

export function checkName({ name }: Target, object: UnknownObject): void {
  const given = object.metadata.name ?? '';
  if (given === name) return;
  if (given === '')
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
}
