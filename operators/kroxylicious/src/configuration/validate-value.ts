// Small checks from which the validator is built. Each checks one value and reports a problem with its path.

export interface Fault {
  /** `virtualClusters[0].gateways[1].tls` */
  readonly path: string;
  readonly problem: string;
}

export type Check = (value: unknown, path: string) => readonly Fault[];

const NONE: readonly Fault[] = [];

export function fault(path: string, problem: string): readonly Fault[] {
  return [{ path: path === '' ? '.' : path, problem }];
}

export interface Field {
  readonly check: Check;
  readonly required?: boolean;
}

export const required = (check: Check): Field => ({ check, required: true });
export const optional = (check: Check): Field => ({ check });

/**
 * Checks an object that has these fields and no others, since the proxy refuses unknown fields. `together` runs once all fields are valid.
 */
export function object(fields: Readonly<Record<string, Field>>, together?: Check): Check {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return fault(path, 'must be an object');
    const given = value as Record<string, unknown>;
    const found: Fault[] = [];
    for (const name of Object.keys(given))
      if (!Object.hasOwn(fields, name) && given[name] !== undefined)
        found.push(...fault(join(path, name), 'is not a field that the proxy knows'));
    for (const [name, { check, required: isRequired }] of Object.entries(fields)) {
      const part = given[name];
      if (part !== undefined) found.push(...check(part, join(path, name)));
      else if (isRequired) found.push(...fault(join(path, name), 'is missing'));
    }
    return found.length > 0 ? found : (together?.(value, path) ?? NONE);
  };
}

export function list(
  item: Check,
  { min = 0, unique }: { min?: number; unique?: (item: unknown) => string } = {},
): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return fault(path, 'must be a list');
    const found: Fault[] = value.length < min ? [...fault(path, `must have at least ${min} item`)] : [];
    const seen = new Set<string>();
    for (const [i, one] of value.entries()) {
      const faults = item(one, `${path}[${i}]`);
      found.push(...faults);
      if (unique === undefined || faults.length > 0) continue;
      const name = unique(one);
      if (seen.has(name)) found.push(...fault(`${path}[${i}]`, `"${name}" is there twice`));
      seen.add(name);
    }
    return found;
  };
}

export function text(pattern: RegExp = /./s, what = 'must not be empty'): Check {
  return (value, path) => {
    if (typeof value !== 'string') return fault(path, 'must be a string');
    return pattern.test(value) ? NONE : fault(path, `"${value}" ${what}`);
  };
}

export function oneOf(...values: readonly string[]): Check {
  return (value, path) =>
    values.includes(value as string) ? NONE : fault(path, `must be one of ${values.join(', ')}`);
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  return (value, path) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? NONE
      : fault(path, `must be a whole number from ${min} to ${max}`);
}

export const bool: Check = (value, path) => (typeof value === 'boolean' ? NONE : fault(path, 'must be true or false'));

/** Accepts any object: the configuration of a plugin. */
export const anyObject: Check = (value, path) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? NONE : fault(path, 'must be an object');

/** Checks that exactly one of these fields is set. */
export function exactlyOne(...names: readonly string[]): Check {
  return (value, path) => {
    const given = names.filter((name) => (value as Record<string, unknown>)[name] !== undefined);
    return given.length === 1 ? NONE : fault(path, `must have exactly one of ${names.join(', ')}`);
  };
}

export function all(...checks: readonly Check[]): Check {
  return (value, path) => checks.flatMap((check) => check(value, path));
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
