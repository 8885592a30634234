// Values that several readers share are frozen, so that a reader that changes one gets an error instead of changing it for
// the others. Freezing is cheap: an object changes its hidden class once, and nothing is copied.

/**
 * Freezes a value down to its leaves and returns it. A part that is frozen already counts as frozen throughout, so that a
 * new version of an object costs its new parts only. Maps, Sets and Dates refuse to be changed. Bytes cannot be frozen.
 */
export function freezeDeep<T>(value: T): T {
  // Not by recursion: an object may be nested as deep as a client likes.
  const waiting: object[] = [];
  take(value, waiting);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) for (const item of next as readonly unknown[]) take(item, waiting);
    else for (const field in next) take((next as Readonly<Record<string, unknown>>)[field], waiting);
  }
  return value;
}

/** Freezes one value; its parts wait for their turn. */
function take(value: unknown, waiting: object[]): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  if (!Array.isArray(value)) {
    const prototype: unknown = Object.getPrototypeOf(value);
    const isPlain = prototype === Object.prototype || prototype === null;
    if (!isPlain && !canFreeze(value, waiting)) return;
  }
  Object.freeze(value);
  waiting.push(value);
}

/** Prepares an instance of a class; false for one that must stay as it is. */
function canFreeze(value: object, waiting: object[]): boolean {
  // Bytes cannot be frozen. A regular expression keeps its place in itself.
  if (ArrayBuffer.isView(value) || value instanceof RegExp) return false;
  if (value instanceof Map) {
    for (const [key, item] of value) {
      take(key, waiting);
      take(item, waiting);
    }
    refuseChanges(value, MAP_CHANGES);
  } else if (value instanceof Set) {
    for (const item of value) take(item, waiting);
    refuseChanges(value, SET_CHANGES);
  } else if (value instanceof Date) refuseChanges(value, DATE_CHANGES);
  return true;
}

const MAP_CHANGES = ['set', 'delete', 'clear'];
const SET_CHANGES = ['add', 'delete', 'clear'];
const DATE_CHANGES = Object.getOwnPropertyNames(Date.prototype).filter((name) => name.startsWith('set'));

/** Freezing does not reach the content of these: their methods are replaced. */
function refuseChanges(value: object, methods: readonly string[]): void {
  for (const name of methods) {
    const refuse = () => {
      throw new TypeError(`Cannot change a ${value.constructor.name} that others read too (${name})`);
    };
    Object.defineProperty(value, name, { value: refuse, enumerable: false });
  }
}

const CHANGES =
  /^Cannot (?:assign to read only property|(?:add|delete|define|redefine) property|set property .* which has only a getter|change a )/;

/** Whether an error comes from an attempt to change a value that is frozen. */
export function isRefusedChange(error: unknown): error is TypeError {
  return error instanceof TypeError && CHANGES.test(error.message);
}
