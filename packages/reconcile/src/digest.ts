// The digest of chosen values: what a hash tree, an applied child and a cause are compared by.
//
// Form: `v1.<plain>` or, when sensitive values took part, `v1.<plain>.<key id>.<keyed>`. `plain` is the SHA-256 (128 bits
// of it) of the canonical JSON of the list of values, in which every sensitive string stands as a placeholder; `keyed` is
// the HMAC of the sensitive strings in their order, under a key that only the operator has. JSON frames itself, so no two
// different lists give the same bytes; keys are sorted, so arrival, listing and map order do not count; list order does.
//
// As in Kubernetes, a field that is undefined is no field, and an undefined item of a list is null. What JSON cannot hold
// (a Map, a Set, a function, NaN) is refused: it would be nothing in the text, and its changes would roll nothing.
import { createHmac, hash } from 'node:crypto';
import { canonicalJson } from '@capstan/kube';
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

/** The digest of values none of which is sensitive. */
export function plainDigest(...values: readonly unknown[]): string {
  return `${VERSION}.${sha256(canonicalJson(plainForm(values, keepAll)))}`;
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
  const masked = plainForm(values, (text) => {
    if (!isSensitive(text)) return text;
    found.push(text);
    return PLACEHOLDER;
  });
  const plain = sha256(canonicalJson(masked));
  if (found.length === 0) return `${VERSION}.${plain}`;
  const { id, bytes } = key();
  const keyed = createHmac('sha256', bytes).update(JSON.stringify(found)).digest('hex').slice(0, HEX_DIGITS);
  return `${VERSION}.${plain}.${id}.${keyed}`;
}

/**
 * Whether two digests say the same. A new key makes the keyed parts incomparable; they then count as equal, because a new
 * key alone must never roll anything.
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

/** The previous digest when it says the same as the next one, else the next: the value to write where a digest is kept. */
export function continueDigest(previous: string | undefined, next: string): string {
  return sameDigest(previous, next) ? (previous as string) : next;
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HEX_DIGITS);
}

const keepAll = (text: string) => text;

/**
 * The value as JSON has it, every string passed through `textOf`, bytes as base64. Fields are visited in the order of their
 * names, so that one value has its strings in one order.
 */
function plainForm(value: unknown, textOf: (text: string) => string): unknown {
  if (typeof value === 'string') return textOf(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw DigestErrors.NotPlain(String(value));
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined && !SCALARS.has(typeof value)) throw DigestErrors.NotPlain(`a ${typeof value}`);
    return value;
  }
  if (value instanceof Uint8Array) return textOf(Buffer.from(value).toString('base64'));
  if (Array.isArray(value)) return value.map((item) => plainForm(item, textOf));
  if ('toJSON' in value && typeof value.toJSON === 'function') return plainForm(value.toJSON() as unknown, textOf);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw DigestErrors.NotPlain(nameOf(value));
  const plain: [string, unknown][] = [];
  for (const name of Object.keys(value).toSorted()) {
    plain.push([name, plainForm((value as Record<string, unknown>)[name], textOf)]);
  }
  return Object.fromEntries(plain);
}

const SCALARS = new Set(['boolean', 'number', 'object']);

function nameOf(value: object): string {
  return `a ${(value.constructor as { name?: string } | undefined)?.name ?? 'object of a class'}`;
}
