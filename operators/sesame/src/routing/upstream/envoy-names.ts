import { hash } from 'node:crypto';

/** Names of clusters and virtual hosts are shorter than this, because Envoy's statistics are named by them. */
const MAX_NAME = 60;

/**
 * The parts, joined by slashes. Where that is too long, parts are shortened from the last one on, each with a piece of the
 * hash of the whole, until it fits.
 */
export function hashName(...parts: readonly string[]): string {
  const joined = parts.join('/');
  if (joined.length < MAX_NAME) return joined;
  const digest = hash('sha256', joined, 'hex');
  const shortened = [...parts];
  for (let index = parts.length - 1; index >= 0; index -= 1) {
    shortened[index] = truncate(Math.floor(MAX_NAME / parts.length), parts[index] ?? '', digest.slice(0, 6));
    const result = shortened.join('/');
    if (result.length < MAX_NAME) return result;
  }
  return digest.slice(0, MAX_NAME);
}

export function truncate(length: number, text: string, suffix: string): string {
  if (text.length < length) return text;
  // Room for nothing but the suffix.
  if (length <= suffix.length) return suffix.slice(0, length);
  return `${text.slice(0, length - suffix.length - 1)}-${suffix}`;
}

/** The first five bytes of the SHA-1, as hexadecimal. */
export function shortHash(text: string): string {
  if (text === '') return NOTHING;
  return hash('sha1', text, 'hex').slice(0, 10);
}

/** Of a cluster for which nothing is configured: that is most of them. */
const NOTHING = hash('sha1', '', 'hex').slice(0, 10);
