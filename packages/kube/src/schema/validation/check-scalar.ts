import type { Regexp } from '../../regexp/index.ts';
import { invalidField, tooLong, wrongType } from '../field-error.ts';
import { goFloat, goNumber, goQuote, isInt64 } from '../go-text.ts';
import type { JsonSchema } from '../json-schema.ts';
import { type Check, fieldAt, type Report, reportWithoutField } from './check.ts';
import { formatCheck } from './formats.ts';
import { goRegExp } from './go-regexp.ts';

/** Length and pattern; only the first that fails is reported. */
export function stringCheck(schema: JsonSchema): Check | undefined {
  const { maxLength, minLength, pattern } = schema;
  if (maxLength === undefined && minLength === undefined && !pattern) return undefined;
  const [regExp, shownPattern] = pattern ? compiledPattern(pattern) : [];
  return (value, path, report) => {
    const text = value as string;
    // UTF-16 units are never fewer than characters, so most strings need no counting.
    if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength) {
      report.errors.push(tooLong(fieldAt(report, path), maxLength));
    } else if (minLength !== undefined && (text.length < minLength || characters(text) < minLength)) {
      const detail = `${path} in body should be at least ${minLength} chars long`;
      report.errors.push(invalidField(fieldAt(report, path), text, detail));
    } else if (shownPattern !== undefined && !regExp?.test(text)) {
      report.errors.push(invalidField(fieldAt(report, path), text, `${path} in body should match '${shownPattern}'`));
    }
    return 0;
  };
}

// No text matches a pattern that does not compile: the fault is reported where the pattern is used, as the server does.
function compiledPattern(pattern: string): [regExp: Regexp | undefined, shown: string] {
  try {
    return [goRegExp(pattern), pattern];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [undefined, `${pattern}, but pattern is invalid: ${reason}`];
  }
}

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The string format, undefined when the server would ignore it for this type. */
export function stringFormatCheck(schema: JsonSchema): Check | undefined {
  const format = effectiveFormat(schema);
  const isValid = schema.type === 'string' || schema.type === undefined ? formatCheck(format) : undefined;
  if (!isValid) return undefined;
  return (value, path, report) => {
    const text = value as string;
    if (!isValid(text)) {
      const detail = `${path} in body must be of type ${format}: ${goQuote(text)}`;
      report.errors.push(wrongType(fieldAt(report, path), text, detail));
    }
    return 0;
  };
}

/** The format that counts for the schema's type; an unknown one counts as none. */
export function effectiveFormat(schema: JsonSchema): string {
  const { format = '', type } = schema;
  if (schema['x-kubernetes-int-or-string']) return '';
  switch (type) {
    case undefined:
    case 'string':
      return formatCheck(format) ? format : '';
    case 'integer':
      return format === 'int32' || format === 'int64' ? format : '';
    case 'number':
      return format === 'float' || format === 'double' ? format : '';
    default:
      return '';
  }
}

/** Range of the type, multipleOf, minimum, maximum. */
export function numberCheck(schema: JsonSchema): Check {
  const { multipleOf, minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false } = schema;
  const isAmbiguous = schema['x-kubernetes-int-or-string'] === true;
  const type = !isAmbiguous && (schema.type === 'integer' || schema.type === 'number') ? schema.type : '';
  const format = type === '' ? '' : effectiveFormat(schema);

  return (value, path, report) => {
    const number = value as number;
    checkRange(number, type, format, 'Checked', path, report);
    if (multipleOf !== undefined) {
      const fits = checkRange(multipleOf, type, format, 'MultipleOf', path, report);
      checkMultiple(number, multipleOf, fits && isInt64(number), path, report);
    }
    if (minimum !== undefined) {
      const fits = checkRange(minimum, type, format, 'Minimum boundary', path, report);
      // Go compares integers with integers, so a bound of 0.5 on a whole number counts as 0.
      const whole = fits && isInt64(number);
      const bound = whole ? Math.trunc(minimum) : minimum;
      if (number < bound || (exclusiveMinimum && number === bound)) {
        const relation = exclusiveMinimum ? 'greater than' : 'greater than or equal to';
        outOfBounds(number, `${relation} ${whole ? goNumber(bound) : goFloat(bound)}`, path, report);
      }
    }
    if (maximum !== undefined) {
      const fits = checkRange(maximum, type, format, 'Maximum boundary', path, report);
      const whole = fits && isInt64(number);
      const bound = whole ? Math.trunc(maximum) : maximum;
      if (number > bound || (exclusiveMaximum && number === bound)) {
        const relation = exclusiveMaximum ? 'less than' : 'less than or equal to';
        outOfBounds(number, `${relation} ${whole ? goNumber(bound) : goFloat(bound)}`, path, report);
      }
    }
    return 1;
  };
}

function outOfBounds(number: number, allowed: string, path: string, report: Report): void {
  report.errors.push(invalidField(fieldAt(report, path), number, `${path} in body should be ${allowed}`));
}

const MAX_FLOAT32 = 3.4028234663852886e38;

function checkRange(value: number, type: string, format: string, what: string, path: string, report: Report): boolean {
  let fits = true;
  if (type === 'integer') fits = format === 'int32' ? isInt64(value) && value === (value | 0) : isInt64(value);
  else if (format === 'float') fits = Math.abs(value) <= MAX_FLOAT32;
  if (!fits) {
    const expected = format === '' ? `${type} (default format)` : `${type} with format ${format}`;
    reportWithoutField(report, `${what} value must be of type ${expected} in ${path}`);
  }
  return fits;
}

function checkMultiple(number: number, multipleOf: number, whole: boolean, path: string, report: Report): void {
  const factor = whole ? Math.trunc(multipleOf) : multipleOf;
  const shownFactor = whole ? goNumber(factor) : goFloat(factor);
  if (factor <= 0) {
    const detail = `factor MultipleOf declared for ${path} must be positive: ${shownFactor}`;
    report.errors.push(invalidField(fieldAt(report, path), factor, detail));
    return;
  }
  const quotient = factor < 1 ? (1 / factor) * number : number / factor;
  const isMultiple = whole ? number % factor === 0 : Math.abs(quotient - Math.round(quotient)) < 1e-9;
  if (isMultiple) return;
  const detail = `${path} in body should be a multiple of ${shownFactor}`;
  report.errors.push(invalidField(fieldAt(report, path), number, detail));
}
