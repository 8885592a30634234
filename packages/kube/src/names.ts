// The rules for names, in kube-apiserver's words. Each validator returns the list of problems, which is empty for a valid name. Lengths
// count bytes, as on the server, although some messages call them characters.

// The patterns that messages show.
const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const WILDCARD = `\\*\\.${SUBDOMAIN}`;
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const KEY_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${KEY_NAME})?`;

// These patterns match the same names but refuse a long invalid name in linear time. The patterns above backtrack.
const isLabel = /^[a-z0-9]+(?:-+[a-z0-9]+)*$/;
const isSubdomain = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/;
const isLabel1035 = /^[a-z][a-z0-9]*(?:-+[a-z0-9]+)*$/;
const isKeyName = /^[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*$/;

const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;

/** Validates names of namespaces, and other names that become one part of a host name. */
export function validateDns1123Label(value: string): string[] {
  const errors = tooLong(value, MAX_LABEL);
  if (isLabel.test(value)) return errors;
  if (isSubdomain.test(value)) return [...errors, 'must not contain dots'];
  const rule = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ENDS}`;
  return [...errors, mismatch(rule, LABEL, 'my-name', '123-abc')];
}

/** Validates names of most kinds. */
export function validateDns1123Subdomain(value: string): string[] {
  return subdomainErrors(value, 'characters');
}

function subdomainErrors(value: string, unit: 'characters' | 'bytes'): string[] {
  const errors = tooLong(value, MAX_SUBDOMAIN, unit);
  if (isSubdomain.test(value)) return errors;
  const rule = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ENDS}`;
  return [...errors, mismatch(rule, SUBDOMAIN, 'example.com')];
}

/** Validates a host name that may start with a wildcard: `*.example.com`. */
export function validateWildcardDns1123Subdomain(value: string): string[] {
  const errors = tooLong(value, MAX_SUBDOMAIN);
  if (value.startsWith('*.') && isSubdomain.test(value.slice(2))) return errors;
  const rule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
  return [...errors, mismatch(rule, WILDCARD, '*.example.com')];
}

/** Validates names of Services, which must begin with a letter. */
export function validateDns1035Label(value: string): string[] {
  const errors = tooLong(value, MAX_LABEL);
  if (isLabel1035.test(value)) return errors;
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [...errors, mismatch(rule, LABEL_1035, 'my-name', 'abc-123')];
}

/** Validates keys of labels, finalizers and condition types: a name, or a domain, a slash and a name. */
export function validateQualifiedName(value: string): string[] {
  const parts = value.split('/');
  const [first = '', second] = parts;
  const pattern = mismatch(`must consist of ${KEY_CHARACTERS}, ${ENDS}`, KEY_NAME, 'MyName', 'my.name', '123-abc');
  if (parts.length > 2) {
    return [`a valid label key ${pattern} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const errors: string[] = [];
  const name = second ?? first;
  if (second !== undefined) {
    const problems = first === '' ? ['must be non-empty'] : subdomainErrors(first, 'bytes');
    errors.push(...problems.map((problem) => `prefix part ${problem}`));
  }
  if (name === '') errors.push('name part must be non-empty');
  else errors.push(...tooLong(name, MAX_LABEL, 'bytes').map((problem) => `name part ${problem}`));
  if (!isKeyName.test(name)) errors.push(`name part ${pattern}`);
  return errors;
}

/** Validates a qualified name in upper or lower case. */
export function validateAnnotationKey(value: string): string[] {
  return validateQualifiedName(value.toLowerCase());
}

export function validateLabelValue(value: string): string[] {
  const errors = tooLong(value, MAX_LABEL, 'bytes');
  if (value === '' || isKeyName.test(value)) return errors;
  const rule = `a valid label must be an empty string or consist of ${KEY_CHARACTERS}, ${ENDS}`;
  return [...errors, mismatch(rule, LABEL_VALUE, 'MyValue', 'my_value', '12345')];
}

/** Validates names that only have to fit into a path, such as those of roles and role bindings (`system:node`). */
export function validatePathSegment(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return ['/', '%'].filter((character) => value.includes(character)).map((one) => `may not contain '${one}'`);
}

/** Validates names of ports (IANA service names). */
export function validatePortName(value: string): string[] {
  const errors = tooLong(value, 15);
  if (!/^[-a-z0-9]+$/.test(value)) {
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter (a-z)');
  if (value.includes('--')) errors.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

const KEY_CHARACTERS = "alphanumeric characters, '-', '_' or '.'";
const ENDS = 'and must start and end with an alphanumeric character';

function tooLong(value: string, max: number, unit: 'characters' | 'bytes' = 'characters'): string[] {
  return Buffer.byteLength(value) > max ? [`must be no more than ${max} ${unit}`] : [];
}

function mismatch(rule: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${shown}regex used for validation is '${pattern}')`;
}
