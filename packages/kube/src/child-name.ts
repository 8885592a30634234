// Names that Capstan gives. A child's name is computed from its owner's, so that a restart finds the child again; where it
// does not fit, it is cut and ends in a hash of everything it was built from, so that two names that are cut alike differ.
import { createHash } from 'node:crypto';
import type { Random } from './clock.ts';
import { ValueErrors } from './errors.ts';

/** Kubernetes' alphabet for random names: no vowels, so no words, and nothing that reads like another character. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const MAX_NAME = 63;
/** 27^10 is 47 bits: a million names that are cut alike collide with a chance of 1 in 400. */
const HASH_LENGTH = 10;
const GENERATED_LENGTH = 5;

/**
 * The parts joined by dashes, when that is a DNS label of at most 63 characters; else a readable beginning and a hash of
 * the parts. What a DNS label cannot hold (upper case, dots, slashes) counts as cut: `My.App` becomes `my-app-…`.
 */
export function childName(base: string, ...parts: string[]): string {
  return childNameWithin(MAX_NAME, base, ...parts);
}

/** Like childName, for another limit: 52 for a CronJob, say. */
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
  // The list and not the joined text: `a`, `b-c` and `a-b`, `c` are not the same.
  const hash = shortHash(JSON.stringify([base, ...parts]));
  return readable === '' ? hash : `${readable}-${hash}`;
}

/** The name that metadata.generateName stands for: the prefix (cut to 58) and five random characters. */
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
