// resource.Quantity: `500m`, `1.5Gi`, `12e6`. A quantity is a fixed-point number with nine decimal places, and records in which of three
// notations it was written. Finer values are rounded away from zero, so that a small request never becomes zero. The canonical text has no
// fraction and the largest suffix that loses nothing.
import { ValueErrors } from './errors.ts';

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface ParsedQuantity {
  /** The value in billionths. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const NANO = 1_000_000_000n;
const MAX_BINARY = (2n ** 63n - 1n) * NANO;
/** The limit is far beyond any resource. Without it, `1e999999999` would use all memory. */
const MAX_EXPONENT = 1000;
const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Parses a quantity. Objects may also hold a plain number. */
export function parseQuantity(quantity: string | number): ParsedQuantity {
  const text = String(quantity);
  // Before the pattern, which takes quadratic time for digits that something else follows.
  if (text.length > MAX_EXPONENT)
    throw ValueErrors.Quantity(text, FORMLIKE.test(text) ? 'it has too many digits' : FORM);
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text);
  const [, sign, whole = '', fraction = '', suffix = ''] = match ?? [];
  if (!match || whole + fraction === '') throw ValueErrors.Quantity(text, FORM);
  const { base, exponent, format } = readSuffix(text, suffix);
  const digits = BigInt(whole + fraction);
  const size =
    base === 2
      ? divideUp(digits * 2n ** BigInt(exponent) * NANO, 10n ** BigInt(fraction.length))
      : shiftUp(digits, exponent - fraction.length + 9);
  const capped = base === 2 && size > MAX_BINARY ? MAX_BINARY : size;
  return { nanos: sign === '-' ? -capped : capped, format };
}

/** Returns a negative number, zero or a positive number if `a` is less than, equal to or greater than `b`, in any notation. */
export function compareQuantities(a: string | number, b: string | number): number {
  const left = parseQuantity(a).nanos;
  const right = parseQuantity(b).nanos;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns the canonical text. A server may store another text that it considers canonical: see storedQuantity. */
export function canonicalQuantity(quantity: string | number): string {
  return formatQuantity(parseQuantity(quantity));
}

/**
 * Returns the text that a server stores for a quantity. It is mostly the canonical text. Texts that look canonical to the server's fast
 * path stay unchanged (`1.500`, `+5`, `1E3`), and a comparison with the canonical text would show a difference for ever.
 */
export function storedQuantity(quantity: string | number): string {
  const text = String(quantity);
  const canonical = canonicalQuantity(text);
  const [, whole = '', fraction = '', suffix = ''] = /^[+-]?0*([0-9]*)(?:\.([0-9]*))?(.*)$/.exec(text) ?? [];
  const { base, exponent } = readSuffix(text, suffix);
  const digits = (whole || '0') + fraction;
  if (base === 2) {
    const isFast = fraction === '' && digits.length + Math.floor((exponent * 3) / 10) <= 14;
    return isFast && Number(digits) % 8 !== 0 ? text : canonical;
  }
  const scale = exponent - fraction.length;
  const isFast = digits.length <= 18 && scale >= -9;
  return isFast && scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0') ? text : canonical;
}

/** Returns the nearest double, for metrics and comparisons that tolerate an error in the sixteenth digit. */
export function quantityToNumber(quantity: string | number): number {
  const { nanos } = parseQuantity(quantity);
  return Number(nanos / NANO) + Number(nanos % NANO) / 1e9;
}

export function formatQuantity({ nanos, format }: ParsedQuantity): string {
  if (nanos === 0n) return '0';
  const size = nanos < 0n ? -nanos : nanos;
  // Values below 1 Ki and fractions would lose digits in a binary notation.
  if (format === 'BinarySI' && size >= 1024n * NANO && nanos % NANO === 0n) return binary(nanos / NANO);
  return decimal(nanos, format === 'DecimalExponent');
}

/** Characters of quantities alone. */
const FORMLIKE = /^[-+.0-9eEinumkKMGTP]+$/;
const FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function readSuffix(text: string, suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = DECIMAL_SUFFIXES.indexOf(suffix);
  if (decimal >= 0) return { base: 10, exponent: (decimal - 3) * 3, format: 'DecimalSI' };
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  if (!/^[eE][-+]?[0-9]+$/.test(suffix)) throw ValueErrors.Quantity(text, "unable to parse quantity's suffix");
  const exponent = Number(suffix.slice(1));
  if (exponent > MAX_EXPONENT) throw ValueErrors.Quantity(text, `its exponent is larger than ${MAX_EXPONENT}`);
  return { base: 10, exponent: Math.max(exponent, -2 * MAX_EXPONENT), format: 'DecimalExponent' };
}

function binary(value: bigint): string {
  let rest = value;
  let power = 0;
  while (rest % 1024n === 0n && power < BINARY_SUFFIXES.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${BINARY_SUFFIXES[power]}`;
}

/** Exponents are multiples of three, starting with n (-9). No suffix exists beyond E (18), so E is used for all larger values. */
function decimal(nanos: bigint, asExponent: boolean): string {
  const last = asExponent ? Number.POSITIVE_INFINITY : DECIMAL_SUFFIXES.length - 1;
  let rest = nanos;
  let power = 0;
  while (rest % 1000n === 0n && power < last) {
    rest /= 1000n;
    power++;
  }
  if (!asExponent) return `${rest}${DECIMAL_SUFFIXES[power]}`;
  const exponent = power * 3 - 9;
  return exponent === 0 ? String(rest) : `${rest}e${exponent}`;
}

function shiftUp(digits: bigint, places: number): bigint {
  return places >= 0 ? digits * 10n ** BigInt(places) : divideUp(digits, 10n ** BigInt(-places));
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
