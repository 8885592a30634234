import type { UnknownObject } from '@capstan/kube';
import { collectErrors } from '../bounded-errors.ts';
import { type AdmissionRequest, type Core, newUid, type RequestContext, timestamp } from '../core.ts';
import { alreadyExists, badRequest, forbidden, invalid, methodNotAllowed, notFound, StatusError } from '../errors.ts';
import { generateName } from '../resources/names.ts';
import { finalizerWarnings, validateMeta } from '../resources/object-meta.ts';
import { inVersion, nameOf, reportedKind } from '../resources/resource.ts';
import { inTurns, type Steps } from '../steps.ts';
import { findNulls } from '../validation/builtin-validation.ts';
import { admissionRequest } from './admission-request.ts';
import { checkKind, decodeInTurns, type Warnings } from './decode.ts';
import type { WriteOptions } from './options.ts';
import { reportedErrors } from './reported-errors.ts';
import { keyFor, type Target } from './target.ts';

const GENERATE_ATTEMPTS = 8;

/** Sets managedFields, once the server's own fields are in place. */
export type Track = (object: UnknownObject) => Steps<UnknownObject>;

/** POST: decodes the object, fills in the server's fields, and stores it. */
export async function createObject(
  core: Core,
  target: Target,
  body: unknown,
  options: WriteOptions,
  context: RequestContext,
  warnings: Warnings,
): Promise<UnknownObject> {
  const decoded = await decodeInTurns(core, target, body, options, context, warnings);
  if (target.name !== '' && decoded.metadata.name !== target.name) throw methodNotAllowed();
  if ((decoded.metadata.resourceVersion ?? '') !== '') {
    // Kubernetes allocates the addresses of a Service first.
    const { errors = [] } = target.resource.strategy.complete?.(decoded, undefined) ?? {};
    if (errors.length > 0) throw invalid(reportedKind(target.resource), decoded.metadata.name ?? '', errors);
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  return storeNew(core, target, decoded, options, context, (object) =>
    core.fields.updating({ target, live: undefined, object, manager: options.fieldManager }),
  );
}

/** The common end of POST, of apply to an absent object and of PUT where it may create. Without `track`, managedFields are set already. */
export async function storeNew(
  core: Core,
  target: Target,
  decoded: UnknownObject,
  options: WriteOptions,
  context: RequestContext,
  track: Track | undefined,
): Promise<UnknownObject> {
  const pause = () => core.pause(context);
  const { resource, version } = target;
  checkNamespace(core, target, decoded.metadata.name ?? '');
  if (resource.terminating) {
    throw forbidden(
      nameOf(resource),
      decoded.metadata.name ?? '',
      'create not allowed while custom resource definition is terminating',
    );
  }
  const { strategy } = resource;
  let object = withSystemFields(core, target, decoded, options.dryRun);
  if (version.hasStatus && strategy.keepsStatus !== true) {
    const { status: _, ...rest } = object;
    object = version.emptyStatus === undefined ? rest : { ...rest, status: version.emptyStatus };
  }
  // The server's own fields have no owner, and neither has a status in the request.
  const { status, ...rest } = object;
  const isKept = version.hasStatus && strategy.keepsStatus === true && status !== undefined;
  const untracked = isKept ? rest : object;
  const tracking = track ? inTurns(track(untracked), pause) : untracked;
  const tracked = tracking instanceof Promise ? await tracking : tracking;
  object = isKept ? { ...tracked, status } : tracked;
  if (strategy.prepareCreate) object = strategy.prepareCreate(object);
  if (strategy.admit) object = strategy.admit(object);
  const asked = (candidate: UnknownObject): AdmissionRequest =>
    admissionRequest(target, 'CREATE', { object: candidate, options, context });
  const admitted = core.admission?.(asked(object));
  if (admitted) object = (await admitted) ?? object;
  const { object: drawn, key } = nameObject(core, target, object);
  if (core.isLarge(context)) {
    await pause();
    if (!resource.custom) findNulls(drawn);
    await pause();
  }
  const checkInSteps = strategy.checkInSteps ?? version.evaluateRules;
  const ruling = checkInSteps && inTurns(checkInSteps(drawn, undefined), core.pace(context));
  if (ruling instanceof Promise) await ruling;
  let ready = checkNew(core, target, key, drawn, context);
  const waited = core.validatingAdmission?.(asked(ready)) ?? pause();
  if (waited) await waited;
  // An address may have been taken meanwhile. The rules, which know the object alone, hold as before.
  if (waited && strategy.complete) ready = checkNew(core, target, key, drawn, context);
  const next = stored(target, ready);
  const isPrepared = core.isLarge(context) && !strategy.complete;
  const prepared = isPrepared ? inTurns(core.store.prepare(next), pause) : undefined;
  if (prepared) await prepared;
  if (waited || prepared || ruling instanceof Promise) {
    checkNamespace(core, target, decoded.metadata.name ?? '');
    checkAbsent(core, target, key, ready);
  }
  // Whatever has to be asked for is asked for before anything is stored.
  if (options.dryRun || version.isConverted) {
    const shown = inVersion(resource, version, next);
    if (options.dryRun) return shown;
  }
  return core.store.put(resource.storageKey, key, next);
}

/**
 * Returns the object with the values that only the store can determine, or a refusal. The rest of the same step finds the store unchanged.
 */
function checkNew(
  core: Core,
  target: Target,
  key: string,
  drawn: UnknownObject,
  context: RequestContext,
): UnknownObject {
  const { resource, version } = target;
  const { strategy } = resource;
  checkKind(resource, drawn);
  const { object, errors: unmet } = strategy.complete?.(drawn, undefined) ?? { object: drawn, errors: [] };
  const all = collectErrors(() => {
    const found = validateMeta(resource, object);
    const ofContent = version.validate(object, undefined, '', found);
    return reportedErrors(
      resource,
      found,
      [...ofContent, ...(strategy.validate?.(object, undefined) ?? [])],
      unmet,
      true,
    );
  });
  if (all.length > 0) throw invalid(reportedKind(resource), object.metadata.name ?? '', all);
  warn(context, resource.custom ? finalizerWarnings(object) : (strategy.warnings?.(object, undefined) ?? []));
  checkAbsent(core, target, key, object);
  return object;
}

function checkAbsent(core: Core, { resource }: Target, key: string, { metadata }: UnknownObject): void {
  const present = core.store.get(resource.storageKey, key);
  if (!present) return;
  const isDrawn = (metadata.generateName ?? '') !== '';
  const isGoing = present.metadata.deletionTimestamp !== undefined;
  throw alreadyExists(nameOf(resource), metadata.name ?? '', { isDrawn, isGoing });
}

/** The same for PUT and apply on an object that is missing: undefined when another client created it during admission. */
export async function storeAbsent(...asked: Parameters<typeof storeNew>): Promise<UnknownObject | undefined> {
  const [core, target] = asked;
  try {
    return await storeNew(...asked);
  } catch (error) {
    const isRace = error instanceof StatusError && error.status.reason === 'AlreadyExists';
    if (isRace && core.store.get(target.resource.storageKey, keyFor(target))) return undefined;
    throw error;
  }
}

/** The object in the version in which it is stored. */
export function stored({ resource, version }: Target, object: UnknownObject): UnknownObject {
  if (version.toStored) return version.toStored(object);
  const apiVersion = resource.group === '' ? resource.storageVersion : `${resource.group}/${resource.storageVersion}`;
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

export function warn({ warnings }: RequestContext, texts: readonly string[]): void {
  for (const text of texts) warnings?.add(text);
}

function withSystemFields(core: Core, { resource }: Target, object: UnknownObject, dryRun: boolean): UnknownObject {
  const {
    resourceVersion,
    generation,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    ...given
  } = object.metadata;
  const metadata = {
    ...given,
    // A dry run returns the resourceVersion that it was given, because nothing is stored that would replace it.
    ...(dryRun && resourceVersion !== undefined && { resourceVersion }),
    uid: newUid(core.random),
    creationTimestamp: timestamp(core.clock),
    ...(resource.strategy.countsGeneration ? { generation: 1 } : generation && { generation }),
  };
  return { ...object, metadata };
}

// A generated name that is taken is drawn again; after eight times the client hears AlreadyExists and may retry.
function nameObject(core: Core, target: Target, object: UnknownObject): { object: UnknownObject; key: string } {
  const { name = '', generateName: prefix = '' } = object.metadata;
  if (name !== '') return { object, key: keyFor(target, name) };
  // Validation reports the missing name, together with all other errors.
  if (prefix === '') return { object, key: keyFor(target, '') };
  let drawn = '';
  for (let attempt = 0; attempt < GENERATE_ATTEMPTS; attempt += 1) {
    drawn = generateName(prefix, core.random);
    if (!core.store.get(target.resource.storageKey, keyFor(target, drawn))) break;
  }
  return { object: { ...object, metadata: { ...object.metadata, name: drawn } }, key: keyFor(target, drawn) };
}

function checkNamespace(core: Core, { resource, namespace }: Target, name: string): void {
  if (!core.checkNamespaces || !resource.namespaced) return;
  const owner = core.store.get('/namespaces', namespace);
  if (!owner) throw notFound({ group: '', resource: 'namespaces' }, namespace);
  if (owner.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    nameOf(resource),
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}
