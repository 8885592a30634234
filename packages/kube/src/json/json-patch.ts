// JSON Patch (RFC 6902) as kube-apiserver reads it. It applies whole or not at all, changes nothing in place, and shares
// what it does not touch. Where the server is more generous than the RFC, so is this: `replace` of a missing member adds it,
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
  const budget = { left: MAX_COPIED_BYTES };
  return parseJsonPatch(patch).reduce((result, operation, index) => {
    try {
      return apply(result, operation, budget);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw error.isTest
        ? ValueErrors.JsonPatchTestFailed(index, error.message)
        : ValueErrors.JsonPatchDoesNotApply(index, error.message);
    }
  }, document);
}

/** Checks that a value is a list of operations, each with what its `op` needs. */
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

/** kube-apiserver's limit of what the copies of one patch may add to a document. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

interface CopyBudget {
  left: number;
}

/** About how many bytes a value takes as JSON. It looks no further than the limit: what was copied twice is shared, not larger. */
function jsonSize(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let size = 2;
  for (const [key, part] of Object.entries(value)) {
    size += (Array.isArray(value) ? 1 : key.length + 4) + jsonSize(part, limit - size);
    if (size > limit) break;
  }
  return size;
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

function apply(document: unknown, operation: JsonPatchOperation, budget: CopyBudget): unknown {
  const { op, path } = operation;
  switch (op) {
    case 'add':
      return at(document, path, missing('add', `doc is missing path: "${path}"`), (container, key) =>
        inserted(container, key, operation.value, `error in add for path: '${path}'`),
      );
    case 'remove':
      return at(document, path, missing('remove', `doc is missing path: "${path}"`), (container, key) =>
        removed(container, key, `error in remove for path: '${path}'`),
      );
    case 'replace':
      if (path === '') return replacedRoot(operation.value);
      return at(document, path, missing('replace', `doc is missing path: ${path}`), (container, key) =>
        replaced(container, key, operation.value, missing('replace', `doc is missing key: ${path}`)),
      );
    case 'move': {
      const { from } = operation;
      const noSource = missing('move', `doc is missing from path: ${from}`);
      let moved: unknown;
      const rest = at(document, from, noSource, (container, key) => {
        moved = found(container, key, `error in move for path: '${key}'`);
        return removed(container, key, `error in move for path: '${key}'`);
      });
      return at(rest, path, missing('move', `doc is missing destination path: ${path}`), (container, key) =>
        inserted(container, key, moved, `error in move for path: '${path}'`),
      );
    }
    case 'copy': {
      const { from } = operation;
      const copied = valueAt(
        document,
        from,
        missing('copy', `doc is missing from path: ${from}`),
        `error in copy for from: '${from}'`,
      );
      budget.left -= jsonSize(copied, budget.left);
      if (budget.left < 0) {
        const sum = MAX_COPIED_BYTES - budget.left;
        throw new Refusal(
          `Unable to complete the copy, the accumulated size increase of the copy is ${sum}, exceeding the limit ${MAX_COPIED_BYTES}`,
        );
      }
      return at(document, path, missing('copy', `doc is missing destination path: ${path}`), (container, key) =>
        inserted(container, key, copied ?? null, 'error while adding value during copy'),
      );
    }
    default: {
      const noPath = `test operation does not apply: is missing path: ${path}: missing value`;
      const actual = path === '' ? document : valueAt(document, path, noPath, `error in test for path: '${path}'`);
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
  document: unknown,
  path: string,
  whenMissing: string,
  change: (container: Container, key: string) => Container,
): unknown {
  const names = parsePointer(path);
  const key = names?.pop();
  if (names === undefined || key === undefined) throw new Refusal(whenMissing);
  const rebuild = (node: unknown, depth: number): unknown => {
    if (!isContainer(node)) throw new Refusal(whenMissing);
    const name = names[depth];
    if (name === undefined) return change(node, key);
    const before = member(node, name);
    const after = rebuild(before, depth + 1);
    return after === before ? node : put(node, name, after);
  };
  return rebuild(document, 0);
}

function valueAt(document: unknown, path: string, whenMissing: string, context: string): unknown {
  let value: unknown;
  at(document, path, whenMissing, (container, key) => {
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

function inserted(container: Container, key: string, value: unknown, context: string): Container {
  if (!isList(container)) return put(container, key, value);
  if (key === '-') return [...container, value];
  const index = indexOf(key);
  if (index === undefined)
    throw new Refusal(`${context}: value was not a proper array index: '${key}': ${notANumber(key)}`);
  const size = container.length + 1;
  if (index >= size || index < -size) throw new Refusal(`${context}: ${outside(index)}`);
  return container.toSpliced(index < 0 ? index + size : index, 0, value);
}

function replaced(container: Container, key: string, value: unknown, whenMissing: string): Container {
  if (!isList(container)) return put(container, key, value);
  const index = indexOf(key);
  if (index === undefined || container.at(index) === undefined) throw new Refusal(whenMissing);
  return container.with(index, value);
}

function removed(container: Container, key: string, context: string): Container {
  if (isList(container)) return container.toSpliced(existing(container, key, context), 1);
  if (!Object.hasOwn(container, key)) {
    throw new Refusal(`${context}: Unable to remove nonexistent key: ${key}: missing value`);
  }
  const { [key]: _, ...rest } = container;
  return rest;
}

function replacedRoot(value: unknown): unknown {
  if (!isContainer(value)) throw new Refusal('replace operation value must be object or array');
  return value;
}

function put(container: Container, name: string, value: unknown): Container {
  if (!isList(container)) return { ...container, [name]: value };
  return container.with(indexOf(name) ?? 0, value);
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
