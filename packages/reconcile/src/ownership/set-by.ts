// Evidence about fields: the server records in managedFields which field manager set which field. A label can be copied from
// one object to another by hand; the record of the manager that set it cannot, because the copy is set by another manager.
import type { KubeObject, ManagedFieldsEntry } from '@capstan/kube/cluster';
import { PREVIEWED_VERSION } from '../marks.ts';

/** Our entry of server-side apply on the object, if it has one. */
export function appliedEntry(object: Pick<KubeObject, 'metadata'>, manager: string): ManagedFieldsEntry | undefined {
  return object.metadata.managedFields?.find(
    (entry) => entry.manager === manager && entry.operation === 'Apply' && !entry.subresource,
  );
}

/** Whether this field manager, and no other that merely looks like it, set the label that the object has now. */
export function isLabelSetBy({ metadata }: KubeObject, label: string, manager: string): boolean {
  if (metadata.labels?.[label] === undefined) return false;
  return isSetBy(metadata, ['f:labels', `f:${label}`], manager);
}

export function isAnnotationSetBy({ metadata }: KubeObject, annotation: string, manager: string): boolean {
  if (metadata.annotations?.[annotation] === undefined) return false;
  return isSetBy(metadata, ['f:annotations', `f:${annotation}`], manager);
}

/** Whether this field manager put this owner reference on the object. */
export function isReferenceSetBy({ metadata }: KubeObject, uid: string, manager: string): boolean {
  return isSetBy(metadata, ['f:ownerReferences', `k:${JSON.stringify({ uid })}`], manager);
}

function isSetBy(metadata: KubeObject['metadata'], path: readonly string[], manager: string): boolean {
  const entries = metadata.managedFields?.filter((entry) => entry.manager === manager && !entry.subresource) ?? [];
  return entries.some(({ fieldsV1 }) => holds(fieldsV1, metadata.resourceVersion, ['f:metadata', ...path]));
}

function holds(fields: unknown, version: string | undefined, path: readonly string[]): boolean {
  if (fields === undefined) return false;
  // A preview knows the manager of a whole object, not of its fields; no server gives this version.
  if (version === PREVIEWED_VERSION && Object.keys(fields as object).length === 0) return true;
  let part: unknown = fields;
  for (const name of path) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return false;
    part = (part as Record<string, unknown>)[name];
  }
  return true;
}
