// Single values of a backend's fields as people write them: quoted, in other cases, as numbers or texts.
import { parseDuration } from '@capstan/kube';

/** A fault of one field, with its path in the object. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

export type Parsed<V> = { readonly value: V } | { readonly fault: string };

/** A text without the blanks and quotation marks around it; undefined when nothing is left. */
export function bare(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const stripped = text.replaceAll(/^[\s"'“”‘’]+|[\s"'“”‘’]+$/g, '');
  return stripped === '' ? undefined : stripped;
}

/** One of these words, in whatever case. */
export function parseWord<V extends string>(
  written: unknown,
  words: readonly V[],
  also: Readonly<Record<string, V>> = {},
): Parsed<V> {
  const folded = bare(written)?.toLowerCase() ?? '';
  const value = words.find((word) => word.toLowerCase() === folded) ?? also[folded];
  return value === undefined ? { fault: `${JSON.stringify(written)} is none of ${words.join(', ')}` } : { value };
}

/** True or false, as a text too. */
export function parseFlag(written: unknown): Parsed<boolean> {
  if (typeof written === 'boolean') return { value: written };
  const folded = bare(written)?.toLowerCase();
  if (folded === 'true' || folded === 'false') return { value: folded === 'true' };
  return { fault: `${JSON.stringify(written)} is neither true nor false` };
}

/** Whole seconds, written as a number, as digits, or as a duration (30s, 5m); rounded up. */
export function parseSeconds(written: unknown, least: number, most: number): Parsed<number> {
  const seconds = secondsOf(written);
  if (seconds === undefined || Number.isNaN(seconds))
    return { fault: `${JSON.stringify(written)} is neither a number of seconds nor a duration like 30s or 5m` };
  if (seconds < least || seconds > most)
    return { fault: `${JSON.stringify(written)} is not between ${least} s and ${most} s` };
  return { value: seconds };
}

function secondsOf(written: unknown): number | undefined {
  if (typeof written === 'number') return Math.ceil(written);
  const text = bare(written);
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  try {
    return Math.ceil(parseDuration(text) / 1000);
  } catch {
    return undefined;
  }
}

/** The address of an API: http or https, without credentials in it. */
export function parseEndpoint(written: unknown): Parsed<string> {
  const text = bare(written) ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return { fault: 'it is no http or https address' };
  // The text itself stays out of the message: it holds a password.
  if (url.username !== '' || url.password !== '')
    return { fault: 'credentials belong in the Secret, not in the address' };
  return { value: text };
}
