import { addLists } from '../equality.ts';
import { CelError } from '../errors.ts';
import { func, type Overload } from '../typing/overload.ts';
import { type CelList, type Duration, type Timestamp, type Uint, uint } from '../values.ts';

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;
/** Timestamps cover the years 1 to 9999. */
export const MIN_TIMESTAMP = -62_135_596_800n * 1_000_000_000n;
const MAX_TIMESTAMP = 253_402_300_799n * 1_000_000_000n + 999_999_999n;

/** Returns the value if it fits a 64-bit int, and throws otherwise. */
export function checkedInt(value: bigint): bigint {
  if (value < MIN_INT || value > MAX_INT) throw new CelError('integer overflow');
  return value;
}

export function checkedUint(value: bigint): Uint {
  if (value < 0n || value > MAX_UINT) throw new CelError('unsigned integer overflow');
  return uint(value);
}

export function checkedTimestamp(nanos: bigint, like?: Timestamp): Timestamp {
  if (nanos < MIN_TIMESTAMP || nanos > MAX_TIMESTAMP) throw new CelError('timestamp overflow');
  return { ...like, kind: 'timestamp', nanos };
}

export function checkedDuration(nanos: bigint): Duration {
  if (nanos < MIN_INT || nanos > MAX_INT) throw new CelError('duration overflow');
  return { kind: 'duration', nanos };
}

function nonZero(value: bigint, what: 'division' | 'modulus'): bigint {
  if (value === 0n) throw new CelError(`${what} by zero`);
  return value;
}

export const arithmetic: readonly Overload[] = [
  func('_+_', '(int, int) -> int', 'add_int64', (a: bigint, b: bigint) => checkedInt(a + b)),
  func('_+_', '(uint, uint) -> uint', 'add_uint64', (a: Uint, b: Uint) => checkedUint(a.value + b.value)),
  func('_+_', '(double, double) -> double', 'add_double', (a: number, b: number) => a + b),
  func('_+_', '(string, string) -> string', 'add_string', (a: string, b: string) => a + b),
  func('_+_', '(bytes, bytes) -> bytes', 'add_bytes', (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b])),
  func('_+_', '(list(A), list(A)) -> list(A)', 'add_list', (a: CelList, b: CelList) => addLists(a, b)),
  func('_+_', '(duration, duration) -> duration', 'add_duration_duration', (a: Duration, b: Duration) =>
    checkedDuration(a.nanos + b.nanos),
  ),
  func('_+_', '(timestamp, duration) -> timestamp', 'add_timestamp_duration', (a: Timestamp, b: Duration) =>
    checkedTimestamp(a.nanos + b.nanos, a),
  ),
  func('_+_', '(duration, timestamp) -> timestamp', 'add_duration_timestamp', (a: Duration, b: Timestamp) =>
    checkedTimestamp(a.nanos + b.nanos, b),
  ),
  func('_-_', '(int, int) -> int', 'subtract_int64', (a: bigint, b: bigint) => checkedInt(a - b)),
  func('_-_', '(uint, uint) -> uint', 'subtract_uint64', (a: Uint, b: Uint) => checkedUint(a.value - b.value)),
  func('_-_', '(double, double) -> double', 'subtract_double', (a: number, b: number) => a - b),
  func('_-_', '(duration, duration) -> duration', 'subtract_duration_duration', (a: Duration, b: Duration) =>
    checkedDuration(a.nanos - b.nanos),
  ),
  func('_-_', '(timestamp, timestamp) -> duration', 'subtract_timestamp_timestamp', (a: Timestamp, b: Timestamp) =>
    checkedDuration(a.nanos - b.nanos),
  ),
  func('_-_', '(timestamp, duration) -> timestamp', 'subtract_timestamp_duration', (a: Timestamp, b: Duration) =>
    checkedTimestamp(a.nanos - b.nanos, a),
  ),
  func('_*_', '(int, int) -> int', 'multiply_int64', (a: bigint, b: bigint) => checkedInt(a * b)),
  func('_*_', '(uint, uint) -> uint', 'multiply_uint64', (a: Uint, b: Uint) => checkedUint(a.value * b.value)),
  func('_*_', '(double, double) -> double', 'multiply_double', (a: number, b: number) => a * b),
  func('_/_', '(int, int) -> int', 'divide_int64', (a: bigint, b: bigint) => checkedInt(a / nonZero(b, 'division'))),
  func('_/_', '(uint, uint) -> uint', 'divide_uint64', (a: Uint, b: Uint) =>
    uint(a.value / nonZero(b.value, 'division')),
  ),
  func('_/_', '(double, double) -> double', 'divide_double', (a: number, b: number) => a / b),
  func('_%_', '(int, int) -> int', 'modulo_int64', (a: bigint, b: bigint) => {
    if (a === MIN_INT && b === -1n) throw new CelError('integer overflow');
    return a % nonZero(b, 'modulus');
  }),
  func('_%_', '(uint, uint) -> uint', 'modulo_uint64', (a: Uint, b: Uint) =>
    uint(a.value % nonZero(b.value, 'modulus')),
  ),
  func('-_', '(int) -> int', 'negate_int64', (a: bigint) => checkedInt(-a)),
  func('-_', '(double) -> double', 'negate_double', (a: number) => -a),
];
