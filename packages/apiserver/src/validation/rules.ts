// The rules that the kinds share, in kube-apiserver's words. A rule adds what is wrong to a list; a path names the field.
import { isIP } from 'node:net';
import {
  compileLabelSelector,
  type LabelSelector,
  validateDns1123Label,
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

export function labelSelector(errors: Errors, path: string, selector: LabelSelector | undefined): void {
  labels(errors, `${path}.matchLabels`, selector?.matchLabels);
  for (const [index, expression] of (selector?.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const { key, operator, values = [] } = expression;
    switch (operator) {
      case 'In':
      case 'NotIn':
        if (values.length === 0) {
          errors.push(fieldRequired(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        break;
      case 'Exists':
      case 'DoesNotExist':
        if (values.length > 0) {
          const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
          errors.push(fieldForbidden(`${at}.values`, detail));
        }
        break;
      default:
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

export function ipAddress(errors: Errors, path: string, value: string): boolean {
  if (isIP(value) !== 0) return true;
  errors.push(fieldInvalid(path, value, IP_TEXT));
  return false;
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
