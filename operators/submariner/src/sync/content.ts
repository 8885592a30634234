// What the sync carries from cluster to cluster: the user's labels and annotations, and the spec. Everything that a server or
// the sync itself adds stays where it is.
import { createHash } from 'node:crypto';
import type { ObjectMeta } from '@capstan/kube';
import { REAL_NAME_ANNOTATION } from '../kinds/index.ts';

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
  /** The labels at that time, for kinds whose labels are merged. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** On a member's copy. */
export const BASE_UID = 'submariner.io/sync-base-uid';
export const BASE_DIGEST = 'submariner.io/sync-base-digest';
export const BASE_LABELS = 'submariner.io/sync-base-labels';
/** Holds a deletion on a member until the broker has confirmed it. */
export const SYNC_FINALIZER = 'submariner.io/sync';

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

/** Equal for equal content, whatever the order of its fields. */
export function digestOf(content: Content): string {
  return createHash('sha256').update(canonical(content)).digest('hex').slice(0, 32);
}

export function baseOf({ annotations = {} }: ObjectMeta): SyncBase | undefined {
  const { [BASE_UID]: uid, [BASE_DIGEST]: digest, [BASE_LABELS]: labels } = annotations;
  if (uid === undefined || digest === undefined) return undefined;
  return { uid, digest, ...(labels !== undefined && { labels: parseLabels(labels) }) };
}

export function baseAnnotations({ uid, digest, labels }: SyncBase): Record<string, string> {
  return { [BASE_UID]: uid, [BASE_DIGEST]: digest, ...(labels !== undefined && { [BASE_LABELS]: canonical(labels) }) };
}

function without(given: Readonly<Record<string, string>> | undefined, prefixes: readonly string[]) {
  const entries = Object.entries(given ?? {}).filter(([key]) => !prefixes.some((prefix) => key.startsWith(prefix)));
  return Object.fromEntries(entries);
}

function canonical(value: unknown): string {
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
