// What the server would most likely make of our writes, for previews: exact for what we own, approximate for the rest.
import { applyJsonPatch, equal, isRecord, type KubeObject } from '@capstan/kube/cluster';
import type { StatusWrite, WithdrawWrite } from '../diff/index.ts';
import { INVENTORY_LABEL, PREVIEWED_VERSION } from '../marks.ts';
import { mergeConditions } from '../plan/conditions.ts';
import { conditionsOf, type StatusInput } from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';
import { withoutDropped } from './owned-fields.ts';

/** An object as it would be after server-side apply under this manager: maps are merged, lists hold what we send. */
export function virtuallyApplied(existing: KubeObject | undefined, body: KubeObject, manager: string): KubeObject {
  const kept = existing && withoutDropped(existing, body, manager);
  const merged = merge(kept, body) as KubeObject;
  const { metadata } = merged;
  // An entry with nothing below its root owns everything: no field of the virtual object counts as taken.
  const entry = { manager, operation: 'Apply' as const, fieldsType: 'FieldsV1' as const, fieldsV1: {} };
  const others = metadata.managedFields?.filter((known) => known.manager !== manager) ?? [];
  return {
    ...merged,
    metadata: {
      ...metadata,
      uid: metadata.uid ?? VIRTUAL_UID,
      ...generationAfter(existing, merged),
      resourceVersion: PREVIEWED_VERSION,
      managedFields: [...others, entry],
    },
  };
}

/** An object after a JSON patch, with the generation that follows from a change of more than metadata and status. */
export function virtuallyPatched(existing: KubeObject, operations: Parameters<typeof applyJsonPatch>[1]): KubeObject {
  const patched = applyJsonPatch(existing, operations) as KubeObject;
  return { ...patched, metadata: { ...patched.metadata, ...generationAfter(existing, patched) } };
}

/** The next one where more than metadata and status changes; kinds without a generation have none. */
function generationAfter(existing: KubeObject | undefined, next: KubeObject): { generation?: number } {
  if (existing === undefined) return { generation: 1 };
  const { generation } = existing.metadata;
  if (generation === undefined) return {};
  return { generation: equal(contentOf(existing), contentOf(next)) ? generation : generation + 1 };
}

/** A shared object after its fields and marks of ours are given back. */
export function virtuallyWithdrawn(
  existing: KubeObject,
  { manager, annotation, keepsFields }: WithdrawWrite,
): KubeObject {
  const { apiVersion, kind, metadata: own } = existing;
  const bare = { apiVersion, kind, metadata: { ...(own.name !== undefined && { name: own.name }) } };
  const left = keepsFields ? existing : withoutDropped(existing, bare, manager);
  const { metadata } = left;
  const isOurs = (name: string) => name === annotation || (keepsFields === true && name.startsWith('capstan.dev/'));
  const annotations = Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([name]) => !isOurs(name)));
  const isKept = ([name]: [string, string]) => keepsFields !== true || name !== INVENTORY_LABEL;
  const labels = Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(isKept));
  const managedFields = metadata.managedFields?.filter((entry) => entry.manager !== manager) ?? [];
  return { ...left, metadata: { ...metadata, annotations, labels, managedFields } };
}

function contentOf(object: KubeObject): unknown {
  const { metadata: _metadata, status: _status, ...content } = object as KubeObject & { status?: unknown };
  return content;
}

/** Stands for the uid that the server would give. */
export const VIRTUAL_UID = 'made-by-preview';

/** An object after a delete request: one that finalizers hold stays until they are taken off; undefined when it is gone. */
export function virtuallyDeleted(object: KubeObject, now: string): KubeObject | undefined {
  if ((object.metadata.finalizers?.length ?? 0) === 0) return undefined;
  const deletionTimestamp = object.metadata.deletionTimestamp ?? now;
  return { ...object, metadata: { ...object.metadata, deletionTimestamp } };
}

export function virtuallyWithStatus(object: KubeObject, status: StatusWrite, now: string): KubeObject {
  const current = (object as { status?: StatusInput }).status;
  const { conditions } = mergeConditions(conditionsOf(current), status.conditions, status.generation, () => now);
  const merged = mergeStatus(current, status.input);
  const next = conditions.length > 0 ? { ...merged, conditions } : merged;
  return { ...object, status: next } as KubeObject;
}

export function virtuallyFinalized(object: KubeObject, change: 'add' | 'remove', finalizer: string): KubeObject {
  const current = object.metadata.finalizers ?? [];
  const finalizers = change === 'add' ? [...current, finalizer] : current.filter((name) => name !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

function merge(left: unknown, right: unknown): unknown {
  if (Array.isArray(left) && Array.isArray(right)) return mergeItems(left, right);
  if (!isRecord(left) || !isRecord(right)) return right;
  const merged: Record<string, unknown> = { ...left };
  for (const [name, value] of Object.entries(right)) merged[name] = merge(left[name], value);
  return merged;
}

/** Items keep what the server filled in: each is merged with the one that has the same key. Those that we do not send go. */
function mergeItems(left: readonly unknown[], right: readonly unknown[]): unknown[] {
  const key = KEYS.find((name) => [...left, ...right].every((item) => isRecord(item) && item[name] !== undefined));
  if (key === undefined) return [...right];
  const keyOf = (item: unknown) => (item as Record<string, unknown>)[key];
  return right.map((item) => {
    const existing = left.find((candidate) => keyOf(candidate) === keyOf(item));
    return existing === undefined ? item : merge(existing, item);
  });
}

/** The fields that identify items of lists in built-in kinds, the most specific first. */
const KEYS = ['name', 'mountPath', 'containerPort', 'port', 'key', 'ip', 'type', 'uid'];
