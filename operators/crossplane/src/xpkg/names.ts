// Names of revisions, built from a package's name and its digest exactly as upstream makes them, so that revisions that
// are in a cluster already keep their names.

/** The name of a revision: 50 characters of the package's name and 12 of its digest's hex, as a DNS label. */
export function friendlyId(name: string, hash: string): string {
  return toDnsLabel(`${name.slice(0, 50)}-${hash.slice(0, 12)}`);
}

/**
 * A DNS label of any text. Only `a-z0-9` and the separators `. / : -` (as dashes) stay: upper case is dropped and not
 * lowered. A separator at the first, the 63rd or the last place is dropped too.
 */
export function toDnsLabel(text: string): string {
  const bytes = Buffer.from(text);
  const last = Math.min(bytes.length - 1, 62);
  let label = '';
  for (let i = 0; i <= last; i++) {
    const character = String.fromCharCode(bytes[i] ?? 0);
    if (/[a-z0-9]/.test(character)) label += character;
    else if (/[./:-]/.test(character) && i !== 0 && i !== 62 && i !== bytes.length - 1) label += '-';
  }
  return label.replace(/^-+|-+$/g, '');
}
