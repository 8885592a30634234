import { parseQuantity } from '../../quantity.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import type { Quantity } from '../values.ts';

const NANO = 1_000_000_000n;
const MAX_INT = 2n ** 63n - 1n;

function quantityOf(text: string): Quantity | undefined {
  try {
    return { kind: 'quantity', ...parseQuantity(text) };
  } catch {
    return undefined;
  }
}

function isInteger({ nanos }: Quantity): boolean {
  const whole = nanos / NANO;
  return nanos % NANO === 0n && whole <= MAX_INT && whole >= -MAX_INT - 1n;
}

const compare = (a: Quantity, b: Quantity): bigint => (a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n);
const add = (a: Quantity, nanos: bigint): Quantity => ({ ...a, nanos: a.nanos + nanos });
const Q = 'kubernetes.Quantity';

export const quantities: readonly Overload[] = [
  func('quantity', `(string) -> ${Q}`, 'string_to_quantity', (text: string) => {
    const quantity = quantityOf(text);
    if (quantity) return quantity;
    throw new CelError(
      /^[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*$/.test(text)
        ? "unable to parse quantity's suffix"
        : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }),
  func('isQuantity', '(string) -> bool', 'is_quantity_string', (text: string) => quantityOf(text) !== undefined),
  func('sign', `(${Q}) -> int`, 'quantity_sign', ({ nanos }: Quantity) => (nanos < 0n ? -1n : nanos > 0n ? 1n : 0n)),
  method('isGreaterThan', `(${Q}, ${Q}) -> bool`, 'quantity_is_greater_than', (a: Quantity, b: Quantity) => {
    return compare(a, b) > 0n;
  }),
  method(
    'isLessThan',
    `(${Q}, ${Q}) -> bool`,
    'quantity_is_less_than',
    (a: Quantity, b: Quantity) => compare(a, b) < 0n,
  ),
  method('compareTo', `(${Q}, ${Q}) -> int`, 'quantity_compare_to', compare),
  method('asApproximateFloat', `(${Q}) -> double`, 'quantity_get_float', ({ nanos }: Quantity) => {
    return Number(nanos / NANO) + Number(nanos % NANO) / 1e9;
  }),
  method('isInteger', `(${Q}) -> bool`, 'quantity_is_integer', isInteger),
  method('asInteger', `(${Q}) -> int`, 'quantity_get_int', (quantity: Quantity) => {
    if (!isInteger(quantity)) throw new CelError('cannot convert value to integer');
    return quantity.nanos / NANO;
  }),
  method('add', `(${Q}, ${Q}) -> ${Q}`, 'quantity_add', (a: Quantity, b: Quantity) => add(a, b.nanos)),
  method('add', `(${Q}, int) -> ${Q}`, 'quantity_add_int', (a: Quantity, b: bigint) => add(a, b * NANO)),
  method('sub', `(${Q}, ${Q}) -> ${Q}`, 'quantity_sub', (a: Quantity, b: Quantity) => add(a, -b.nanos)),
  method('sub', `(${Q}, int) -> ${Q}`, 'quantity_sub_int', (a: Quantity, b: bigint) => add(a, -b * NANO)),
];
