import { createAdopt, freezeDeep, share } from '../json/index.ts';
import type { Kind } from '../kind.ts';
import type { Logger } from '../logger.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from '../object.ts';
import { malformed } from './failure.ts';

// Converts objects from the server to the form that the cache keeps. Received objects belong to the transport and are never changed: to
// drop a field, the object and its metadata are copied, and the rest is shared. Unchanged parts of the previous version keep their
// reference, so that an edit of one field costs one field, and `===` means "unchanged". Consecutive objects are often siblings (pods of one
// ReplicaSet, Services of one template), so their equal parts are stored once. Readers share the cache, so its objects are frozen. With the
// in-process transport, this includes the server's objects.

export interface Ingest<T extends KubeObject> {
  /** Throws a Malformed failure if the value is not an object of the API. */
  check(raw: unknown): RawObject;
  /** Converts an object. Parts that are equal to the previous version, or to the object being sent, are stored once. */
  keep(raw: RawObject, previous: T | undefined, sending?: KubeObject): T;
}

/** An object whose fields that the cache needs have been checked. */
export interface RawObject extends KubeObject {
  metadata: ObjectMeta & { name: string; resourceVersion: string };
}

export interface IngestOptions<T extends KubeObject> {
  kind: Kind<T>;
  metadataOnly?: boolean;
  ownManagers?: readonly string[];
  ownLabel?: string;
  trim?: (object: T) => T;
  freeze?: boolean;
  logger: Logger;
}

export function createIngest<T extends KubeObject>(options: IngestOptions<T>): Ingest<T> {
  const { kind, metadataOnly = false, ownManagers = [], ownLabel, trim, freeze = true, logger } = options;
  let hasReportedTrim = false;
  let sibling: T | undefined;
  const adopt = createAdopt<T>({ unique: UNIQUE, freeze });

  // A trim that throws or loses the identity would corrupt the cache: the object is kept whole instead.
  function trimmed(object: T): T {
    if (!trim) return object;
    try {
      const result = trim(object);
      const { name, namespace, uid, resourceVersion } = result.metadata;
      const was = object.metadata;
      if (
        name === was.name &&
        namespace === was.namespace &&
        uid === was.uid &&
        resourceVersion === was.resourceVersion
      ) {
        return result;
      }
      reportTrim('its result lacks name, namespace, uid or resourceVersion of the object', undefined);
    } catch (error) {
      reportTrim('it throws', error);
    }
    return object;
  }

  function reportTrim(problem: string, error: unknown): void {
    if (hasReportedTrim) return;
    hasReportedTrim = true;
    const message = `the trim of ${kind.kind} is not used where it does harm: ${problem}; correct the function`;
    logger.error(message, error === undefined ? {} : { error });
  }

  return {
    check(raw) {
      if (isRawObject(raw)) return raw;
      throw malformed(`the server sent a ${kind.kind} without name or resourceVersion`);
    },
    keep(raw, previous, sending) {
      const metadata = withoutOthersManagedFields(raw.metadata, ownManagers, ownLabel);
      // Items of typed lists come without apiVersion and kind, metadata-only ones under a kind of their own.
      const isOfKind = raw.kind === kind.kind && raw.apiVersion !== undefined;
      let object: KubeObject;
      if (metadataOnly) object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata };
      else if (isOfKind && metadata === raw.metadata) object = raw;
      else object = { ...raw, apiVersion: named(raw.apiVersion, kind.apiVersion), kind: kind.kind, metadata };
      // The kind's type is the server's promise; nothing here could check it.
      const own = trimmed(object as T);
      const next = sending === undefined ? own : share(sending, own);
      if (previous === undefined) sibling = adopt(next, sibling);
      else {
        sibling = share(previous, next);
        if (freeze) freezeDeep(sibling);
      }
      return sibling;
    },
  };
}

/** No two objects have the same text there. */
const UNIQUE: ReadonlySet<string> = new Set(['uid', 'resourceVersion', 'data', 'managedFields']);

function isRawObject(raw: unknown): raw is RawObject {
  if (typeof raw !== 'object' || raw === null) return false;
  const { metadata } = raw as { metadata?: Partial<ObjectMeta> | null };
  return (
    typeof metadata === 'object' &&
    metadata !== null &&
    typeof metadata.name === 'string' &&
    metadata.name !== '' &&
    typeof metadata.resourceVersion === 'string' &&
    metadata.resourceVersion !== ''
  );
}

function withoutOthersManagedFields(
  metadata: ObjectMeta,
  ownManagers: readonly string[],
  ownLabel: string | undefined,
): ObjectMeta {
  const entries = metadata.managedFields;
  if (!Array.isArray(entries)) return metadata;
  const isOurs = ownLabel !== undefined && metadata.labels?.[ownLabel] !== undefined;
  const managers = isOurs ? ANY : ownManagers;
  const own = managers.length === 0 ? [] : entries.filter((entry) => isOwn(entry, managers));
  if (own.length > 0 && own.length === entries.length) return metadata;
  // Field by field: a rest pattern is several times slower, and this runs for every object.
  const rest: Record<string, unknown> = {};
  for (const field in metadata) {
    if (field !== 'managedFields') rest[field] = metadata[field as keyof ObjectMeta];
    else if (own.length > 0) rest[field] = own;
  }
  return rest;
}

const ANY = [''] as const;

/** The one text for all objects: each of them was parsed with a copy of its own. */
function named(found: string | undefined, usual: string): string {
  return found === undefined || found === usual ? usual : found;
}

/**
 * Returns whether an entry belongs to one of our managers. Entries for subresources do not count, since no reader asks for the owners of
 * status fields.
 */
function isOwn(entry: ManagedFieldsEntry, ownManagers: readonly string[]): boolean {
  return entry.subresource === undefined && ownManagers.some((own) => (entry.manager ?? '').startsWith(own));
}
