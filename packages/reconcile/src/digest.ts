// The digest of chosen values, by which hash trees, applied children and causes are compared.
//
// Form: `v1.<plain>` or, when sensitive values took part, `v1.<plain>.<key id>.<keyed>`. `plain` is the SHA-256 (128 bits
// of it) of the canonical JSON of the list of values, in which every sensitive string stands as a placeholder; `keyed` is
// the HMAC of the sensitive strings in their order, under a key that only the operator has, derived for one namespace and one
// purpose: equal secrets in two namespaces have unequal digests, so a status in one reveals nothing about a short secret in the other. The
// id of a derived key is another than that of the key itself, and a new id alone rolls nothing. JSON frames itself, so no two
// different lists give the same bytes; keys are sorted, so arrival, listing and map order do not count; list order does.
//
// As in Kubernetes, a field that is undefined is no field, and an undefined item of a list is null. A value that JSON cannot hold (a Map, a
// Set, a function, NaN) is refused: it would be missing in the text, and its changes would roll nothing.
import { createHmac, hash } from 'node:crypto';
import { DigestErrors } from './errors.ts';

/** The operator's secret key for digests of sensitive values. The id is public and part of every keyed digest. */
export interface DigestKey {
  /** Without dots: they separate the parts of a digest. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Computes the digest of the values that a reconciler chose to consume. */
export type Digest = (...values: readonly unknown[]) => string;

const VERSION = 'v1';
const PLACEHOLDER = '\u0000sensitive';
const HEX_DIGITS = 32;

/** The purposes of digests of sensitive values; a digest for one purpose reveals nothing about those for another. */
export type DigestPurpose = 'inputs' | 'cause';

/** Returns the key for one namespace (empty for cluster-scoped objects) and one purpose. */
export function keyFor({ id, bytes }: DigestKey, namespace: string, purpose: DigestPurpose): DigestKey {
  const derived = createHmac('sha256', bytes)
    .update(JSON.stringify([purpose, namespace]))
    .digest();
  return { id: `${id}${DERIVED}`, bytes: derived };
}

/** Part of an id since keys are derived: digests of earlier releases have the id without it, and count as equal. */
const DERIVED = '_n';

/** The digest of values none of which is sensitive. */
export function plainDigest(...values: readonly unknown[]): string {
  return `${VERSION}.${sha256(canonicalText(values, keepAll))}`;
}

/**
 * The digest of values some of which may be sensitive. `isSensitive` is asked for every string, and for bytes by their
 * base64 text; `key` is called only when one is found.
 */
export function keyedDigest(
  values: readonly unknown[],
  isSensitive: (text: string) => boolean,
  key: () => DigestKey,
): string {
  const found: string[] = [];
  const masked = canonicalText(values, (text) => {
    if (!isSensitive(text)) return text;
    found.push(text);
    return PLACEHOLDER;
  });
  const plain = sha256(masked);
  if (found.length === 0) return `${VERSION}.${plain}`;
  const { id, bytes } = key();
  const keyed = createHmac('sha256', bytes).update(JSON.stringify(found)).digest('hex').slice(0, HEX_DIGITS);
  return `${VERSION}.${plain}.${id}.${keyed}`;
}

/**
 * Whether two digests say the same. A new key makes the keyed parts incomparable; they then count as equal, because a new
 * key alone must never roll anything. The one that keeps a hash that rolls keeps the newest digest beside it: compared with one
 * under an old key, a later change of a secret alone would look equal for ever.
 */
export function sameDigest(left: string | undefined, right: string | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  const [leftVersion, leftPlain, leftKey, leftKeyed] = left.split('.');
  const [rightVersion, rightPlain, rightKey, rightKeyed] = right.split('.');
  if (leftVersion !== rightVersion || leftPlain !== rightPlain) return false;
  if (leftKey === undefined || rightKey === undefined) return false;
  return leftKey !== rightKey || leftKeyed === rightKeyed;
}

/** Returns a short keyed digest of the content of a sensitive object (metadata and status do not count), or of its seen parts. */
export function causeDigest(value: unknown, key: DigestKey, seen?: unknown): string {
  const {
    metadata,
    status: _status,
    ...content
  } = value as {
    metadata?: { readonly namespace?: string };
    status?: unknown;
  };
  const { bytes } = keyFor(key, metadata?.namespace ?? '', 'cause');
  const text = canonicalText(seen === undefined || seen === value ? content : { seen }, keepAll);
  return createHmac('sha256', bytes).update(text).digest('hex').slice(0, CAUSE_DIGITS);
}

const CAUSE_DIGITS = 12;

function sha256(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HEX_DIGITS);
}

const keepAll = (text: string) => text;

/** Returns the values as canonical JSON. Values from a server are mostly in order already, and then cost no more than JSON does. */
function canonicalText(values: unknown, textOf: (text: string) => string): string {
  return JSON.stringify(inOrder(values, textOf));
}

/**
 * The value with the fields of every object in the order of their names, every string passed through `textOf`, bytes as
 * base64: the same reference where that changes nothing. Fields are visited in that order, so that one value has its
 * strings in one order.
 */
function inOrder(value: unknown, textOf: (text: string) => string): unknown {
  if (typeof value === 'string') return textOf(value);
  if (typeof value !== 'object' || value === null) return checkedScalar(value);
  if (Array.isArray(value)) return itemsInOrder(value, textOf);
  if (value instanceof Uint8Array) return textOf(Buffer.from(value).toString('base64'));
  if (hasToJson(value)) return inOrder(value.toJSON(), textOf);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw DigestErrors.NotPlain(nameOf(value));
  return fieldsInOrder(value as Record<string, unknown>, textOf);
}

function itemsInOrder(items: readonly unknown[], textOf: (text: string) => string): readonly unknown[] {
  let changed: unknown[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const item = inOrder(items[at], textOf);
    if (item !== items[at]) changed ??= [...items];
    if (changed !== undefined) changed[at] = item;
  }
  return changed ?? items;
}

function fieldsInOrder(value: Record<string, unknown>, textOf: (text: string) => string): object {
  const names = Object.keys(value);
  let isSorted = true;
  for (let at = 1; at < names.length && isSorted; at++) isSorted = (names[at - 1] as string) < (names[at] as string);
  if (!isSorted) names.sort();
  let changed: [string, unknown][] | undefined = isSorted ? undefined : [];
  let hasIndex = false;
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string;
    const before = value[name];
    const field = inOrder(before, textOf);
    if (field !== before) changed ??= names.slice(0, at).map((earlier) => [earlier, value[earlier]]);
    changed?.push([name, field]);
    hasIndex ||= isIndex(name);
  }
  if (changed === undefined) return hasIndex ? pairs(Object.entries(value)) : value;
  return hasIndex ? pairs(changed) : Object.fromEntries(changed);
}

/** JavaScript puts names that are numbers first, by value: the one that has one is written as pairs, in the order of the text. */
function isIndex(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= 48 && first <= 57;
}

function pairs(entries: readonly [string, unknown][]): object {
  return { '\u0000pairs': entries.filter(([, field]) => field !== undefined).toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

function checkedScalar(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw DigestErrors.NotPlain(String(value));
  if (value !== undefined && !SCALARS.has(typeof value)) throw DigestErrors.NotPlain(`a ${typeof value}`);
  return value;
}

const SCALARS = new Set(['boolean', 'number', 'object']);

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function nameOf(value: object): string {
  return `a ${(value.constructor as { name?: string } | undefined)?.name ?? 'object of a class'}`;
}
