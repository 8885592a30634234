// What the server would most likely make of our writes, for previews: exact for what we own, approximate for the rest.
import type { KubeObject } from '@capstan/kube';
import type { StatusWrite } from '../diff/index.ts';
import { mergeConditions } from '../plan/conditions.ts';
import { conditionsOf, type StatusInput } from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';

/** An object as it would be after server-side apply under this manager: maps are merged, lists are ours. */
export function virtuallyApplied(existing: KubeObject | undefined, body: KubeObject, manager: string): KubeObject {
  const merged = merge(existing, body) as KubeObject;
  const { metadata } = merged;
  // An entry with nothing below its root owns everything: no field of the virtual object counts as taken.
  const entry = { manager, operation: 'Apply' as const, fieldsType: 'FieldsV1' as const, fieldsV1: {} };
  const others = metadata.managedFields?.filter((known) => known.manager !== manager) ?? [];
  return {
    ...merged,
    metadata: {
      ...metadata,
      uid: metadata.uid ?? VIRTUAL_UID,
      generation: (existing?.metadata.generation ?? 0) + 1,
      resourceVersion: VIRTUAL_VERSION,
      managedFields: [...others, entry],
    },
  };
}

const VIRTUAL_UID = 'made-by-preview';
const VIRTUAL_VERSION = '0';

export function virtuallyWithStatus(object: KubeObject, status: StatusWrite): KubeObject {
  const current = (object as { status?: StatusInput }).status;
  const { conditions } = mergeConditions(
    conditionsOf(current),
    status.conditions,
    status.generation,
    () => PREVIEW_TIME,
  );
  const merged = mergeStatus(current, status.input);
  const next = conditions.length > 0 ? { ...merged, conditions } : merged;
  return { ...object, status: next } as KubeObject;
}

/** Stands for the moment at which the real write would be made. */
const PREVIEW_TIME = '1970-01-01T00:00:00Z';

export function virtuallyFinalized(object: KubeObject, change: 'add' | 'remove', finalizer: string): KubeObject {
  const current = object.metadata.finalizers ?? [];
  const finalizers = change === 'add' ? [...current, finalizer] : current.filter((name) => name !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

function merge(left: unknown, right: unknown): unknown {
  if (!isRecord(left) || !isRecord(right)) return right;
  const merged: Record<string, unknown> = { ...left };
  for (const [name, value] of Object.entries(right)) merged[name] = merge(left[name], value);
  return merged;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
