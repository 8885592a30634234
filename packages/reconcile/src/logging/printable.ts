import { isSensitiveName, REDACTED, type Redactor } from './redaction.ts';

/** A value as it may be printed: plain JSON data, finite, without secrets. */
export type Printable = string | number | boolean | null | Printable[] | { [name: string]: Printable };

export interface PrintableError {
  [name: string]: Printable;
  name: string;
  message: string;
}

const DEPTH = 6;
const ITEMS = 100;
const TEXT = 16_384;

/** Makes any value printable; never throws, and ends on circular values. */
export function printable(value: unknown, redactor: Redactor, depth = 0): Printable {
  try {
    return print(value, redactor, depth);
  } catch {
    return '[unprintable]';
  }
}

function print(value: unknown, redactor: Redactor, depth: number): Printable {
  switch (typeof value) {
    case 'string':
      return printText(value, redactor);
    case 'number':
      // Registered values may be digits only.
      return redactor.clean(String(value)) === String(value) && Number.isFinite(value)
        ? value
        : printText(String(value), redactor);
    case 'boolean':
      return value;
    case 'bigint':
      return printText(value.toString(), redactor);
    case 'undefined':
      return null;
    case 'symbol':
      return printText(value.toString(), redactor);
    case 'function':
      return `[function ${value.name}]`;
    case 'object':
      return value === null ? null : printObject(value, redactor, depth);
  }
}

/** A text without secrets, and not without end. */
export function printText(text: string, redactor: Redactor): string {
  // Cleaned before it is cut: half a secret is a secret too.
  const clean = redactor.clean(text);
  return clean.length <= TEXT ? clean : `${clean.slice(0, TEXT)}… (${clean.length - TEXT} more)`;
}

function printObject(value: object, redactor: Redactor, depth: number): Printable {
  if (value instanceof Error) return printableError(value, redactor, depth);
  if (depth >= DEPTH) return Array.isArray(value) ? '[…]' : '{…}';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof URL) return printText(value.href, redactor);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value) || value instanceof Set) return printList([...value], redactor, depth);
  const entries =
    value instanceof Map ? [...value].map(([key, item]) => [String(key), item] as const) : Object.entries(value);
  return printKubeObject(value, redactor) ?? printEntries(entries, redactor, depth);
}

function printList(items: readonly unknown[], redactor: Redactor, depth: number): Printable {
  const shown = items.slice(0, ITEMS).map((item) => printable(item, redactor, depth + 1));
  return items.length <= ITEMS ? shown : [...shown, `… (${items.length - ITEMS} more)`];
}

/** An object of the API is named, not dumped: its content may be long, and may be secret. */
function printKubeObject(value: object, redactor: Redactor): Printable | undefined {
  const { apiVersion, kind, metadata } = value as { apiVersion?: unknown; kind?: unknown; metadata?: unknown };
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof metadata !== 'object' || metadata === null) {
    return undefined;
  }
  const { namespace, name } = metadata as { namespace?: unknown; name?: unknown };
  const reference = [kind, namespace, name].filter((part): part is string => typeof part === 'string');
  return printText(reference.join('/'), redactor);
}

function printEntries(
  entries: readonly (readonly [string, unknown])[],
  redactor: Redactor,
  depth: number,
): { [name: string]: Printable } {
  // `{ name: 'DB_PASSWORD', value: … }`: the name of the value is itself a value.
  const named = entries.find(([key]) => key === 'name')?.[1];
  const isSecretVariable = typeof named === 'string' && isSensitiveName(named);
  const shown: { [name: string]: Printable } = {};
  for (const [key, value] of entries.slice(0, ITEMS)) {
    if (value === undefined) continue;
    const isSecret = isSensitiveName(key) || (isSecretVariable && key === 'value');
    shown[redactor.clean(key)] = isSecret ? hide(value) : printable(value, redactor, depth + 1);
  }
  if (entries.length > ITEMS) shown['…'] = `${entries.length - ITEMS} more`;
  return shown;
}

/** Whether a secret is there is no secret. */
function hide(value: unknown): Printable {
  return typeof value === 'boolean' || value === null ? value : REDACTED;
}

/** Fields, by the same rules as parts of an object. */
export function printableFields(fields: object, redactor: Redactor): { [name: string]: Printable } {
  try {
    return printEntries(Object.entries(fields), redactor, 0);
  } catch {
    return { fields: '[unprintable]' };
  }
}

/** An error with its stack and all its causes. From its other properties only the code is printed: they may contain the request. */
export function printableError(error: Error, redactor: Redactor, depth = 0): PrintableError {
  const printed: PrintableError = {
    name: printText(error.name, redactor),
    message: printText(error.message, redactor),
  };
  const code: unknown = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' || typeof code === 'number') printed.code = printable(code, redactor);
  const stack = stackOf(error);
  if (stack !== '') printed.stack = printText(stack, redactor);
  if (depth >= DEPTH) return printed;
  if (error.cause !== undefined) printed.cause = printable(error.cause, redactor, depth + 1);
  if (error instanceof AggregateError) printed.errors = printList(error.errors, redactor, depth);
  return printed;
}

/** The frames alone; V8 puts the message in front of them, which may have several lines. */
function stackOf(error: Error): string {
  const lines = (error.stack ?? '').split('\n');
  const first = lines.findIndex((line) => /^\s+at /.test(line));
  return first < 0
    ? ''
    : lines
        .slice(first)
        .map((line) => line.trim())
        .join('\n');
}
