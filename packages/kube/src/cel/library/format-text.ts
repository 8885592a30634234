// '%s is %d'.format([a, b]): the clauses of the string extension in the version that API servers offer. It writes values inside lists and
// maps as CEL literals. https://github.com/google/cel-go/tree/master/ext#format
import { goQuote } from '../../schema/go-text.ts';
import { CelError } from '../errors.ts';
import {
  type CelList,
  type CelMap,
  type CelObject,
  type Duration,
  itemsOf,
  keysOf,
  kindOf,
  type Timestamp,
  type TypeValue,
  typeName,
  type Uint,
  type Value,
  valueAt,
} from '../values.ts';
import { durationText, formatDouble } from './conversions.ts';
import { formatTimestamp } from './times.ts';

const DEFAULT_PRECISION = 6;
const MAX_PRECISION = 100;

export function formatText(template: string, list: CelList): string {
  const args = itemsOf(list);
  let next = 0;
  return template.replace(
    /%(?:(%)|(?:\.(\d*))?([^]?))/g,
    (_, percent?: string, precision?: string, clause: string = '') => {
      if (percent !== undefined) return '%';
      if (clause === '') throw new CelError('unexpected end of string');
      const arg = args[next];
      if (arg === undefined) throw new CelError(`index ${next} out of range`);
      next++;
      const digits = precision === undefined || precision === '' ? DEFAULT_PRECISION : Number(precision);
      if (digits > MAX_PRECISION) {
        throw new CelError(`precision ${digits} exceeds maximum allowed precision ${MAX_PRECISION}`);
      }
      return format(clause, arg, digits);
    },
  );
}

function format(clause: string, arg: Value, digits: number): string {
  const unfit = (problem: string): never => {
    throw new CelError(`error during formatting: ${problem}, was given ${typeName(arg)}`);
  };
  switch (clause) {
    case 's':
      return shown(arg) ?? unfit(`string clause can only be used on ${SHOWN}`);
    case 'd':
      return integerOf(arg)?.toString() ?? unfit('decimal clause can only be used on integers');
    case 'f': {
      const number = doubleOf(arg);
      return number === undefined ? unfit('fixed-point clause can only be used on doubles') : grouped(number, digits);
    }
    case 'e': {
      const number = doubleOf(arg);
      if (number === undefined) return unfit('scientific clause can only be used on doubles');
      return scientific(number);
    }
    case 'b':
      if (typeof arg === 'boolean') return arg ? '1' : '0';
      return integerOf(arg)?.toString(2) ?? unfit('only integers and bools can be formatted as binary');
    case 'o':
      return integerOf(arg)?.toString(8) ?? unfit('octal clause can only be used on integers');
    case 'x':
    case 'X': {
      const isBytes = typeof arg === 'string' || arg instanceof Uint8Array;
      const hex = isBytes ? Buffer.from(arg).toString('hex') : integerOf(arg)?.toString(16);
      if (hex === undefined) return unfit('only integers, byte buffers, and strings can be formatted as hex');
      return clause === 'X' ? hex.toUpperCase() : hex;
    }
    default:
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${clause}"`);
  }
}

// Formats a number in a locale's scientific notation: 3.140000×10⁰⁰. The clause's precision is interpreted as a width, so there are always
// six digits.
function scientific(number: number): string {
  if (!Number.isFinite(number)) return grouped(number, DEFAULT_PRECISION);
  const [mantissa = '', exponent = ''] = number.toExponential(DEFAULT_PRECISION).split('e');
  const sign = exponent.startsWith('-') ? '⁻' : '';
  const raised = exponent
    .slice(1)
    .padStart(2, '0')
    .replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(Number(digit)));
  return `${mantissa}×10${sign}${raised}`;
}

const SHOWN = 'strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps';

/** Formats a number with a locale's separators: 1,234.500000. */
function grouped(number: number, digits: number): string {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'NaN' : number > 0 ? '\u221e' : '-\u221e';
  const [whole = '', ...fraction] = fixed(number, digits).split('.');
  return [whole.replace(/\d(?=(\d{3})+$)/g, '$&,'), ...fraction].join('.');
}

// Rounds halves to the even neighbour, unlike toFixed.
function fixed(number: number, digits: number): string {
  const scaled = Math.abs(number) * 10 ** digits;
  const isTie = scaled % 1 === 0.5 && scaled / 10 ** digits === Math.abs(number) && Math.floor(scaled) % 2 === 0;
  return isTie ? (Math.sign(number) * (Math.floor(scaled) / 10 ** digits)).toFixed(digits) : number.toFixed(digits);
}

function integerOf(arg: Value): bigint | undefined {
  if (typeof arg === 'bigint') return arg;
  return kindOf(arg) === 'uint' ? (arg as Uint).value : undefined;
}

function doubleOf(arg: Value): number | undefined {
  if (typeof arg === 'number') return arg;
  return typeof arg === 'string' && /^(NaN|-?Infinity)$/.test(arg) ? Number(arg) : undefined;
}

/** Formats a value for %s, or returns undefined if the value has no text. */
function shown(value: Value): string | undefined {
  switch (kindOf(value)) {
    case 'null':
      return 'null';
    case 'double':
      return formatDouble(value as number);
    case 'uint':
      return String((value as Uint).value);
    case 'bytes':
      return Buffer.from(value as Uint8Array).toString('utf8');
    case 'timestamp':
      return formatTimestamp(value as Timestamp);
    case 'duration':
      return durationText(value as Duration);
    case 'type':
      return (value as TypeValue).name;
    case 'list':
      return `[${itemsOf(value as CelList)
        .map(literal)
        .join(', ')}]`;
    case 'map':
    case 'object': {
      const from = value as CelMap | CelObject;
      const entries = keysOf(from).map((key) => `${literal(key)}:${literal(valueAt(from, key) as Value)}`);
      return `{${entries.toSorted().join(', ')}}`;
    }
    case 'string':
    case 'bool':
    case 'int':
      return `${value as string | boolean | bigint}`;
    default:
      return undefined;
  }
}

function literal(value: Value): string {
  const text = shown(value);
  if (text === undefined) throw new CelError(`no formatting function for ${typeName(value)}`);
  switch (kindOf(value)) {
    case 'string':
      return goQuote(text);
    case 'bytes':
      return `b${goQuote(text)}`;
    case 'timestamp':
    case 'duration':
      return `${kindOf(value)}("${text}")`;
    case 'double':
      return Number.isFinite(value) ? fixed(value as number, DEFAULT_PRECISION) : goQuote(text);
    default:
      return text;
  }
}
