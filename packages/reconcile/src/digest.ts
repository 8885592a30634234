// The digest of chosen values: what a hash tree, an applied child and a cause are compared by.
//
// Form: `v1.<plain>` or, when sensitive values took part, `v1.<plain>.<key id>.<keyed>`. `plain` is the SHA-256 (128 bits
// of it) of the canonical JSON of the list of values, in which every sensitive string stands as a placeholder; `keyed` is
// the HMAC of the sensitive strings in their order, under a key that only the operator has. JSON frames itself, so no two
// different lists give the same bytes; keys are sorted, so arrival, listing and map order do not count; list order does.
import { createHmac, hash } from 'node:crypto';
import { canonicalJson } from '@capstan/kube';

/** The operator's secret key for digests of sensitive values. The id is public and part of every keyed digest. */
export interface DigestKey {
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
  return `${VERSION}.${sha256(canonicalJson(values))}`;
}

/**
 * The digest of values some of which may be sensitive. `isSensitive` is asked for every string; `key` is called only when
 * one is found.
 */
export function keyedDigest(
  values: readonly unknown[],
  isSensitive: (text: string) => boolean,
  key: () => DigestKey,
): string {
  const found: string[] = [];
  const masked = mask(values, isSensitive, found);
  if (found.length === 0) return plainDigest(...values);
  const { id, bytes } = key();
  const keyed = createHmac('sha256', bytes).update(JSON.stringify(found)).digest('hex').slice(0, HEX_DIGITS);
  return `${VERSION}.${sha256(canonicalJson(masked))}.${id}.${keyed}`;
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

/** Copies the value with sensitive strings replaced, in canonical order, so that `found` has one order for one value. */
function mask(value: unknown, isSensitive: (text: string) => boolean, found: string[]): unknown {
  if (typeof value === 'string') {
    if (!isSensitive(value)) return value;
    found.push(value);
    return PLACEHOLDER;
  }
  if (Array.isArray(value)) return value.map((item) => mask(item, isSensitive, found));
  if (value === null || typeof value !== 'object') return value;
  const masked: Record<string, unknown> = {};
  for (const name of Object.keys(value).toSorted()) {
    masked[name] = mask((value as Record<string, unknown>)[name], isSensitive, found);
  }
  return masked;
}
