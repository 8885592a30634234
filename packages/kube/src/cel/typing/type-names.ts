// The types of names and literals in CEL.
import { kindOf, type Value } from '../values.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  typeOfType,
  UINT,
} from './types.ts';

export const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['bool', BOOL],
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['string', STRING],
  ['bytes', BYTES],
  ['list', listOf(DYN)],
  ['map', mapOf(DYN, DYN)],
  ['null_type', NULL],
  ['type', typeOfType(undefined)],
  ['google.protobuf.Timestamp', TIMESTAMP],
  ['google.protobuf.Duration', DURATION],
  ['optional_type', optionalOf(DYN)],
  ...['net.IP', 'net.CIDR', 'kubernetes.URL', 'kubernetes.Quantity', 'kubernetes.NamedFormat', 'kubernetes.Semver'].map(
    (name): [string, CelType] => [name, { kind: 'opaque', name }],
  ),
]);

export const SORTABLE = new Set(['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes', 'param']);

export function literalType(value: Value): CelType {
  const kind = kindOf(value);
  switch (kind) {
    case 'bool':
      return BOOL;
    case 'int':
      return INT;
    case 'uint':
      return UINT;
    case 'double':
      return DOUBLE;
    case 'string':
      return STRING;
    case 'bytes':
      return BYTES;
    default:
      return NULL;
  }
}
