// The most likely result of our writes on the server, for previews: exact for our fields, approximate for the rest.
import { applyJsonPatch, equal, isRecord, type KubeObject } from '@capstan/kube/cluster';
import { claimsBeyond, isNamedBy, type StatusWrite, type WithdrawWrite } from '../../diff/index.ts';
import { INVENTORY_LABEL, PREVIEWED_VERSION } from '../../marks.ts';
import { mergeConditions } from '../../plan/conditions.ts';
import { conditionsOf, type StatusInput } from '../../plan/index.ts';
import { mergeStatus } from '../../plan/status.ts';
import { withoutDropped } from './owned-fields.ts';

/** Returns the object after server-side apply under this manager: maps are merged, lists hold our items and those of other owners. */
export function virtuallyApplied(existing: KubeObject | undefined, body: KubeObject, manager: string): KubeObject {
  const kept = existing && withoutDropped(existing, body, manager);
  const others = claimsBeyond(
    existing?.metadata.managedFields?.filter((known) => known.manager !== manager) ?? [],
    body,
  );
  const merged = merge(
    kept,
    body,
    others.map(({ fieldsV1 = {} }) => fieldsV1),
  ) as KubeObject;
  const { metadata } = merged;
  // An entry with nothing below its root owns everything: no field of the virtual object counts as taken.
  const entry = { manager, operation: 'Apply' as const, fieldsType: 'FieldsV1' as const, fieldsV1: {} };
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

/**
 * The next one where more than metadata and status changes; kinds without a generation have none. Annotations of a Deployment count as
 * well: its controller copies them to ReplicaSets.
 */
function generationAfter(existing: KubeObject | undefined, next: KubeObject): { generation?: number } {
  if (existing === undefined) return { generation: 1 };
  const { generation } = existing.metadata;
  if (generation === undefined) return {};
  const isSame =
    equal(contentOf(existing), contentOf(next)) && (!isDeployment(next) || hasSameAnnotations(existing, next));
  return { generation: isSame ? generation : generation + 1 };
}

function isDeployment({ apiVersion, kind }: KubeObject): boolean {
  return kind === 'Deployment' && apiVersion === 'apps/v1';
}

function hasSameAnnotations(one: KubeObject, other: KubeObject): boolean {
  return equal(one.metadata.annotations ?? {}, other.metadata.annotations ?? {});
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
  const { conditions: _before, ...others } = merged ?? {};
  const next = conditions.length > 0 ? { ...others, conditions } : merged && others;
  return { ...object, status: next } as KubeObject;
}

export function virtuallyFinalized(object: KubeObject, change: 'add' | 'remove', finalizer: string): KubeObject {
  const current = object.metadata.finalizers ?? [];
  const finalizers = change === 'add' ? [...current, finalizer] : current.filter((name) => name !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

type Claims = Readonly<Record<string, unknown>>;

/** `claims` are the fields of other managers at this place. */
function merge(left: unknown, right: unknown, claims: readonly Claims[]): unknown {
  if (Array.isArray(left) && Array.isArray(right)) return mergeItems(left, right, claims);
  if (!isRecord(left) || !isRecord(right)) return right;
  const merged: Record<string, unknown> = { ...left };
  for (const [name, value] of Object.entries(right))
    merged[name] = merge(
      left[name],
      value,
      claimsBelow(claims, (step) => step === `f:${name}`),
    );
  return merged;
}

/**
 * Merges each item with the one that has the same key, so that values of the server stay. Items that we do not send and no other manager
 * owns go.
 */
function mergeItems(left: readonly unknown[], right: readonly unknown[], claims: readonly Claims[]): unknown[] {
  const isClaimed = (item: unknown) =>
    claims.some((set) => Object.keys(set).some((step) => /^[kv]:/.test(step) && isNamedBy(step, item)));
  const key = KEYS.find((name) => [...left, ...right].every((item) => isRecord(item) && item[name] !== undefined));
  const isSame = (one: unknown, other: unknown) =>
    key === undefined ? equal(one, other) : (one as Claims)[key] === (other as Claims)[key];
  const isAdded = (item: unknown) => isClaimed(item) && !right.some((sent) => isSame(sent, item));
  // Items of others keep their place before the item of ours that they precede, as on the server.
  let passed = 0;
  const sent = right.flatMap((item): unknown[] => {
    const at = left.findIndex((candidate) => isSame(candidate, item));
    if (at < 0) return [item];
    const before = left.slice(passed, at).filter(isAdded);
    passed = Math.max(passed, at + 1);
    const existing = left[at];
    const below = claimsBelow(claims, (step) => step.startsWith('k:') && isNamedBy(step, existing));
    return [...before, merge(existing, item, below)];
  });
  return [...sent, ...left.slice(passed).filter(isAdded)];
}

function claimsBelow(claims: readonly Claims[], isStep: (step: string) => boolean): readonly Claims[] {
  return claims.flatMap((set) =>
    Object.entries(set).flatMap(([step, below]) => (isStep(step) && isRecord(below) ? [below] : [])),
  );
}

/** The fields that identify items of lists in built-in kinds, the most specific first. */
const KEYS = ['name', 'mountPath', 'containerPort', 'port', 'key', 'ip', 'type', 'uid'];
