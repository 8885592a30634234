import { isIP } from 'node:net';
import { parseDuration, validateDns1123Label, validateDns1123Subdomain } from '@capstan/kube/values';
import { errorAt, type Problem, type ProblemReason, shown, warningAt } from '../problem.ts';

/** Collects problems; each check reads one value and reports it under its path. */
export class Findings {
  readonly problems: Problem[] = [];

  error(path: string, reason: ProblemReason, message: string): void {
    this.problems.push(errorAt(path, reason, message));
  }

  ignored(path: string, message: string): void {
    this.problems.push(warningAt(path, 'FieldIgnored', 'Ignored', message));
  }

  /** A part of the configuration that is left out, while all others take effect. */
  leftOut(path: string, reason: ProblemReason, message: string): void {
    this.problems.push(warningAt(path, 'PatchRefused', reason, message));
  }

  port(path: string, value: number): void {
    if (value < 1 || value > 65_535)
      this.error(path, 'OutOfRange', `must be between 1 and 65535 (${value}); choose another port`);
  }

  range(path: string, value: number | undefined, min: number, max: number): void {
    if (value !== undefined && (value < min || value > max))
      this.error(path, 'OutOfRange', `must be between ${min} and ${max} (${value}); correct it`);
  }

  atLeast(path: string, value: number | undefined, min: number): void {
    if (value !== undefined && value < min)
      this.error(path, 'OutOfRange', `must be at least ${min} (${value}); raise it, or remove it for the default`);
  }

  /** A number from 1 that Envoy holds in 32 bits. */
  count(path: string, value: number | undefined, max = UINT32_MAX): void {
    this.atLeast(path, value, 1);
    if (value !== undefined && value > max)
      this.error(path, 'OutOfRange', `must be at most ${max} (${value}); lower it, or remove it for the default`);
  }

  oneOf(path: string, value: string | undefined, allowed: readonly string[]): void {
    if (value !== undefined && !allowed.includes(value))
      this.error(path, 'NotSupported', `must be ${listed(allowed)} (${shown(value)}); use one of these`);
  }

  /** An IP address or a host name to bind. */
  address(path: string, value: string): void {
    if (value === '') this.error(path, 'Required', 'must not be empty; give an IP address or a host name');
    else if (isIP(value) === 0 && validateDns1123Subdomain(value.toLowerCase()).length > 0)
      this.error(path, 'InvalidValue', `must be an IP address or a host name (${shown(value)}); correct it`);
  }

  /** An address that Envoy binds: it resolves no names there. */
  envoyAddress(path: string, value: string): void {
    if (value === '') this.error(path, 'Required', 'must not be empty; give an IP address');
    else if (isIP(value) === 0)
      this.error(path, 'InvalidValue', `must be an IP address (${shown(value)}); Envoy does not resolve names here`);
  }

  notEmpty(path: string, value: string): void {
    if (value.trim() === '')
      this.error(path, 'Required', 'must not be empty; give a value, or remove it for the default');
  }

  duration(path: string, value: string, atLeastMs: number): void {
    let ms: number;
    try {
      ms = parseDuration(value);
    } catch {
      this.error(path, 'InvalidValue', `must be a duration (${shown(value)}); write it as in 500ms, 15s or 1m30s`);
      return;
    }
    if (ms < atLeastMs)
      this.error(path, 'OutOfRange', `must be more than zero (${shown(value)}); write it as in 500ms, 15s or 1m30s`);
  }

  namespaceName(path: string, value: string): void {
    if (validateDns1123Label(value).length > 0)
      this.error(path, 'InvalidValue', `must be the name of a namespace (${shown(value)}); correct it`);
  }

  objectName(path: string, value: string): void {
    if (validateDns1123Subdomain(value).length > 0)
      this.error(path, 'InvalidValue', `must be the name of an object (${shown(value)}); correct it`);
  }

  /** A reference that the user gave: name and namespace, or none of them. */
  reference(path: string, value: { name?: string | undefined; namespace?: string | undefined } | undefined): void {
    const name = value?.name?.trim() ?? '';
    const namespace = value?.namespace?.trim() ?? '';
    if (name === '' && namespace === '') return;
    if (name === '')
      this.error(
        `${path}.name`,
        'Incomplete',
        `must be given with namespace (${shown(namespace)}); give both, or neither`,
      );
    else this.objectName(`${path}.name`, name);
    if (namespace === '')
      this.error(`${path}.namespace`, 'Incomplete', `must be given with name (${shown(name)}); give both, or neither`);
    else this.namespaceName(`${path}.namespace`, namespace);
  }

  /** `namespace/name`. */
  qualifiedName(path: string, value: string): void {
    const [namespace = '', name = '', ...more] = value.split('/');
    if (namespace === '' || name === '' || more.length > 0)
      this.error(path, 'InvalidValue', `must be namespace/name (${shown(value)}); correct it`);
    else {
      this.namespaceName(path, namespace);
      this.objectName(path, name);
    }
  }

  headerValue(path: string, value: string): void {
    if (/[\0\r\n]/.test(value))
      this.error(path, 'InvalidValue', `has a line break or a NUL (${shown(value)}); remove it`);
  }

  headerName(path: string, value: string): void {
    if (!HEADER.test(value))
      this.error(
        path,
        'InvalidValue',
        `is not the name of a header (${shown(value)}); use letters, digits and hyphens`,
      );
  }
}

const UINT32_MAX = 4_294_967_295;

/** A token of HTTP. */
const HEADER = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function listed(values: readonly string[]): string {
  const shownValues = values.map((value) => (value === '' ? 'empty' : value));
  return shownValues.length < 2
    ? (shownValues[0] ?? '')
    : `${shownValues.slice(0, -1).join(', ')} or ${shownValues.at(-1) ?? ''}`;
}
