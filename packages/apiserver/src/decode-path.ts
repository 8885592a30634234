import { malformedPath } from './errors.ts';

/**
 * Replaces the escapes of a path, as Go does before it looks for a handler: an escaped slash divides like any other. Bytes that
 * are no UTF-8 become the replacement character, as they do in the JSON of a Status.
 */
export function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  if (MALFORMED.test(path)) throw malformedPath();
  const bytes = path.replaceAll(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

const MALFORMED = /%(?![0-9a-f]{2})/i;
