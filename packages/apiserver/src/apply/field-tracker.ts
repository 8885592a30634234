// The owners of fields. Every write goes through here: an apply owns exactly the fields that it contains, any other write owns the fields
// that it changed. https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
import type { ObjectMeta, UnknownObject } from '@capstan/kube';
import { applyConflict, type StatusCause } from '../errors.ts';
import type { JsonObject } from '../json/copy.ts';
import { apiVersionOf } from '../resources/resource.ts';
import type { Target } from '../rest/target.ts';
import { atOnce, type Steps } from '../steps.ts';
import { type Comparison, compare, isSame } from './compare.ts';
import { difference, EMPTY, type FieldSet, intersection, isEmpty, pathsOf, printPath, union } from './field-set.ts';
import { KUBECTL, lastApplied } from './last-applied.ts';
import {
  type DecodeCache,
  decodeManagers,
  encodeManagers,
  type Manager,
  type Managers,
  managerId,
} from './managers.ts';
import { mergeTyped } from './merge.ts';
import { removeFields } from './remove.ts';
import { toFieldSet, withNamedFields } from './to-field-set.ts';
import { DEDUCED, type TypeSchema } from './type-schema.ts';

/** Keeps metadata.managedFields true. */
export interface FieldTracker {
  /** After a write that is not an apply: returns the object with managedFields in which the manager owns the changed fields. */
  update(write: TrackedWrite): UnknownObject;
  /** The same in steps. */
  updating(write: TrackedWrite): Steps<UnknownObject>;
  /** Server-side apply: returns the resulting object with managedFields; throws Conflict unless forced. */
  apply(write: TrackedApply): UnknownObject;
  /** The same in steps. */
  applying(write: TrackedApply): Steps<UnknownObject>;
}

export interface TrackedWrite {
  target: Target;
  /** As it is stored; undefined when the object is new. */
  live: UnknownObject | undefined;
  object: UnknownObject;
  manager: string;
  /** The time is not noted: so it is with scales. Default false. */
  isTimeless?: boolean;
  /** Changed fields have no owner afterwards, as after a scale to zero. Default false. */
  isUnowned?: boolean;
}

export interface TrackedApply {
  target: Target;
  live: UnknownObject | undefined;
  /** The object that the client sent. */
  applied: UnknownObject;
  manager: string;
  force: boolean;
}

/** Beyond this many Update managers the oldest become one. */
const MAX_UPDATERS = 10;
const ANCIENT = 'ancient-changes';
const BEFORE_FIRST_APPLY = 'before-first-apply';

export function createFieldTracker(now: () => string): FieldTracker {
  const cache: DecodeCache = new WeakMap();

  /** To each of the two faces of an event, who wrote it as the other one is not known, and is forgotten. */
  const managersOf = (entries: ObjectMeta['managedFields'], { resource }: Target) => {
    if (resource.storageKey !== '/events') return decodeManagers(entries, cache);
    const isKnown = (apiVersion = '') => (apiVersion.split('/')[1] === undefined) === (resource.group === '');
    return decodeManagers(
      entries?.filter((entry) => isKnown(entry.apiVersion)),
      cache,
    );
  };

  const store = (object: UnknownObject, managers: Managers): UnknownObject => {
    const entries = encodeManagers(capped(managers), cache);
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata: entries.length > 0 ? { ...metadata, managedFields: entries } : metadata };
  };

  function* updated(write: TrackedWrite, managers: Managers): Steps<Managers> {
    const { target, live, object } = write;
    const type = typeOf(target);
    const comparison = compare(type, owned(live ?? EMPTY_OBJECT), owned(object));
    yield;
    const taken = union(comparison.modified, comparison.added);
    const result = new Map(without(managers, taken, comparison.removed));
    yield;
    if (isEmpty(taken) || write.isUnowned === true) return result;
    const base = identity(target, write.manager, 'Update');
    const id = managerId(base);
    const time = write.isTimeless === true ? undefined : now();
    result.set(id, { ...base, time, set: union(result.get(id)?.set ?? EMPTY, taken) });
    yield;
    return result;
  }

  const tracker: FieldTracker = {
    update: (write) => atOnce(tracker.updating(write)),
    apply: (write) => atOnce(tracker.applying(write)),

    *updating(write) {
      const { live, object, target } = write;
      const given = object.metadata.managedFields;
      if (live && (live.metadata.managedFields ?? []).length === 0 && (given ?? []).length === 0) {
        return given ? store(object, new Map()) : object;
      }
      let managers = managersOf(live?.metadata.managedFields, target);
      if (target.subresource === '' && given !== undefined) {
        // An empty list, or one empty entry, asks for a fresh start; clients who do not know of them send no list at all.
        const isNone = given.length === 0 && !target.resource.custom;
        const reset = isNone || (given.length === 1 && Object.keys(given[0] ?? {}).length === 0);
        const own = managersOf(given, target);
        if (reset) return store(object, new Map());
        if (own.size > 0) managers = own;
      }
      const result = yield* updated(write, managers);
      return store(object, result);
    },

    *applying({ target, live, applied, manager, force }) {
      const type = typeOf(target);
      const config = configOf(target, applied);
      let managers = managersOf(live?.metadata.managedFields, target);
      if (live && (live.metadata.managedFields ?? []).length === 0) {
        // Fields that this endpoint cannot set were not set by it before either.
        const { status, ...rest } = live;
        const { spec: _, ...others } = live;
        // Through the status of a custom resource metadata cannot be set either.
        const metadata = target.resource.custom ? {} : live.metadata;
        const ofStatus = { ...others, metadata, ...(status !== undefined && { status }) };
        const object = target.subresource === 'status' ? ofStatus : target.version.hasStatus ? rest : live;
        managers = yield* updated({ target, live: undefined, object, manager: BEFORE_FIRST_APPLY }, managers);
      }
      yield;
      const base = identity(target, manager, 'Apply');
      const id = managerId(base);
      const last = managers.get(id);
      const set = withoutRoot(toFieldSet(type, owned(config)));
      const current = new Map(managers).set(id, {
        ...base,
        time: last?.time,
        set,
        ...(last?.source && { source: last.source }),
      });

      yield;
      const before = live ? withoutManagers(live) : EMPTY_OBJECT;
      const merged = mergeTyped(type, before, withoutManagers(config)) as UnknownObject;
      yield;
      const lost = last ? difference(last.set, set) : EMPTY;
      const pruned = last && !isEmpty(lost) ? yield* prune(type, merged, current, config, last.set) : merged;
      const comparison = compare(type, owned(before), owned(pruned), { seesRemoved: true });
      yield;
      const others = new Map([...current].filter(([key]) => key !== id));
      const allowed = live && manager === KUBECTL ? stillAsApplied(type, live) : EMPTY;
      const conflicts = conflictsWith(others, comparison, allowed);
      if (conflicts.length > 0 && !force) throw conflictError(conflicts);
      yield;

      // Kubernetes records the time of a change of the object, not of its owners.
      const changed = !isSame(comparison);
      const result = new Map(without(others, union(comparison.modified, comparison.added), comparison.removed));
      result.set(id, {
        ...base,
        time: changed || !live ? now() : timeOf(live, id),
        set,
        ...(last?.source && { source: last.source }),
      });
      yield;
      return store(pruned, result);
    },
  };
  return tracker;
}

/** When a manager last changed the object, also as another face of it. */
function timeOf({ metadata }: UnknownObject, id: string): string | undefined {
  return metadata.managedFields?.find(
    ({ manager = '', operation, apiVersion = '', subresource = '' }) =>
      operation === 'Apply' && managerId({ name: manager, operation, apiVersion, subresource }) === id,
  )?.time;
}

const EMPTY_OBJECT = { metadata: {} } as UnknownObject;

const typeOf = (target: Target): TypeSchema => target.version.type ?? DEDUCED;

function identity(target: Target, name: string, operation: 'Apply' | 'Update') {
  const apiVersion = apiVersionOf(target.resource, target.version.name);
  return { name, operation, apiVersion, subresource: target.subresource };
}

/** The fields that this endpoint can set: the status alone, or everything but the status where that has an endpoint of its own. */
function configOf({ version, subresource }: Target, applied: UnknownObject): UnknownObject {
  const { status, ...rest } = applied;
  if (subresource === 'status') {
    const { apiVersion, kind, metadata } = applied;
    const { name, namespace, uid, resourceVersion } = metadata;
    const identity: ObjectMeta = {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    return { apiVersion, kind, metadata: identity, ...(status !== undefined && { status }) };
  }
  return version.hasStatus ? rest : applied;
}

/** Fields without an owner, because the server sets them or because they identify the object. */
const NOBODYS = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'generation',
  'managedFields',
  'resourceVersion',
] as const;

function owned(object: UnknownObject): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
  const kept: JsonObject = { ...metadata };
  for (const field of NOBODYS) delete kept[field];
  return { ...rest, metadata: kept };
}

// Metadata itself has no owner, even where only the name was sent.
function withoutRoot(set: FieldSet): FieldSet {
  return { ...set, members: new Set([...set.members].filter((edge) => edge !== 'f:metadata')) };
}

function withoutManagers(object: UnknownObject): UnknownObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Returns the managers after a write: they lose the changed fields, and the removed ones. */
function without(managers: Managers, taken: FieldSet, removed: FieldSet): Managers {
  const result = new Map<string, Manager>();
  for (const [id, manager] of managers) {
    const set = difference(difference(manager.set, taken), removed);
    if (!isEmpty(set)) result.set(id, set === manager.set ? manager : { ...manager, set });
  }
  return result;
}

/**
 * Removes the fields that the applier owned before and has left out now, unless another client owns them too. A part with another owner
 * stays, and so do its parents.
 */
function* prune(
  type: TypeSchema,
  merged: UnknownObject,
  managers: Managers,
  config: UnknownObject,
  last: FieldSet,
): Steps<UnknownObject> {
  const lastFields = withNamedFields(last, type);
  yield;
  const pruned = removeFields(type, merged, lastFields);
  yield;
  const mergedFields = withNamedFields(toFieldSet(type, merged), type);
  yield;
  const prunedFields = withNamedFields(toFieldSet(type, (pruned ?? {}) as JsonObject), type);
  yield;
  // Name and namespace, which have no owner, count as applied: they hold the metadata in place.
  let claimed = toFieldSet(type, withoutManagers(config));
  yield;
  for (const { set } of managers.values()) claimed = union(claimed, set);
  yield;
  const doomed = difference(mergedFields, union(prunedFields, withNamedFields(claimed, type)));
  yield;
  const rest = removeFields(type, merged, doomed) as JsonObject;
  yield;
  // A field that never had an owner is not removed.
  const restFields = withNamedFields(toFieldSet(type, rest ?? {}), type);
  yield;
  return removeFields(type, merged, intersection(difference(mergedFields, restFields), lastFields)) as UnknownObject;
}

interface FieldConflict {
  manager: Manager;
  path: string;
}

/**
 * The fields of the last client-side apply that no other client has changed since. kubectl may take them over by server-side apply,
 * although its manager was another one then.
 */
function stillAsApplied(type: TypeSchema, live: UnknownObject): FieldSet {
  const applied = lastApplied(live);
  if (!applied) return EMPTY;
  const { added, modified, removed } = compare(type, owned(applied), owned(live));
  return difference(toFieldSet(type, owned(applied)), union(union(added, modified), removed));
}

function conflictsWith(others: Managers, { added, modified }: Comparison, allowed: FieldSet): FieldConflict[] {
  const changed = difference(union(modified, added), allowed);
  const conflicts: FieldConflict[] = [];
  for (const manager of others.values()) {
    for (const path of pathsOf(intersection(manager.set, changed))) conflicts.push({ manager, path: printPath(path) });
  }
  return conflicts;
}

function conflictError(conflicts: readonly FieldConflict[]) {
  const causes: StatusCause[] = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${printManager(manager)}`,
    field: path,
  }));
  const [only] = conflicts;
  if (conflicts.length === 1 && only) {
    const text = `Apply failed with 1 conflict: conflict with ${printManager(only.manager)}: ${only.path}`;
    return applyConflict(text, causes);
  }
  const byManager = new Map<Manager, string[]>();
  for (const { manager, path } of conflicts) {
    const paths = byManager.get(manager);
    if (paths) paths.push(`- ${path}`);
    else byManager.set(manager, [`- ${path}`]);
  }
  const parts = [...byManager]
    .sort(([a], [b]) => (writtenManager(a) < writtenManager(b) ? -1 : 1))
    .map(([manager, paths]) => `conflicts with ${printManager(manager)}:\n${paths.join('\n')}`);
  return applyConflict(`Apply failed with ${conflicts.length} conflicts: ${parts.join('\n')}`, causes);
}

/** As Kubernetes writes it to tell it apart, which is the order of messages. */
function writtenManager({ name, operation, apiVersion, time, subresource }: Manager): string {
  const isUpdate = operation === 'Update';
  return JSON.stringify({
    manager: name,
    operation,
    ...(isUpdate && { apiVersion, ...(time !== undefined && { time }) }),
    ...(subresource !== '' && { subresource }),
  });
}

function printManager({ name, operation, apiVersion, subresource }: Manager): string {
  const who =
    subresource === ''
      ? JSON.stringify(name)
      : `${JSON.stringify(name)} with subresource ${JSON.stringify(subresource)}`;
  return operation === 'Update' ? `${who} using ${apiVersion}` : who;
}

/** Too many writers would make objects heavy: the oldest Update entries of a version become one. */
function capped(managers: Managers): Managers {
  const updaters = [...managers].filter(([, manager]) => manager.operation === 'Update' && manager.subresource === '');
  if (updaters.length <= MAX_UPDATERS) return managers;
  const oldest = updaters
    .sort(([, a], [, b]) => ((a.time ?? '') < (b.time ?? '') ? -1 : 1))
    .slice(0, updaters.length - MAX_UPDATERS + 1);
  const result = new Map(managers);
  for (const [id, manager] of oldest) {
    result.delete(id);
    const bucket = { name: ANCIENT, operation: 'Update', apiVersion: manager.apiVersion, subresource: '' } as const;
    const known = result.get(managerId(bucket));
    result.set(managerId(bucket), { ...bucket, time: manager.time, set: union(known?.set ?? EMPTY, manager.set) });
  }
  return result;
}
