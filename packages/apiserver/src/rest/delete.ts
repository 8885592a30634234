import type { UnknownObject } from '@capstan/kube';
import { type Core, type RequestContext, timestamp } from '../core.ts';
import {
  badRequest,
  conflict,
  type FieldError,
  fieldInvalid,
  fieldNotSupported,
  forbidden,
  invalid,
  notFound,
  type Status,
} from '../errors.ts';
import { isObject } from '../json/copy.ts';
import { inVersion, nameOf, type Resource, reportedKind } from '../resources/resource.ts';
import { inTurns } from '../steps.ts';
import { admissionRequest } from './admission-request.ts';
import { stored } from './create.ts';
import { jsonType } from './decode.ts';
import { dryRunOf, isTrue, type ListOptions, valuesOf, wholeNumber } from './options.ts';
import { selectObjects } from './read.ts';
import type { Rendering } from './render.ts';
import { keyFor, type Target } from './target.ts';

export interface DeleteOptions {
  dryRun: boolean;
  gracePeriodSeconds: number | undefined;
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan' | undefined;
  uid: string | undefined;
  resourceVersion: string | undefined;
}

/** DeleteOptions come in the body or in the query. Where there is a body, the query is not read. */
export function deleteOptions(body: unknown, asked: Readonly<Record<string, string>>): DeleteOptions {
  const query = body === undefined ? asked : {};
  if (body !== undefined && body !== null && !isObject(body))
    throw badRequest('the body is not a DeleteOptions object');
  const given: Record<string, unknown> = isObject(body) ? body : {};
  const { kind = 'DeleteOptions' } = given;
  const apiVersion = given['apiVersion'] || 'meta.k8s.io/v1';
  if (kind !== 'DeleteOptions') {
    throw badRequest(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  for (const [field, type] of Object.entries(OPTION_TYPES)) {
    const value = given[field];
    const [found, go] = [jsonType(value), type];
    if (value === undefined || value === null || found === OPTION_JSON[go]) continue;
    throw badRequest(`json: cannot unmarshal ${found} into Go struct field DeleteOptions.${field} of type ${go}`);
  }
  const preconditions = isObject(given['preconditions']) ? given['preconditions'] : {};
  const errors: FieldError[] = [];
  const policy = given['propagationPolicy'] ?? query['propagationPolicy'];
  const ofQuery = query['orphanDependents'] === undefined ? undefined : isTrue(query, 'orphanDependents');
  const orphan = given['orphanDependents'] ?? ofQuery;
  if (orphan !== undefined && policy !== undefined) {
    errors.push(
      fieldInvalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  }
  if (policy !== undefined && !isPolicy(policy)) {
    errors.push(fieldNotSupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']));
  }
  const dryRun = dryRunOf((given['dryRun'] as unknown[] | undefined) ?? valuesOf(query['dryRun']), errors);
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const grace = given['gracePeriodSeconds'] ?? wholeNumber(query, 'gracePeriodSeconds');
  const orphaned = orphan === true ? 'Orphan' : undefined;
  return {
    dryRun,
    gracePeriodSeconds: grace === undefined ? undefined : Number(grace),
    propagationPolicy: isPolicy(policy) ? policy : orphaned,
    uid: textOf(preconditions['uid']) ?? (query['uid'] || undefined),
    resourceVersion: textOf(preconditions['resourceVersion']) ?? (query['resourceVersion'] || undefined),
  };
}

const OPTION_TYPES: Readonly<Record<string, string>> = {
  gracePeriodSeconds: 'int64',
  propagationPolicy: 'v1.DeletionPropagation',
  orphanDependents: 'bool',
  dryRun: '[]string',
  preconditions: 'v1.Preconditions',
};
const OPTION_JSON: Readonly<Record<string, string>> = {
  int64: 'number',
  'v1.DeletionPropagation': 'string',
  bool: 'bool',
  '[]string': 'array',
  'v1.Preconditions': 'object',
};

/** DELETE: the object, when it lingers; a Success status when it is gone. `isAdmitted`: admission has been asked. */
export async function deleteObject(
  core: Core,
  target: Target,
  options: DeleteOptions,
  context: RequestContext,
  isAdmitted = false,
): Promise<UnknownObject | Status> {
  const { resource } = target;
  const key = keyFor(target);
  for (;;) {
    const object = core.store.get(resource.storageKey, key);
    if (!object) throw notFound(nameOf(resource), target.name);
    checkDeletion(target, object, options);
    const refusal = resource.strategy.refuseDelete?.(object);
    if (refusal !== undefined) throw forbidden(nameOf(resource), target.name, refusal);
    const old = inVersion(resource, target.version, object);
    if (!isAdmitted) {
      const request = admissionRequest(target, 'DELETE', { old, options, context });
      const admitted = core.admission?.(request);
      if (admitted) await admitted;
      const validated = core.validatingAdmission?.(request);
      if (validated) await validated;
      if (core.store.get(resource.storageKey, key) !== object) continue;
    }
    return removeOrMark(core, target, key, object, options);
  }
}

function removeOrMark(core: Core, target: Target, key: string, object: UnknownObject, options: DeleteOptions) {
  const { resource } = target;
  if (resource.strategy.markDeleted && object.metadata.deletionTimestamp === undefined) {
    const marked = resource.strategy.markDeleted(object, timestamp(core.clock));
    return options.dryRun ? marked : core.store.put(resource.storageKey, key, stored(target, marked));
  }
  // Nothing can belong to an event, so there is nothing to be done first.
  const isAlone = resource.storageKey === '/events';
  const finalizers = finalizersFor(object, isAlone ? undefined : options.propagationPolicy);
  const grace = resource.strategy.gracePeriod?.(object, options.gracePeriodSeconds) ?? 0;
  if (finalizers.length === 0 && grace === 0 && resource.strategy.isHeld?.(object) !== true) {
    // An object with a grace period is shown as it stops, and watchers see it before it is gone.
    const last = resource.strategy.gracePeriod ? markDeleted(core, resource, object, [], 0) : object;
    if (!options.dryRun) {
      if (last !== object) core.store.put(resource.storageKey, key, stored(target, last));
      removeStored(core, target, key);
    }
    if (resource.strategy.returnsDeleted !== true) return success(target, object);
    // The deletion has a revision of its own.
    const resourceVersion = options.dryRun ? object.metadata.resourceVersion : String(core.store.revision);
    return { ...last, metadata: { ...last.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
  }
  const marked = markDeleted(core, resource, object, finalizers, grace);
  if (marked === object) return object;
  if (options.dryRun) return marked;
  return core.store.put(resource.storageKey, key, stored(target, marked));
}

const NO_OPTIONS: DeleteOptions = {
  dryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  uid: undefined,
  resourceVersion: undefined,
};

/** Removes an object from the store. The Endpoints of a Service go with it, whichever client made them, so that the next one of its name gets its own. */
export function removeStored(core: Core, { resource, namespace, name }: Target, key: string): void {
  core.store.remove(resource.storageKey, key);
  if (resource.storageKey !== '/services') return;
  const endpoints = core.store.get('/endpoints', key);
  const served = core.registry.find('', 'v1', 'endpoints');
  if (!endpoints || !served) return;
  removeOrMark(core, { ...served, namespace, name, subresource: '' }, key, endpoints, NO_OPTIONS);
}

/**
 * DELETE of a collection: every object that is selected, each like a delete of its own. With a limit it is the first ones, and the answer has the
 * token of the others. The first refusal ends it.
 */
export async function deleteCollection(
  core: Core,
  target: Target,
  list: ListOptions,
  options: DeleteOptions,
  context: RequestContext,
  rendering: Rendering,
) {
  const pause = core.pace(context);
  const { metadata, objects } = await inTurns(selectObjects(core, target, list), pause);
  for (const { metadata: own } of objects) {
    const paused = pause();
    if (paused) await paused;
    const one = { ...target, name: own.name ?? '', namespace: own.namespace ?? '' };
    // Another client may have removed it meanwhile.
    if (core.store.get(one.resource.storageKey, keyFor(one))) await deleteObject(core, one, options, context);
  }
  return inTurns(rendering.list(metadata, objects), pause);
}

/** Throws Conflict when the object is not the one that is meant. */
export function checkDeletion(
  { resource, name }: Target,
  { metadata }: UnknownObject,
  { uid, resourceVersion }: Pick<DeleteOptions, 'uid' | 'resourceVersion'>,
) {
  // Kubernetes names the kind here, where it names the resource elsewhere.
  const refuse = (what: string, asked: string, found: string | undefined, perhaps: string) =>
    conflict(
      { group: reportedKind(resource).group, resource: resource.kind },
      name,
      `the ${what} in the precondition (${asked}) does not match the ${what} in record (${found}). The object might have been ${perhaps}`,
    );
  if (uid !== undefined && uid !== metadata.uid) throw refuse('UID', uid, metadata.uid, 'deleted and then recreated');
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse('ResourceVersion', resourceVersion, metadata.resourceVersion, 'modified');
  }
}

/** The policy is written down as a finalizer, which the garbage collector takes away when it has done its part. */
function finalizersFor({ metadata }: UnknownObject, policy: DeleteOptions['propagationPolicy']): string[] {
  const present = metadata.finalizers ?? [];
  if (policy === undefined) return present;
  const others = present.filter((one) => one !== 'orphan' && one !== 'foregroundDeletion');
  if (policy === 'Orphan') return [...others, 'orphan'];
  return policy === 'Foreground' ? [...others, 'foregroundDeletion'] : others;
}

function markDeleted(
  core: Core,
  resource: Resource,
  object: UnknownObject,
  finalizers: readonly string[],
  grace: number,
): UnknownObject {
  const now = object.metadata;
  const unchanged =
    finalizers.length === (now.finalizers ?? []).length && finalizers.every((one) => now.finalizers?.includes(one));
  const shorter = now.deletionGracePeriodSeconds !== undefined && grace < now.deletionGracePeriodSeconds;
  if (now.deletionTimestamp !== undefined && unchanged && !shorter) return object;
  const first = now.deletionTimestamp === undefined;
  return {
    ...(resource.strategy.prepareDelete?.(object) ?? object),
    metadata: {
      ...now,
      ...(finalizers.length > 0 && { finalizers: [...finalizers] }),
      ...((first || shorter) && {
        deletionTimestamp: timestamp(core.clock, grace * 1000),
        // The contents of a held object need no seconds.
        ...(resource.strategy.isHeld === undefined && { deletionGracePeriodSeconds: grace }),
      }),
      ...(first && now.generation !== undefined && { generation: now.generation + 1 }),
    },
  };
}

function success({ resource, name }: Target, { metadata }: UnknownObject): Status {
  const { group, plural } = resource;
  const uid = metadata.uid === undefined ? {} : { uid: metadata.uid };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group !== '' && { group }), kind: plural, ...uid },
  };
}

function isPolicy(value: unknown): value is 'Background' | 'Foreground' | 'Orphan' {
  return value === 'Background' || value === 'Foreground' || value === 'Orphan';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
