import { validateDns1123Label, validateDns1123Subdomain, validatePathSegment } from '@capstan/kube';

/** Returns the problems of a name. `prefix`: it is a generateName, whose end may be a dash. */
export type NameRule = (name: string, prefix: boolean) => string[];

// A generateName is judged by a name that it could give.
const masked = (name: string, prefix: boolean) => (prefix && name.endsWith('-') ? `${name.slice(0, -1)}a` : name);

export const subdomain: NameRule = (name, prefix) => validateDns1123Subdomain(masked(name, prefix));
export const label: NameRule = (name, prefix) => validateDns1123Label(masked(name, prefix));
/** Names that only have to fit into a path: roles and their bindings. */
export const pathSegment: NameRule = (name) => validatePathSegment(name);

// No vowels and no digits that look like them, so that no word comes out.
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_NAME = 63;

/** generateName and five random characters; a long prefix is cut so that the name stays within 63. */
export function generateName(prefix: string, random: () => number): string {
  let name = prefix.slice(0, MAX_NAME - SUFFIX_LENGTH);
  for (let count = 0; count < SUFFIX_LENGTH; count += 1) name += ALPHABET[Math.floor(random() * ALPHABET.length)];
  return name;
}
