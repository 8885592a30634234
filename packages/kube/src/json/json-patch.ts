// JSON Patch (RFC 6902) as kube-apiserver reads it. It applies whole or not at all, leaves the document as it was, and shares
// the parts that it does not touch. A container is copied at its first change, and later operations change the copy: ten thousand
// operations on a map of fifty thousand members cost one copy of it. Where the server is more generous than the RFC, so is this: `replace` of a missing member adds it,
// negative indexes count from the end, `test` for null holds of a missing member, a missing `value` is null. Where it is
// stricter, too: only `replace` and `test` reach the whole document.
import { ValueErrors } from '../errors.ts';
import { equal, isPlain } from './equal.ts';
import { parsePointer } from './json-pointer.ts';

export type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value?: unknown }
  | { op: 'remove'; path: string }
  | { op: 'move' | 'copy'; path: string; from: string };

/** The document as the patch leaves it; throws InvalidValueError, whose `problem` is in kube-apiserver's words. */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  const steps = jsonPatchSteps(document, patch);
  for (let next = steps.next(); ; next = steps.next()) if (next.done === true) return next.value;
}

/** The same in steps: the caller may do other work wherever it yields. */
export function* jsonPatchSteps(document: unknown, patch: unknown): Generator<void, unknown, void> {
  const work: Work = { copyBytes: MAX_COPIED_BYTES, own: new WeakSet() };
  let result = document;
  for (const [index, operation] of parseJsonPatch(patch).entries()) {
    try {
      result = apply(result, operation, work);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw error.isTest
        ? ValueErrors.JsonPatchTestFailed(index, error.message)
        : ValueErrors.JsonPatchDoesNotApply(index, error.message);
    }
    if (index % STEP_OPERATIONS === STEP_OPERATIONS - 1) yield;
  }
  return result;
}

/** An insertion into a list of a hundred thousand items takes a tenth of a millisecond. */
const STEP_OPERATIONS = 64;

/** Checks that a value is a list of operations, each with the members that its `op` needs. */
export function parseJsonPatch(patch: unknown): JsonPatchOperation[] {
  if (!Array.isArray(patch)) throw ValueErrors.JsonPatch(`it is ${typeName(patch)} and not a list`);
  if (patch.length > MAX_OPERATIONS) {
    const problem = `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`;
    throw ValueErrors.JsonPatch(problem);
  }
  return patch.map((operation: unknown, index) => parseOperation(operation, index));
}

/** kube-apiserver's limit. */
const MAX_OPERATIONS = 10_000;

/** kube-apiserver's limit for the bytes that the copies of one patch may add to a document. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

/** Copies and additions could make a document deeper than the stack is. No kind has a tenth of it; Go's decoder ends at five times as many. */
const MAX_LEVELS = 2_000;

interface Work {
  /** About how many bytes of JSON copies may still add. */
  copyBytes: number;
  /** Containers that this patch made, which it may change. */
  readonly own: WeakSet<object>;
}

/** Returns a separate copy for a `copy`, and subtracts its size from the remaining limit. */
function copied(value: unknown, work: Work, depth = 0): unknown {
  const text = typeof value === 'object' && value !== null ? undefined : JSON.stringify(value ?? null);
  work.copyBytes -= text?.length ?? 2;
  if (work.copyBytes < 0) {
    const sum = MAX_COPIED_BYTES - work.copyBytes;
    throw new Refusal(
      `Unable to complete the copy, the accumulated size increase of the copy is ${sum}, exceeding the limit ${MAX_COPIED_BYTES}`,
    );
  }
  if (depth > MAX_LEVELS) throw new Refusal(`Unable to complete the copy, it is more than ${depth - 1} levels deep`);
  if (typeof value !== 'object' || value === null) return value ?? null;
  work.copyBytes -= Array.isArray(value) ? value.length : 0;
  if (Array.isArray(value)) return value.map((item) => copied(item, work, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) {
    work.copyBytes -= key.length + 4;
    setOwn(copy, key, copied(part, work, depth + 1));
  }
  return copy;
}

/** Sets a member under any name: `__proto__` is a name like every other in JSON. */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
}

/** Carries a message from within a document to applyJsonPatch, and no further. */
class Refusal extends Error {
  readonly isTest: boolean;

  constructor(message: string, isTest = false) {
    super(message);
    this.isTest = isTest;
  }
}

function parseOperation(given: unknown, index: number): JsonPatchOperation {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw ValueErrors.JsonPatch(`operation ${index} is ${typeName(given)} and not an object`);
  }
  const { op, path, from, value = null }: { op?: unknown; path?: unknown; from?: unknown; value?: unknown } = given;
  const text = (field: string, content: unknown) => {
    if (typeof content === 'string') return content;
    const problem = content === undefined ? `has no ${field}` : `has ${typeName(content)} as its ${field}`;
    throw ValueErrors.JsonPatch(`operation ${index} ${problem}`);
  };
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      return { op, path: text('path', path), value };
    case 'remove':
      return { op, path: text('path', path) };
    case 'move':
    case 'copy':
      return { op, path: text('path', path), from: text('from', from) };
    default:
      throw ValueErrors.JsonPatch(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
  }
}

function apply(document: unknown, operation: JsonPatchOperation, work: Work): unknown {
  const { op, path } = operation;
  switch (op) {
    case 'add':
      return at(work, document, path, missing('add', `doc is missing path: "${path}"`), (container, key) =>
        inserted(work, container, key, operation.value, `error in add for path: '${path}'`),
      );
    case 'remove':
      return at(work, document, path, missing('remove', `doc is missing path: "${path}"`), (container, key) =>
        removed(work, container, key, `error in remove for path: '${path}'`),
      );
    case 'replace':
      if (path === '') return replacedRoot(operation.value);
      return at(work, document, path, missing('replace', `doc is missing path: ${path}`), (container, key) =>
        replaced(work, container, key, operation.value, missing('replace', `doc is missing key: ${path}`)),
      );
    case 'move': {
      const { from } = operation;
      const noSource = missing('move', `doc is missing from path: ${from}`);
      let moved: unknown;
      const rest = at(work, document, from, noSource, (container, key) => {
        moved = found(container, key, `error in move for path: '${key}'`);
        return removed(work, container, key, `error in move for path: '${key}'`);
      });
      return at(work, rest, path, missing('move', `doc is missing destination path: ${path}`), (container, key) =>
        inserted(work, container, key, moved, `error in move for path: '${path}'`),
      );
    }
    case 'copy': {
      const { from } = operation;
      const noSource = missing('copy', `doc is missing from path: ${from}`);
      const copy = copied(valueAt(work, document, from, noSource, `error in copy for from: '${from}'`), work);
      return at(work, document, path, missing('copy', `doc is missing destination path: ${path}`), (container, key) =>
        inserted(work, container, key, copy, 'error while adding value during copy'),
      );
    }
    default: {
      const noPath = `test operation does not apply: is missing path: ${path}: missing value`;
      const actual =
        path === '' ? document : valueAt(work, document, path, noPath, `error in test for path: '${path}'`);
      if (!equal(actual ?? null, operation.value)) {
        throw new Refusal(`testing value ${path} failed: test failed`, true);
      }
      return document;
    }
  }
}

function missing(op: string, what: string): string {
  return `${op} operation does not apply: ${what}: missing value`;
}

type Container = Record<string, unknown> | readonly unknown[];

/** Rebuilds the containers from the root to the one that `path` ends in, in which `change` makes the change. */
function at(
  work: Work,
  document: unknown,
  path: string,
  whenMissing: string,
  change: (container: Container, key: string) => Container,
): unknown {
  const names = parsePointer(path);
  const key = names?.pop();
  if (names === undefined || key === undefined || names.length > MAX_LEVELS) throw new Refusal(whenMissing);
  const rebuild = (node: unknown, depth: number): unknown => {
    if (!isContainer(node)) throw new Refusal(whenMissing);
    const name = names[depth];
    if (name === undefined) return change(node, key);
    const before = member(node, name);
    const after = rebuild(before, depth + 1);
    return after === before ? node : put(work, node, name, after);
  };
  return rebuild(document, 0);
}

function valueAt(work: Work, document: unknown, path: string, whenMissing: string, context: string): unknown {
  let value: unknown;
  at(work, document, path, whenMissing, (container, key) => {
    value = found(container, key, context);
    return container;
  });
  return value;
}

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || (typeof value === 'object' && value !== null && isPlain(value));
}

/** On the way to a value; undefined when there is none. */
function member(container: Container, name: string): unknown {
  if (!isList(container)) return Object.hasOwn(container, name) ? container[name] : undefined;
  const index = indexOf(name);
  return index === undefined ? undefined : container.at(index);
}

/** The value itself; a missing member is undefined, a missing item an error. */
function found(container: Container, key: string, context: string): unknown {
  return isList(container) ? container[existing(container, key, context)] : member(container, key);
}

function inserted(work: Work, container: Container, key: string, value: unknown, context: string): Container {
  if (!isList(container)) return put(work, container, key, value);
  if (key === '-') {
    const list = ownList(work, container);
    list.push(value);
    return list;
  }
  const index = indexOf(key);
  if (index === undefined)
    throw new Refusal(`${context}: value was not a proper array index: '${key}': ${notANumber(key)}`);
  const size = container.length + 1;
  if (index >= size || index < -size) throw new Refusal(`${context}: ${outside(index)}`);
  const list = ownList(work, container);
  list.splice(index < 0 ? index + size : index, 0, value);
  return list;
}

function replaced(work: Work, container: Container, key: string, value: unknown, whenMissing: string): Container {
  if (isList(container)) {
    const index = indexOf(key);
    if (index === undefined || container.at(index) === undefined) throw new Refusal(whenMissing);
  }
  return put(work, container, key, value);
}

function removed(work: Work, container: Container, key: string, context: string): Container {
  if (isList(container)) {
    const index = existing(container, key, context);
    const list = ownList(work, container);
    list.splice(index, 1);
    return list;
  }
  if (!Object.hasOwn(container, key)) {
    throw new Refusal(`${context}: Unable to remove nonexistent key: ${key}: missing value`);
  }
  const map = ownMap(work, container);
  delete map[key];
  return map;
}

function replacedRoot(value: unknown): unknown {
  if (!isContainer(value)) throw new Refusal('replace operation value must be object or array');
  return value;
}

function put(work: Work, container: Container, name: string, value: unknown): Container {
  if (!isList(container)) {
    const map = ownMap(work, container);
    setOwn(map, name, value);
    return map;
  }
  const list = ownList(work, container);
  const index = indexOf(name) ?? 0;
  list[index < 0 ? index + list.length : index] = value;
  return list;
}

/** The list as one that this patch may change. */
function ownList(work: Work, list: readonly unknown[]): unknown[] {
  if (work.own.has(list)) return list as unknown[];
  const copy = [...list];
  work.own.add(copy);
  return copy;
}

/** The map as one that this patch may change. */
function ownMap(work: Work, map: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (work.own.has(map)) return map;
  const copy = { ...map };
  work.own.add(copy);
  return copy;
}

function existing(list: readonly unknown[], key: string, context: string): number {
  const index = indexOf(key);
  if (index === undefined) throw new Refusal(`${context}: ${notANumber(key)}`);
  if (index >= list.length || index < -list.length) throw new Refusal(`${context}: ${outside(index)}`);
  return index < 0 ? index + list.length : index;
}

function indexOf(key: string): number | undefined {
  return /^[+-]?[0-9]{1,15}$/.test(key) ? Number(key) : undefined;
}

function isList(container: Container): container is readonly unknown[] {
  return Array.isArray(container);
}

function outside(index: number): string {
  return `Unable to access invalid index: ${index}: invalid index referenced`;
}

function notANumber(key: string): string {
  return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
