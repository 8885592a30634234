// The names of objects that Capstan creates. The name of a child is computed from the name of its owner, so that a restart finds the child
// again. A name that is too long is cut and ends in a hash of all its parts, so that two names with the same beginning differ.
import { createHash } from 'node:crypto';
import type { Random } from './clock.ts';
import { ValueErrors } from './errors.ts';

/** Kubernetes' alphabet for random names. It has no vowels, so that no words appear, and no characters that look alike. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const MAX_NAME = 63;
/** 27^10 is 47 bits: among a million names with the same beginning, a collision has a chance of 1 in 400. */
const HASH_LENGTH = 10;
const GENERATED_LENGTH = 5;

/**
 * Joins the parts by dashes if the result is a DNS label of at most 63 characters. Otherwise, returns a readable beginning and a hash of
 * the parts. Characters that a DNS label cannot hold (upper case, dots, slashes) are replaced, and the hash is added: `My.App` becomes
 * `my-app-…`.
 */
export function childName(base: string, ...parts: string[]): string {
  return childNameWithin(MAX_NAME, base, ...parts);
}

/** Works like childName with another limit, for example 52 for a CronJob. */
export function childNameWithin(max: number, base: string, ...parts: string[]): string {
  if (max < HASH_LENGTH + 6) throw ValueErrors.ChildName(base, `${max} characters leave no space for a hash`);
  const joined = [base, ...parts].join('-');
  if (joined.length <= max && /^[a-z0-9]+(?:-+[a-z0-9]+)*$/.test(joined)) return joined;
  const readable = joined
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, max - HASH_LENGTH - 1)
    .replace(/-$/, '');
  // Hash the list and not the joined text: `a`, `b-c` and `a-b`, `c` are different children.
  const hash = shortHash(JSON.stringify([base, ...parts]));
  return readable === '' ? hash : `${readable}-${hash}`;
}

/** Returns a name for metadata.generateName: the prefix (cut to 58 characters) and five random characters. */
export function generateName(prefix: string, random: Random): string {
  let suffix = '';
  for (let i = 0; i < GENERATED_LENGTH; i++) suffix += ALPHABET[Math.floor(random() * ALPHABET.length)];
  return prefix.slice(0, MAX_NAME - GENERATED_LENGTH) + suffix;
}

function shortHash(text: string): string {
  const bytes = createHash('sha256').update(text).digest();
  const base = BigInt(ALPHABET.length);
  let rest = bytes.readBigUInt64BE();
  let hash = '';
  for (let i = 0; i < HASH_LENGTH; i++) {
    hash += ALPHABET[Number(rest % base)];
    rest /= base;
  }
  return hash;
}
