/**
 * JSON with the keys of every object in the order of their code units, so that equal values give equal text whatever
 * order they were built in. As JSON.stringify: undefined fields are left out, undefined items become null.
 */
export function canonicalJson(value: unknown): string {
  return write(value) ?? 'null';
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
