// Durations in Go's notation, which Kubernetes objects use: `1h30m0s`, `300ms`, `1.5µs`. They are 64-bit counts of nanoseconds. The
// functions in milliseconds are for everyday use; those in nanoseconds are exact.
import { ValueErrors } from './errors.ts';

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  // Both characters are in use: the micro sign and the Greek letter.
  '\u00b5s': 1_000n,
  '\u03bcs': 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const MAX = 2n ** 63n;

/** Returns milliseconds. Digits beyond nanoseconds are cut. */
export function parseDuration(text: string): number {
  const nanos = parseDurationNanos(text);
  // Convert in two parts: a double would round the nanoseconds of a long duration.
  return Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
}

/** Formats milliseconds as Go does, rounded to the nanosecond. */
export function formatDuration(ms: number): string {
  const whole = Math.trunc(ms);
  return formatDurationNanos(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6)));
}

export function parseDurationNanos(text: string): bigint {
  const negative = text.startsWith('-');
  const rest = negative || text.startsWith('+') ? text.slice(1) : text;
  if (rest === '0') return 0n;
  if (rest === '') throw ValueErrors.Duration(text, 'there is no number in it');
  let total = 0n;
  let position = 0;
  while (position < rest.length) {
    const part = /^([0-9]*)(?:\.([0-9]*))?([^0-9.]*)/.exec(rest.slice(position));
    const [matched = '', whole = '', fraction = '', unit = ''] = part ?? [];
    if (whole === '' && fraction === '') {
      throw ValueErrors.Duration(text, `there is no number before ${JSON.stringify(rest.slice(position))}`);
    }
    if (unit === '') throw ValueErrors.Duration(text, `the number ${matched} has no unit`);
    const scale = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
    if (scale === undefined) {
      throw ValueErrors.Duration(text, `the unit ${JSON.stringify(unit)} is not one of ns, us, ms, s, m, h`);
    }
    // Refuse more digits than 64 bits can hold: they would only make the arithmetic slow.
    if (whole.replace(/^0+/, '').length > 19) throw tooLong(text);
    total += BigInt(whole || '0') * scale + fractionOf(fraction, scale);
    if (total > MAX) throw tooLong(text);
    position += matched.length;
  }
  if (total === MAX && !negative) throw tooLong(text);
  return negative ? -total : total;
}

export function formatDurationNanos(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 1_000n)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 1_000_000n)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${decimal(size % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Uses floating point like Go, so that an error in the last nanosecond is the same as Go's. */
function fractionOf(digits: string, unit: bigint): bigint {
  const significant = digits.slice(0, 18);
  return BigInt(Math.trunc(Number(significant) * (Number(unit) / 10 ** significant.length)));
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = String(value % unit)
    .padStart(String(unit).length - 1, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`;
}

function tooLong(text: string): Error {
  return ValueErrors.Duration(text, 'it is longer than 64 bits of nanoseconds (292 years)');
}
