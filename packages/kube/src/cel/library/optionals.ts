import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import {
  type CelList,
  type CelOptional,
  itemOf,
  itemsOf,
  kindOf,
  list,
  NONE,
  sizeOf,
  some,
  type Value,
} from '../values.ts';
import { MIN_TIMESTAMP } from './arithmetic.ts';

export const optionals: readonly Overload[] = [
  func('optional.of', '(V) -> optional(V)', 'optional_of', (value: Value) => some(value)),
  func('optional.ofNonZeroValue', '(V) -> optional(V)', 'optional_ofNonZeroValue', (value: Value) =>
    isZero(value) ? NONE : some(value),
  ),
  func('optional.none', '() -> optional(V)', 'optional_none', () => NONE),
  func('optional.unwrap', '(list(optional(V))) -> list(V)', 'optional_unwrap', unwrapped),
  method('unwrapOpt', '(list(optional(V))) -> list(V)', 'optional_unwrapOpt', unwrapped),
  method('first', '(list(V)) -> optional(V)', 'list_first', (items: CelList) =>
    items.items.length === 0 ? NONE : some(itemOf(items, 0)),
  ),
  method('last', '(list(V)) -> optional(V)', 'list_last', (items: CelList) =>
    items.items.length === 0 ? NONE : some(itemOf(items, items.items.length - 1)),
  ),
  method('hasValue', '(optional(V)) -> bool', 'optional_hasValue', ({ value }: CelOptional) => value !== undefined),
  method('value', '(optional(V)) -> V', 'optional_value', ({ value }: CelOptional) => {
    if (value === undefined) throw new CelError('optional.none() dereference');
    return value;
  }),
];

function unwrapped(items: CelList): Value {
  return list(
    itemsOf(items).flatMap((item) => {
      const { value } = item as CelOptional;
      return value === undefined ? [] : [value];
    }),
  );
}

function isZero(value: Value): boolean {
  switch (kindOf(value)) {
    case 'null':
      return true;
    case 'bool':
      return value === false;
    case 'int':
      return value === 0n;
    case 'double':
      return value === 0;
    case 'uint':
      return (value as { value: bigint }).value === 0n;
    case 'string':
    case 'bytes':
    case 'list':
    case 'map':
    case 'object':
      return sizeOf(value) === 0;
    case 'timestamp':
      return (value as { nanos: bigint }).nanos === MIN_TIMESTAMP;
    case 'duration':
      return (value as { nanos: bigint }).nanos === 0n;
    case 'optional':
      return (value as CelOptional).value === undefined;
    default:
      return false;
  }
}
