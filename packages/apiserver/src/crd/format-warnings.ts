import type { UnknownObject } from '@capstan/kube';
import { isObject, valueAt } from '../json/copy.ts';

const STRING_FORMATS = new Set(
  (
    'bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor ' +
    'rgbcolor byte password date duration datetime'
  ).split(' '),
);

/** Formats that nothing checks, each reported once, and only when they are new. */
export function formatWarnings(crd: UnknownObject, old: UnknownObject | undefined): string[] {
  const known = new Set(old ? unknownFormats(old) : []);
  return unknownFormats(crd)
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function unknownFormats(crd: UnknownObject): string[] {
  const versions = valueAt(crd, ['spec', 'versions']);
  const found: string[] = [];
  for (const version of Array.isArray(versions) ? (versions as unknown[]) : []) {
    visit(valueAt(version, ['schema', 'openAPIV3Schema']), found);
  }
  return found;
}

function visit(schema: unknown, found: string[]): void {
  if (Array.isArray(schema)) for (const one of schema as unknown[]) visit(one, found);
  if (!isObject(schema)) return;
  const { type = '', format } = schema;
  if (typeof format === 'string' && format !== '' && !isKnown(String(type), format)) found.push(format);
  for (const field of ['items', 'allOf', 'oneOf', 'anyOf', 'not', 'additionalProperties', 'additionalItems']) {
    visit(schema[field], found);
  }
  for (const field of ['properties', 'patternProperties', 'definitions']) {
    const map = schema[field];
    if (isObject(map)) for (const one of Object.values(map)) visit(one, found);
  }
}

function isKnown(type: string, format: string): boolean {
  if (type === '' || type === 'string') return STRING_FORMATS.has(format.replaceAll('-', ''));
  if (type === 'integer') return format === 'int32' || format === 'int64';
  return type === 'number' && (format === 'float' || format === 'double');
}
