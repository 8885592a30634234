/**
 * JSON with the keys of every object in the order of their code units, so that equal values give equal text whatever
 * order they were built in. As JSON.stringify: undefined fields are left out, undefined items become null.
 */
export function canonicalJson(value: unknown): string {
  // Objects from a server are mostly in that order already, and JSON.stringify is faster.
  return (isInOrder(value) ? JSON.stringify(value) : write(value)) ?? 'null';
}

/** Whether JSON.stringify gives the canonical text; false where that would take a closer look. */
function isInOrder(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isInOrder(item)) return false;
    return true;
  }
  if (hasToJson(value)) return false;
  let previous: string | undefined;
  // Names that are numbers come first, by value: where the first one is none, there are none.
  for (const key in value) {
    if (previous === undefined ? isDigit(key.charCodeAt(0)) : previous >= key) return false;
    if (!Object.hasOwn(value, key) || !isInOrder((value as Record<string, unknown>)[key])) return false;
    previous = key;
  }
  return true;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function write(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (hasToJson(value)) return write(value.toJSON());
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`;
  const fields: string[] = [];
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record).sort()) {
    const text = write(record[key]);
    if (text !== undefined) fields.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}
