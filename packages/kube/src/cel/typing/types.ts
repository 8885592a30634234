// The static types of CEL, and the two questions of the type check: whether a value of one type is assignable to another, and to which
// types the parameters of a function are bound in a call.

export type SimpleKind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'dyn'
  | 'error'
  | 'timestamp'
  | 'duration';

export type CelType =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'list'; readonly of: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'optional'; readonly of: CelType }
  | { readonly kind: 'type'; readonly of: CelType | undefined }
  /** A parameter of a function's signature, or a type that is not known yet. */
  | { readonly kind: 'param'; readonly name: string }
  /** A type of a library, by its name. */
  | { readonly kind: 'opaque'; readonly name: string }
  | ObjectType;

/** A type with named fields; two are the same type when they have the same name. */
export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  readonly fields: ReadonlyMap<string, CelType>;
}

export const BOOL: CelType = { kind: 'bool' };
export const INT: CelType = { kind: 'int' };
export const UINT: CelType = { kind: 'uint' };
export const DOUBLE: CelType = { kind: 'double' };
export const STRING: CelType = { kind: 'string' };
export const BYTES: CelType = { kind: 'bytes' };
export const NULL: CelType = { kind: 'null' };
export const DYN: CelType = { kind: 'dyn' };
/** The type of an expression with an error. It fits every other type, so that one mistake is reported once. */
export const ERROR: CelType = { kind: 'error' };
export const TIMESTAMP: CelType = { kind: 'timestamp' };
export const DURATION: CelType = { kind: 'duration' };

export const listOf = (of: CelType): CelType => ({ kind: 'list', of });
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value });
export const optionalOf = (of: CelType): CelType => ({ kind: 'optional', of });
export const typeOfType = (of: CelType | undefined): CelType => ({ kind: 'type', of });
export const param = (name: string): CelType => ({ kind: 'param', name });
export const opaque = (name: string): CelType => ({ kind: 'opaque', name });

/** Formats a type as in error messages: `map(string, list(int))`. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.of)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case 'optional':
      return `optional_type(${formatType(type.of)})`;
    case 'type':
      return type.of ? `type(${formatType(type.of)})` : 'type';
    case 'param':
    case 'object':
    case 'opaque':
      return type.name;
    case 'error':
      return '!error!';
    default:
      return type.kind;
  }
}

export function isDyn(type: CelType): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

/** The types to which parameters are bound. It grows while an expression is checked, so a failed trial must not copy it. */
export class Substitution {
  readonly #types = new Map<string, CelType>();
  /** The bindings before the trial, in the order in which it replaced them. */
  readonly #replaced: [name: string, type: CelType | undefined][] = [];

  get(name: string): CelType | undefined {
    return this.#types.get(name);
  }

  has(name: string): boolean {
    return this.#types.has(name);
  }

  set(name: string, type: CelType): void {
    this.#replaced.push([name, this.#types.get(name)]);
    this.#types.set(name, type);
  }

  /** Runs a trial, and takes its bindings back if it fails. */
  keepIf(trial: () => boolean): boolean {
    this.#replaced.length = 0;
    if (trial()) return true;
    for (const [name, type] of this.#replaced.toReversed()) {
      if (type) this.#types.set(name, type);
      else this.#types.delete(name);
    }
    return false;
  }
}

/** Replaces the parameters of a type by the types to which they are bound. Unbound parameters become dyn if `isFinal`. */
export function substitute(bound: Substitution, type: CelType, isFinal = false): CelType {
  switch (type.kind) {
    case 'param': {
      const known = bound.get(type.name);
      if (known) return substitute(bound, known, isFinal);
      return isFinal ? DYN : type;
    }
    case 'list':
      return listOf(substitute(bound, type.of, isFinal));
    case 'optional':
      return optionalOf(substitute(bound, type.of, isFinal));
    case 'map':
      return mapOf(substitute(bound, type.key, isFinal), substitute(bound, type.value, isFinal));
    case 'type':
      return type.of ? typeOfType(substitute(bound, type.of, isFinal)) : type;
    default:
      return type;
  }
}

/** Reports whether the actual types fit the formal ones. Parameters are bound only if all types fit. */
export function allAssignable(bound: Substitution, actual: readonly CelType[], formal: readonly CelType[]): boolean {
  if (actual.length !== formal.length) return false;
  return bound.keepIf(() => actual.every((type, index) => assignable(bound, type, formal[index] as CelType)));
}

/** Reports whether a value of type `from` is assignable to `to`. */
export function isAssignable(bound: Substitution, from: CelType, to: CelType): boolean {
  return allAssignable(bound, [from], [to]);
}

function assignable(bound: Substitution, from: CelType, to: CelType): boolean {
  if (to.kind === 'param') {
    if (from.kind === 'param' && from.name === to.name) return true;
    const known = bound.get(to.name);
    if (known) return widened(bound, to.name, known, from, assignable(bound, from, known));
    if (from.kind === 'param' && bound.has(from.name)) {
      return assignable(bound, bound.get(from.name) as CelType, to);
    }
    if (occurs(bound, to.name, from)) return false;
    bound.set(to.name, from);
    return true;
  }
  if (from.kind === 'param') {
    const known = bound.get(from.name);
    if (known) return widened(bound, from.name, known, to, assignable(bound, known, to));
    if (occurs(bound, from.name, to)) return false;
    bound.set(from.name, to);
    return true;
  }
  if (isDyn(from) || isDyn(to)) return true;
  if (from.kind === 'null') return NULLABLE.has(to.kind);
  if (from.kind !== to.kind) return false;
  switch (from.kind) {
    case 'list':
    case 'optional':
      return assignable(bound, from.of, (to as { of: CelType }).of);
    case 'map': {
      const other = to as typeof from;
      return assignable(bound, from.key, other.key) && assignable(bound, from.value, other.value);
    }
    case 'object':
    case 'opaque':
      return from.name === (to as { name: string }).name;
    default:
      return true;
  }
}

const NULLABLE: ReadonlySet<CelType['kind']> = new Set([
  'null',
  'object',
  'opaque',
  'timestamp',
  'duration',
  'optional',
]);

// Binds the parameter to the more general of two types that fit each other.
function widened(bound: Substitution, name: string, known: CelType, other: CelType, fits: boolean): boolean {
  if (fits && !(other.kind === 'param' && other.name === name)) bound.set(name, mostGeneral(known, other));
  return fits;
}

export function mostGeneral(a: CelType, b: CelType): CelType {
  if (isDyn(a) || b.kind === 'param') return a;
  return isDyn(b) || a.kind === 'null' || isMoreGeneralInside(b, a) ? b : a;
}

function isMoreGeneralInside(a: CelType, b: CelType): boolean {
  if (a.kind === 'list' && b.kind === 'list') return isDyn(a.of) && !isDyn(b.of);
  if (a.kind === 'map' && b.kind === 'map') return isDyn(a.value) && !isDyn(b.value);
  return false;
}

function occurs(bound: Substitution, name: string, type: CelType): boolean {
  switch (type.kind) {
    case 'param': {
      if (type.name === name) return true;
      const known = bound.get(type.name);
      return known !== undefined && occurs(bound, name, known);
    }
    case 'list':
    case 'optional':
      return occurs(bound, name, type.of);
    case 'map':
      return occurs(bound, name, type.key) || occurs(bound, name, type.value);
    case 'type':
      return type.of !== undefined && occurs(bound, name, type.of);
    default:
      return false;
  }
}

/** Parses a type of a signature. Single capital letters are parameters. */
export function parseType(text: string): CelType {
  const simple = SIMPLE[text];
  if (simple) return simple;
  if (/^[A-Z]$/.test(text)) return param(text);
  const [, outer, inner] = /^(list|map|optional|type)\((.*)\)$/.exec(text) ?? [];
  if (outer === undefined || inner === undefined) return opaque(text);
  const parts = splitTypes(inner);
  if (outer === 'map') return mapOf(parseType(parts[0] ?? ''), parseType(parts[1] ?? ''));
  const of = parseType(inner);
  return outer === 'list' ? listOf(of) : outer === 'optional' ? optionalOf(of) : typeOfType(of);
}

/** Splits at the commas that are not inside parentheses. */
export function splitTypes(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (const [at, char] of Array.from(text).entries()) {
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === ',' && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  const last = text.slice(start).trim();
  return last === '' ? parts : [...parts, last];
}

const SIMPLE: Readonly<Record<string, CelType>> = {
  bool: BOOL,
  int: INT,
  uint: UINT,
  double: DOUBLE,
  string: STRING,
  bytes: BYTES,
  null: NULL,
  dyn: DYN,
  timestamp: TIMESTAMP,
  duration: DURATION,
  type: typeOfType(undefined),
};
