import { compareValues, equalValues } from '../equality.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { type CelList, itemsOf, kindOf, type Uint, uint, type Value } from '../values.ts';
import { checkedInt } from './arithmetic.ts';

const NUMERIC = ['int', 'uint', 'double'];

/** Functions that no API server offers, or only the newest: numbers, bytes as text, includes. */
export const extensions: readonly Overload[] = [
  method('includes', '(dyn, dyn) -> bool', 'list_includes_dyn_dyn', (from: Value, item: Value) =>
    kindOf(from) === 'list'
      ? itemsOf(from as CelList).some((other) => equalValues(other, item))
      : equalValues(from, item),
  ),
  ...(['@max', '@min'] as const).flatMap((name) => {
    const best = (items: readonly Value[]): Value =>
      items.reduce((a, b) => ((name === '@max' ? compareValues(a, b) < 0 : compareValues(a, b) > 0) ? b : a));
    return NUMERIC.flatMap((type) => [
      func(`math.${name}`, `(${type}) -> ${type}`, `math_${name}_${type}`, (item: Value) => item),
      func(`math.${name}`, `(list(${type})) -> ${type}`, `math_${name}_list_${type}`, (items: CelList) => {
        if (items.items.length === 0) throw new CelError(`math.${name}(list) argument must not be empty`);
        return best(itemsOf(items));
      }),
      ...NUMERIC.map((other) =>
        func(
          `math.${name}`,
          `(${type}, ${other}) -> ${type === other ? type : 'dyn'}`,
          `math_${name}_${type}_${other}`,
          (a: Value, b: Value) => best([a, b]),
        ),
      ),
    ]);
  }),
  ...Object.entries({
    ceil: Math.ceil,
    floor: Math.floor,
    trunc: Math.trunc,
    // Round halves away from zero.
    round: (value: number) => Math.sign(value) * Math.floor(Math.abs(value) + 0.5),
    sqrt: Math.sqrt,
  }).map(([name, run]) => func(`math.${name}`, '(double) -> double', `math_${name}_double`, run)),
  func('math.abs', '(double) -> double', 'math_abs_double', (value: number) => Math.abs(value)),
  func('math.abs', '(int) -> int', 'math_abs_int', (value: bigint) => checkedInt(value < 0n ? -value : value)),
  func('math.sign', '(double) -> double', 'math_sign_double', (value: number) => Math.sign(value)),
  func('math.sign', '(int) -> int', 'math_sign_int', (value: bigint) => (value < 0n ? -1n : value > 0n ? 1n : 0n)),
  func('math.isNaN', '(double) -> bool', 'math_isNaN_double', (value: number) => Number.isNaN(value)),
  func('math.isInf', '(double) -> bool', 'math_isInf_double', (value: number) => Math.abs(value) === Infinity),
  func('math.isFinite', '(double) -> bool', 'math_isFinite_double', (value: number) => Number.isFinite(value)),
  ...bits('bitAnd', (a, b) => a & b),
  ...bits('bitOr', (a, b) => a | b),
  ...bits('bitXor', (a, b) => a ^ b),
  func('math.bitNot', '(int) -> int', 'math_bitNot_int_int', (value: bigint) => ~value),
  func('math.bitNot', '(uint) -> uint', 'math_bitNot_uint_uint', (value: Uint) =>
    uint(BigInt.asUintN(64, ~value.value)),
  ),
  ...shifts('bitShiftLeft', (value, by) => value << by),
  // The sign bit is shifted like any other bit.
  ...shifts('bitShiftRight', (value, by) => value >> by),
  func('base64.encode', '(bytes) -> string', 'base64_encode_bytes', (bytes: Uint8Array) =>
    Buffer.from(bytes).toString('base64'),
  ),
  func('base64.decode', '(string) -> bytes', 'base64_decode_string', (text: string) => {
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new CelError('illegal base64 data');
    return Buffer.from(text, 'base64');
  }),
];

function bits(name: string, run: (a: bigint, b: bigint) => bigint): Overload[] {
  return [
    func(`math.${name}`, '(int, int) -> int', `math_${name}_int_int`, run),
    func(`math.${name}`, '(uint, uint) -> uint', `math_${name}_uint_uint`, (a: Uint, b: Uint) =>
      uint(run(a.value, b.value)),
    ),
  ];
}

function shifts(name: string, run: (value: bigint, by: bigint) => bigint): Overload[] {
  const shifted = (value: bigint, by: bigint): bigint => {
    if (by < 0n) throw new CelError(`math.${name}() negative offset: ${by}`);
    return by >= 64n ? 0n : BigInt.asUintN(64, run(BigInt.asUintN(64, value), by));
  };
  return [
    func(`math.${name}`, '(int, int) -> int', `math_${name}_int_int`, (value: bigint, by: bigint) =>
      BigInt.asIntN(64, shifted(value, by)),
    ),
    func(`math.${name}`, '(uint, int) -> uint', `math_${name}_uint_int`, (value: Uint, by: bigint) =>
      uint(shifted(value.value, by)),
    ),
  ];
}
