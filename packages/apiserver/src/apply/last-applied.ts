// Client-side apply keeps the applied object in an annotation and compares with it the next time. A user who switches to server-side apply
// and back would find it out of date, so kubectl's own server-side apply updates an existing annotation.
import { canonicalJson, type UnknownObject } from '@capstan/kube';
import { isObject } from '../json/copy.ts';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
/** The manager of kubectl's server-side apply; who uses another name has nothing to do with the annotation. */
export const KUBECTL = 'kubectl';
/** The limit of all annotations together. Beyond it the object could not be stored. */
const LIMIT = 256 * 1024;

/** Returns the object of the last client-side apply, if it can be read. */
export function lastApplied(object: UnknownObject): UnknownObject | undefined {
  try {
    const value: unknown = JSON.parse(object.metadata.annotations?.[ANNOTATION] ?? 'null');
    if (!isObject(value)) return undefined;
    const metadata = isObject(value['metadata']) ? value['metadata'] : {};
    return { ...value, apiVersion: object.apiVersion, kind: object.kind, metadata };
  } catch {
    return undefined;
  }
}

/** The merged object with the annotation as client-side apply would have written it. */
export function withLastApplied(merged: UnknownObject, applied: UnknownObject, manager: string): UnknownObject {
  const annotations = merged.metadata.annotations;
  if (manager !== KUBECTL || annotations?.[ANNOTATION] === undefined) return merged;
  const { [ANNOTATION]: _, ...others } = applied.metadata.annotations ?? {};
  const { managedFields: _fields, ...metadata } = applied.metadata;
  const text = `${canonicalJson({ ...applied, metadata: { ...metadata, annotations: others } })}\n`;
  const { [ANNOTATION]: _old, ...rest } = annotations;
  const size = Object.entries(rest).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  const next = size + text.length > LIMIT ? rest : { ...rest, [ANNOTATION]: text };
  return { ...merged, metadata: { ...merged.metadata, annotations: next } };
}
