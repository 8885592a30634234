// The content that the sync carries from cluster to cluster: the user's labels and annotations, and the spec. Additions of a server or
// of the sync itself stay where they are.
import { createHash } from 'node:crypto';
import type { ObjectMeta } from '@capstan/kube';
import type { WriteMode } from '@capstan/reconcile';
import { BROKER_ORIGIN, ORIGIN_LABEL, REAL_NAME_ANNOTATION } from '../kinds/index.ts';

export interface SyncObject {
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
}

export interface Content {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: unknown;
}

/** The broker's object that a member's copy was last in agreement with. */
export interface SyncBase {
  readonly uid: string;
  readonly digest: string;
  /** The broker's resourceVersion when this was recorded: no two bases of one object have the same. */
  readonly version?: string;
  /** Whether the broker's record of policies held the uid since: a record without it has gone back. */
  readonly isRecorded?: boolean;
  /** The labels at that time, for kinds whose labels are merged. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** The object that a broker lost in a restore, the member that created it again, and the digest of its content then. */
export interface Replacement {
  readonly uid: string;
  readonly holder: string;
  readonly digest: string;
}

/** On a member's copy. */
export const BASE_UID = 'submariner.io/sync-base-uid';
export const BASE_DIGEST = 'submariner.io/sync-base-digest';
export const BASE_VERSION = 'submariner.io/sync-base-version';
export const BASE_LABELS = 'submariner.io/sync-base-labels';
export const BASE_RECORDED = 'submariner.io/sync-base-recorded';
/** On the broker's object: the member that wrote it last, the version of that member's base, and the digest of the written content. */
export const EXPORT = 'submariner.io/sync-export';
/** On a policy that a member created again after a restore: the uid of the lost object, the member, and the digest. */
export const REPLACES = 'submariner.io/sync-replaces';
/** Holds a deletion on a member until the broker has confirmed it. */
export const SYNC_FINALIZER = 'submariner.io/sync';
/**
 * On a policy that a member has created on the broker, until the member has recorded its base. A policy that is deleted on the
 * broker before that stays visible to its creator, which would otherwise take its own copy for a new policy and create it again.
 */
export const EXPORT_FINALIZER = 'submariner.io/sync-export';

const OWN_LABELS = ['submariner-io/', 'capstan.dev/'];
const OWN_ANNOTATIONS = [
  'submariner.io/sync-',
  'capstan.dev/',
  'kubectl.kubernetes.io/',
  'original.capstan.dev/',
  'shared.capstan.dev/',
];

export function contentOf({ metadata, spec }: SyncObject): Content {
  return {
    labels: without(metadata.labels, OWN_LABELS),
    annotations: without(metadata.annotations, [...OWN_ANNOTATIONS, REAL_NAME_ANNOTATION]),
    spec,
  };
}

/**
 * Whether the ConfigMaps that a policy names are in the cluster of this object. They are where the policy was created, and
 * are written into its copies: one of the same name elsewhere is another one, with which the two ends would differ.
 */
export function isOriginal({ labels, annotations }: ObjectMeta): boolean {
  const origin = labels?.[ORIGIN_LABEL];
  return origin === undefined || (origin === BROKER_ORIGIN && annotations?.[BASE_UID] === undefined);
}

/** Equal for equal content, whatever the order of its fields. */
export function digestOf(content: Content): string {
  return createHash('sha256').update(canonical(content)).digest('hex').slice(0, 32);
}

export function baseOf({ annotations = {} }: ObjectMeta): SyncBase | undefined {
  const { [BASE_UID]: uid, [BASE_DIGEST]: digest, [BASE_VERSION]: version, [BASE_LABELS]: labels } = annotations;
  const recordedUid = annotations[BASE_RECORDED];
  if (uid === undefined || digest === undefined) return undefined;
  return {
    uid,
    digest,
    ...(version !== undefined && { version }),
    ...(recordedUid === uid && { isRecorded: true }),
    ...(labels !== undefined && { labels: parseLabels(labels) }),
  };
}

export function baseAnnotations({ uid, digest, version, isRecorded, labels }: SyncBase): Record<string, string> {
  return {
    [BASE_UID]: uid,
    [BASE_DIGEST]: digest,
    ...(version !== undefined && { [BASE_VERSION]: version }),
    ...(isRecorded && { [BASE_RECORDED]: uid }),
    ...(labels !== undefined && { [BASE_LABELS]: canonical(labels) }),
  };
}

/** The base that a member's copy records when it agrees with the broker's object. */
export function baseFrom({ metadata: { uid = '', resourceVersion } }: SyncObject, digest: string): SyncBase {
  return { uid, digest, ...(resourceVersion !== undefined && { version: resourceVersion }) };
}

/**
 * Whether the broker's object is older than the base that was recorded of it. Revisions of one object only grow, so a broker
 * that shows an earlier one was restored from a backup.
 */
export function isOlderThan({ metadata: { uid, resourceVersion } }: SyncObject, base: SyncBase): boolean {
  const [now, then] = [resourceVersion, base.version].map((text) =>
    /^\d+$/.test(text ?? '') ? BigInt(text ?? '') : undefined,
  );
  return uid === base.uid && now !== undefined && then !== undefined && now < then;
}

/** The lost object that this one replaces, and the member that created it again. */
export function replacementOf({ metadata }: SyncObject): Replacement | undefined {
  const [uid = '', holder = '', digest = ''] = (metadata.annotations?.[REPLACES] ?? '').split(' ');
  return uid === '' || holder === '' ? undefined : { uid, holder, digest };
}

/** The cluster that wrote the broker's object last; undefined when it was edited on the broker itself. */
export function editorOf(broker: SyncObject): string | undefined {
  const [editor, , digest] = (broker.metadata.annotations?.[EXPORT] ?? '').split(' ');
  return editor !== undefined && editor !== '' && digest === digestOf(contentOf(broker)) ? editor : undefined;
}

/** Returns the mark that a member writes on the broker's object beside its content. */
export function exportMark(local: string, base: SyncBase | undefined, content: Content): string {
  return [local, base?.version ?? '', digestOf(content)].join(' ');
}

/**
 * Returns the base that counts. Until the member has recorded an export, the broker holds content that this member sent on top of its
 * base: the member's copy can only be as new or newer. Without this rule, an edit that reverts the previous edit would equal the base,
 * and the export of the previous edit would overwrite it.
 */
export function baseInForce(local: string, member: SyncObject, broker: SyncObject | undefined): SyncBase | undefined {
  const base = baseOf(member.metadata);
  if (broker === undefined) return base;
  const there = contentOf(broker);
  if (broker.metadata.annotations?.[EXPORT] !== exportMark(local, base, there)) return base;
  return { ...baseFrom(broker, digestOf(there)), labels: there.labels };
}

function without(given: Readonly<Record<string, string>> | undefined, prefixes: readonly string[]) {
  const entries = Object.entries(given ?? {}).filter(([key]) => !prefixes.some((prefix) => key.startsWith(prefix)));
  return Object.fromEntries(entries);
}

/** JSON with sorted keys: equal values give equal text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join()}}`;
}

function parseLabels(text: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {};
  }
}

/** The write modes of a sync, on either side. */
export const SYNC: readonly WriteMode[] = ['createOnly', 'patch', 'remove'];

/** A copy follows its original, and a deletion on any member is honoured everywhere. */
export const SYNCED = { provenance: { ruling: 'docs/decisions/0034-ownership.md' } } as const;
