import { parseDurationNanos } from '../../duration.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { type Duration, type Timestamp, type TypeValue, typeName, type Uint, type Value } from '../values.ts';
import { checkedDuration, checkedInt, checkedTimestamp, checkedUint } from './arithmetic.ts';
import { formatTimestamp, parseTimestamp } from './times.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function fail(from: string, value: string, to: string): never {
  throw new CelError(`type conversion error from '${from}' to '${to}'${value === '' ? '' : `: ${value}`}`);
}

function intOf(text: string): bigint {
  if (!/^[+-]?\d+$/.test(text)) throw new CelError(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return checkedInt(BigInt(text.replace(/^\+/, '')));
}

function truncated(value: number): bigint {
  // As a double, 2^63 is the first value that does not fit. CEL also refuses the lowest int64.
  if (Number.isNaN(value) || value <= -(2 ** 63) || value >= 2 ** 63) throw new CelError('integer overflow');
  return BigInt(Math.trunc(value));
}

/** Formats a double as CEL's string() does, in Go's shortest notation. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e21)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  return String(value);
}

function durationOf(text: string): Duration {
  try {
    return checkedDuration(parseDurationNanos(text));
  } catch (error) {
    if (error instanceof CelError) throw error;
    throw new CelError(`time: invalid duration ${JSON.stringify(text)}`);
  }
}

/** Formats a duration as CEL does: in seconds with a fraction. */
export function durationText({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = String(size % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${size / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
}

function boolOf(text: string): boolean {
  if (['1', 't', 'true', 'TRUE', 'True', 'T'].includes(text)) return true;
  if (['0', 'f', 'false', 'FALSE', 'False', 'F'].includes(text)) return false;
  return fail('string', text, 'bool');
}

function doubleOf(text: string): number {
  if (/^[+-]?(inf|infinity)$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    throw new CelError(`strconv.ParseFloat: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

const typeValue = (value: Value): TypeValue => ({ kind: 'type', name: typeName(value) });

export const conversions: readonly Overload[] = [
  func('dyn', '(A) -> dyn', 'to_dyn', (value: Value) => value),
  func('type', '(A) -> type(A)', 'type', (value: Value) => typeValue(value)),
  func('bool', '(bool) -> bool', 'bool_to_bool', (value: boolean) => value),
  func('bool', '(string) -> bool', 'string_to_bool', boolOf),
  func('bytes', '(bytes) -> bytes', 'bytes_to_bytes', (value: Uint8Array) => value),
  func('bytes', '(string) -> bytes', 'string_to_bytes', (text: string) => Buffer.from(text)),
  func('double', '(double) -> double', 'double_to_double', (value: number) => value),
  func('double', '(int) -> double', 'int64_to_double', (value: bigint) => Number(value)),
  func('double', '(uint) -> double', 'uint64_to_double', (value: Uint) => Number(value.value)),
  func('double', '(string) -> double', 'string_to_double', doubleOf),
  func('int', '(int) -> int', 'int64_to_int64', (value: bigint) => value),
  func('int', '(uint) -> int', 'uint64_to_int64', (value: Uint) => checkedInt(value.value)),
  func('int', '(double) -> int', 'double_to_int64', truncated),
  func('int', '(string) -> int', 'string_to_int64', intOf),
  func('int', '(timestamp) -> int', 'timestamp_to_int64', (value: Timestamp) => {
    const seconds = value.nanos / 1_000_000_000n;
    return value.nanos % 1_000_000_000n < 0n ? seconds - 1n : seconds;
  }),
  func('int', '(duration) -> int', 'duration_to_int64', (value: Duration) => value.nanos),
  func('uint', '(uint) -> uint', 'uint64_to_uint64', (value: Uint) => value),
  func('uint', '(int) -> uint', 'int64_to_uint64', (value: bigint) => checkedUint(value)),
  func('uint', '(double) -> uint', 'double_to_uint64', (value: number) => {
    if (!(value >= 0) || value >= 2 ** 64) throw new CelError('unsigned integer overflow');
    return checkedUint(BigInt(Math.trunc(value)));
  }),
  func('uint', '(string) -> uint', 'string_to_uint64', (text: string) => {
    if (!/^\d+$/.test(text)) throw new CelError(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
    return checkedUint(BigInt(text));
  }),
  func('string', '(string) -> string', 'string_to_string', (value: string) => value),
  func('string', '(bool) -> string', 'bool_to_string', (value: boolean) => String(value)),
  func('string', '(int) -> string', 'int64_to_string', (value: bigint) => String(value)),
  func('string', '(uint) -> string', 'uint64_to_string', (value: Uint) => String(value.value)),
  func('string', '(double) -> string', 'double_to_string', formatDouble),
  func('string', '(bytes) -> string', 'bytes_to_string', (value: Uint8Array) => {
    try {
      return decoder.decode(value);
    } catch {
      throw new CelError('invalid UTF-8 in bytes, cannot convert to string');
    }
  }),
  func('string', '(timestamp) -> string', 'timestamp_to_string', formatTimestamp),
  func('string', '(duration) -> string', 'duration_to_string', durationText),
  func('timestamp', '(timestamp) -> timestamp', 'timestamp_to_timestamp', (value: Timestamp) => value),
  func('timestamp', '(string) -> timestamp', 'string_to_timestamp', (text: string) => {
    const parsed = parseTimestamp(text);
    return checkedTimestamp(parsed.nanos, parsed);
  }),
  func('timestamp', '(int) -> timestamp', 'int64_to_timestamp', (seconds: bigint) =>
    checkedTimestamp(seconds * 1_000_000_000n),
  ),
  func('duration', '(duration) -> duration', 'duration_to_duration', (value: Duration) => value),
  func('duration', '(string) -> duration', 'string_to_duration', durationOf),
  func('duration', '(int) -> duration', 'int64_to_duration', (value: bigint) => checkedDuration(value)),
  method('contains', '(string, string) -> bool', 'contains_string', (text: string, part: string) =>
    text.includes(part),
  ),
  method('startsWith', '(string, string) -> bool', 'starts_with_string', (text: string, part: string) =>
    text.startsWith(part),
  ),
  method('endsWith', '(string, string) -> bool', 'ends_with_string', (text: string, part: string) =>
    text.endsWith(part),
  ),
];
