// Each field of a value is needed: without it, or under another name, the translation fails or has another result.
import assert from 'node:assert/strict';
import { CONFIG_SOURCE, type Envoy, encode, Fragment, type MessageName } from '../../src/envoy/index.ts';
import { isFields } from './views.ts';

type Path = readonly (string | number)[];

export interface Translation<Value extends object, Name extends MessageName = MessageName> {
  /** For the message of a failure. */
  readonly name: string;
  readonly value: Value;
  readonly type: Name;
  translate(value: Value): Envoy.Messages[Name];
  /** Fields of the value that explain reads, and that Envoy does not get. */
  readonly notSent?: ReadonlySet<string>;
}

/** Fields whose absence means the other value of two: the compiler demands one of them. */
const CHOICES: ReadonlySet<string> = new Set(['kind', 'source', 'action', 'of']);

/** Returns the fields of the value, and of its message, whose absence or misspelling changes nothing. */
export function fieldsNotNeeded<Value extends object>(translation: Translation<Value>): string[] {
  const { name, value, type, translate, notSent } = translation;
  const message = sendable(translate(value)) as object;
  const bytes = bytesOf(type, message);
  assert.doesNotMatch(bytes, /Error/, `${name}: ${JSON.stringify(message)}`);
  const check = <Each extends object>(label: string, each: Each, bytesFor: (changed: Each) => string, left: Skipped) =>
    fieldsOf(each, [], left).flatMap((path) =>
      [drop, misspell].flatMap((change) =>
        bytesFor(change(each, path)) === bytes ? [`${name}, ${label}: ${change.name} ${path.join('.')}`] : [],
      ),
    );
  const skipped: Skipped = (field) => CHOICES.has(field) || notSent?.has(field) === true;
  return [
    ...check('model', value, (changed) => outcome(() => bytesOf(type, sendable(translate(changed)))), skipped),
    ...check(
      'message',
      message,
      (changed) => bytesOf(type, changed),
      () => false,
    ),
  ];
}

/** The result, or the error that a change leads to. */
export function outcome(run: () => string): string {
  try {
    return run();
  } catch (error) {
    return String(error);
  }
}

function bytesOf(type: MessageName, message: unknown): string {
  return outcome(() => Buffer.from(encode(type, message as Envoy.Messages[MessageName])).toString('hex'));
}

const ADS: Envoy.ConfigSource = { ads: {}, resource_api_version: 'V3' };

/** The message as plain fields, which a change can be made in: the source of references is an object that is compared by identity. */
function sendable(value: unknown): unknown {
  if (value === CONFIG_SOURCE) return ADS;
  if (value instanceof Uint8Array) return value;
  if (value instanceof Fragment) return sendable(value.value);
  if (Array.isArray(value)) return value.map(sendable);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === undefined ? [] : [[name, sendable(each)]])),
  );
}

type Skipped = (field: string) => boolean;

/** Paths of all fields of a value, in lists too. */
function fieldsOf(value: unknown, path: Path, skipped: Skipped): Path[] {
  if (Array.isArray(value)) {
    // The weight of an only entry changes nothing.
    const left: Skipped = value.length > 1 ? skipped : (field) => field === 'weight' || skipped(field);
    return value.flatMap((each, index) => fieldsOf(each, [...path, index], left));
  }
  if (!isFields(value) || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    if (NOT_READ.has(name) || hasNoEffect(each)) return [];
    // Every path begins with the segment of the root.
    if (name === 'isSegment' && value['value'] === '/') return [];
    // The cluster has its parameters of TLS beside it.
    if (name === 'protocol' && each === 'tls') return [];
    return [
      ...(skipped(name) ? [] : [[...path, name]]),
      ...(isLeftOut(name, skipped) ? [] : fieldsOf(each, [...path, name], skipped)),
    ];
  });
}

/** Where a value comes from. */
const NOT_READ: ReadonlySet<string> = new Set(['origin', 'origins']);

/** The fields of a choice are needed, although its name is not. */
function isLeftOut(name: string, skipped: Skipped): boolean {
  return skipped(name) && !CHOICES.has(name);
}

/** Returns true for defaults: false, 0 and the empty text are not sent. */
function hasNoEffect(value: unknown): boolean {
  return value === undefined || value === null || value === false || value === 0 || value === '' || isEmpty(value);
}

function isEmpty(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !(value instanceof Uint8Array) && Object.keys(value).length === 0
  );
}

function drop<Value extends object>(value: Value, path: Path): Value {
  return changed(value, path, (fields, name) => {
    delete fields[name];
  });
}

function misspell<Value extends object>(value: Value, path: Path): Value {
  return changed(value, path, (fields, name) => {
    fields[`${name}s`] = fields[name];
    delete fields[name];
  });
}

/** Copies the objects on the path alone: others are compared by identity. */
function changed<Value extends object>(
  value: Value,
  [name, ...more]: Path,
  change: (fields: Record<string, unknown>, name: string) => void,
): Value {
  if (name === undefined) return value;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string | number, unknown>;
  if (more.length === 0) change(copy, String(name));
  else copy[name] = changed(copy[name] as object, more, change);
  return copy as Value;
}
