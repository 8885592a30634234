// The shared rules of the kinds, in kube-apiserver's words. A rule adds its errors to a list; a path names the field.
import { isIP } from 'node:net';
import {
  compileLabelSelector,
  type LabelSelector,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validatePortName,
  validateQualifiedName,
} from '@capstan/kube';
import { type FieldError, fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';

export type Errors = FieldError[];

export const fieldDuplicate = (field: string, value: unknown): FieldError => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(value)}`,
});

export const fieldNotFound = (field: string, value: unknown, detail = ''): FieldError => ({
  field,
  reason: 'FieldValueNotFound',
  message: `Not found: ${JSON.stringify(value)}${detail === '' ? '' : `: ${detail}`}`,
});

export const fieldTooLong = (field: string, limit: number): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} bytes`,
});

export const fieldTooMany = (field: string, count: number, limit: number): FieldError => ({
  field,
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${limit} items`,
});

/** Adds each problem that a name validator found. */
export function named(errors: Errors, path: string, value: string, problems: readonly string[]): void {
  for (const problem of problems) errors.push(fieldInvalid(path, value, problem));
}

/** A name of one label, which has to be there. */
export function requiredLabel(errors: Errors, path: string, value: string | undefined): void {
  if (value === undefined || value === '') errors.push(fieldRequired(path));
  else named(errors, path, value, validateDns1123Label(value));
}

export const NOT_NEGATIVE = 'must be greater than or equal to 0';

export function notNegative(errors: Errors, path: string, value: number | undefined): void {
  if (value !== undefined && value < 0) errors.push(fieldInvalid(path, value, NOT_NEGATIVE));
}

export function portNumber(errors: Errors, path: string, value: number): void {
  if (value < 1 || value > 65_535) errors.push(fieldInvalid(path, value, 'must be between 1 and 65535, inclusive'));
}

export function portNumberOrName(errors: Errors, path: string, value: number | string): void {
  if (typeof value === 'number') portNumber(errors, path, value);
  else named(errors, path, value, validatePortName(value));
}

export function oneOf(errors: Errors, path: string, value: string | undefined, supported: readonly string[]): void {
  if (value === undefined || value === '') errors.push(fieldRequired(path));
  else if (!supported.includes(value)) errors.push(fieldNotSupported(path, value, supported));
}

/** As `oneOf`, of a field that may be left out. */
export function supported(errors: Errors, path: string, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && !known.includes(value)) errors.push(fieldNotSupported(path, value, known));
}

export const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

export const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

export function between(errors: Errors, path: string, value: number | undefined, least: number, most: number): void {
  if (value === undefined || (value >= least && value <= most)) return;
  errors.push(fieldInvalid(path, value, `must be between ${least} and ${most}, inclusive`));
}

export const MAX_INT32 = 2_147_483_647;

/** A number that names a user or a group of the machine. */
export function accountId(errors: Errors, path: string, value: number | undefined): void {
  between(errors, path, value, 0, MAX_INT32);
}

/** A path that stays inside of where it begins. */
export function descendingPath(errors: Errors, path: string, value: string): void {
  if (value.startsWith('/')) errors.push(fieldInvalid(path, value, 'must be a relative path'));
  noBacksteps(errors, path, value);
}

export function noBacksteps(errors: Errors, path: string, value: string): void {
  if (value.split('/').includes('..')) errors.push(fieldInvalid(path, value, "must not contain '..'"));
}

/** A descending path whose first part is not one of those that the kubelet uses itself (`..data`). */
export function filePath(errors: Errors, path: string, value: string): void {
  descendingPath(errors, path, value);
  if (value.startsWith('..') && !value.startsWith('../')) {
    errors.push(fieldInvalid(path, value, "must not start with '..'"));
  }
}

export function immutable(errors: Errors, path: string, value: unknown, before: unknown): void {
  if (!equalJson(value, before)) errors.push(fieldInvalid(path, value, 'field is immutable'));
}

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** Checks a name of the form `example.com/path`. */
export function domainPath(errors: Errors, path: string, value: string): void {
  const slash = value.indexOf('/');
  if (value === '') errors.push(fieldRequired(path));
  else if (slash < 1 || slash === value.length - 1) {
    errors.push(fieldInvalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  } else {
    const [host, rest] = [value.slice(0, slash), value.slice(slash + 1)];
    named(errors, path, host, validateDns1123Subdomain(host));
    if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest)) errors.push(fieldInvalid(path, rest, PATH));
  }
}

const PATH = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/** A number or a percentage, neither negative. */
export function amount(errors: Errors, path: string, value: number | string | undefined): void {
  if (typeof value === 'number') notNegative(errors, path, value);
  else if (typeof value === 'string' && !/^[0-9]+%$/.test(value)) errors.push(fieldInvalid(path, value, PERCENT));
}

export function atMostAll(errors: Errors, path: string, value: number | string | undefined): void {
  if (typeof value !== 'string' || !/^[0-9]+%$/.test(value) || Number.parseInt(value, 10) <= 100) return;
  errors.push(fieldInvalid(path, value, 'must not be greater than 100%'));
}

export function labels(errors: Errors, path: string, value: Readonly<Record<string, string>> | undefined): void {
  for (const [key, text] of Object.entries(value ?? {})) {
    named(errors, path, key, validateQualifiedName(key));
    named(errors, path, text, validateLabelValue(text));
  }
}

/** Whether the operator is one of those that all selectors have; the number of its values is checked then. */
export function isSetOperator(errors: Errors, at: string, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        errors.push(fieldRequired(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      }
      return true;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        errors.push(fieldForbidden(`${at}.values`, detail));
      }
      return true;
    default:
      return false;
  }
}

export function labelSelector(errors: Errors, path: string, selector: LabelSelector | undefined): void {
  labels(errors, `${path}.matchLabels`, selector?.matchLabels);
  for (const [index, expression] of (selector?.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const { key, operator, values = [] } = expression;
    if (!isSetOperator(errors, at, operator, values)) {
      errors.push(fieldInvalid(`${at}.operator`, operator, 'not a valid selector operator'));
    }
    named(errors, `${at}.key`, key, validateQualifiedName(key));
    for (const [place, one] of values.entries()) named(errors, `${at}.values[${place}]`, one, validateLabelValue(one));
  }
}

/** Whether labels are selected; undefined: the selector is none. */
export function selects(
  selector: LabelSelector | undefined,
  given: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  try {
    return compileLabelSelector(selector).matches(given ?? {});
  } catch {
    return undefined;
  }
}

const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Keys of config maps and secrets, which become names of files. */
export function configKeyProblems(key: string): string[] {
  const problems: string[] = [];
  if (key.length > 253) problems.push('must be no more than 253 characters');
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) problems.push(CONFIG_KEY);
  if (key === '.') problems.push("must not be '.'");
  else if (key === '..') problems.push("must not be '..'");
  else if (key.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

const IP_TEXT = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

/** Leading zeros, which some programs read as octal: such texts look like addresses and are refused. */
const PADDED = /^(\d{1,3}\.){3}\d{1,3}$/;

export function ipAddress(errors: Errors, path: string, value: string): boolean {
  const problem =
    isIP(value) === 0
      ? PADDED.test(value) && value.split('.').every((part) => Number(part) < 256)
        ? 'must not have leading 0s'
        : IP_TEXT
      : isMapped(value)
        ? 'must not be an IPv4-mapped IPv6 address'
        : undefined;
  if (problem === undefined) return true;
  errors.push(fieldInvalid(path, value, problem));
  return false;
}

const isMapped = (address: string) => isIP(address) === 6 && /^(::|(0+:){5})ffff:/i.test(address);

const CIDR_TEXT = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

/** A block of addresses, which names its first one. */
export function cidr(errors: Errors, path: string, value: string): void {
  const block = parsedBlock(value);
  const refuse = (detail: string) => errors.push(fieldInvalid(path, value, detail));
  if (!block) {
    const [address = '', length = ''] = value.split('/');
    const bare = address.split('.').map(Number).join('.');
    const isPadded = PADDED.test(address) && parsedBlock(`${bare}/${Number(length)}`) !== undefined;
    refuse(isPadded ? 'must not have leading 0s in IP or prefix length' : CIDR_TEXT);
  } else if (/\/0\d/.test(value)) refuse('must not have leading 0s in IP or prefix length');
  else if (isMapped(block.address)) refuse('must not have an IPv4-mapped IPv6 address');
  else if (!isFirst(block)) refuse('must not have bits set beyond the prefix length');
}

export interface ParsedBlock {
  address: string;
  length: number;
  family: 'ipv4' | 'ipv6';
}

export function parsedBlock(value: string): ParsedBlock | undefined {
  const [, address = '', digits = ''] = /^([^/]*)\/(\d{1,3})$/.exec(value) ?? [];
  const kind = isIP(address);
  const length = Number(digits);
  if (kind === 0 || length > (kind === 4 ? 32 : 128)) return undefined;
  return { address, length, family: kind === 4 ? 'ipv4' : 'ipv6' };
}

function isFirst({ address, length, family }: ParsedBlock): boolean {
  const bits = bitsOf(address, family);
  return !bits.slice(length).includes('1');
}

function bitsOf(address: string, family: ParsedBlock['family']): string {
  if (family === 'ipv4')
    return address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('');
  // The last 32 bits may be written as an IPv4 address.
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = '', tail] = text.split('::');
  const groups = (part: string | undefined) => (part ? part.split(':') : []);
  const [front, back] = [groups(head), groups(tail)];
  const middle = Array.from({ length: 8 - front.length - back.length }, () => '0');
  const all = [...front, ...middle, ...back];
  return all.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
}

/**
 * An address to which traffic is sent. Loopback addresses are refused as by Kubernetes, except those that are ours: pods and
 * Services of the embedded cluster have theirs in 127.64.0.0/10.
 */
export function endpointAddress(errors: Errors, path: string, value: string): void {
  const refuse = (detail: string) => errors.push(fieldInvalid(path, value, detail));
  if (value === '0.0.0.0' || value === '::') refuse(`may not be unspecified (${value})`);
  const [first = 0, second = 0, third = 0] = value.split('.').map(Number);
  const isLoopback = value === '::1' || (isIP(value) === 4 && first === 127 && (second < 64 || second > 127));
  if (isLoopback) refuse('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if ((first === 169 && second === 254) || /^fe[89ab]/i.test(value)) {
    refuse('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  }
  if ((first === 224 && second === 0 && third === 0) || /^ff02:/i.test(value)) {
    refuse('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  }
}
