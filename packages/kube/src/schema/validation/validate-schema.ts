// Validation against the schema, as kube-apiserver does it and in its words. A schema is compiled once to closures; errors are built
// only where something is wrong, and paths are plain string concatenations, so a valid object of 2 KB costs a few microseconds.

import { type FieldError, unsupportedValue, wrongType } from '../field-error.ts';
import { isInt64 } from '../go-text.ts';
import { equalJson, isJsonArray, type JsonSchema } from '../json-schema.ts';
import { type Check, fieldAt, type Report } from './check.ts';
import { junctorCheck } from './check-junctors.ts';
import { arrayCheck, checkPart, objectCheck } from './check-parts.ts';
import { effectiveFormat, numberCheck, stringCheck, stringFormatCheck } from './check-scalar.ts';

export interface SchemaValidateOptions {
  /** Where the value lies in a larger document; stands before each field's path, not in the details. Default the root. */
  path?: string;
  /** The value before the update. Errors in unchanged parts are accepted. */
  old?: unknown;
}

export type SchemaValidator = (value: unknown, options?: SchemaValidateOptions) => FieldError[];

/** Returns the errors of a value under a schema. List types and rules are checked by validateListTypes and validateRules. */
export function validateSchema(schema: JsonSchema, value: unknown, options?: SchemaValidateOptions): FieldError[] {
  return compileValidator(schema)(value, options);
}

/** The validator of a schema, for callers that validate many values. */
export function compileValidator(schema: JsonSchema): SchemaValidator {
  const check = compileCheck(schema);
  return (value, options) => {
    const report: Report = { errors: [], prefix: options?.path ?? '' };
    checkPart(check, value, '', report, options?.old);
    return report.errors.length > 1 ? withoutRepetitions(report.errors) : report.errors;
  };
}

function withoutRepetitions(errors: readonly FieldError[]): FieldError[] {
  return [...new Map(errors.map((error) => [error.message, error])).values()];
}

/** More errors help no one, and those of fifty thousand wrong values take seconds. */
const MAX_COLLECTED = 2_000;

function compileCheck(schema: JsonSchema): Check {
  const type = typeCheck(schema);
  const junctors = junctorCheck(schema, compileCheck);
  const string = stringCheck(schema);
  const stringFormat = stringFormatCheck(schema);
  const number = numberCheck(schema);
  const array = arrayCheck(schema, compileCheck);
  const object = objectCheck(schema, compileCheck);
  const oneOfValues = enumCheck(schema);
  // Each validator that applies counts one, the node itself one, and the junctors' validator one for having run.
  const base = 4;

  return (value, path, report, old) => {
    if (report.errors.length >= MAX_COLLECTED) return 0;
    let matched = type ? type(value, path, report, old) : 0;
    if (value === null || value === undefined) {
      oneOfValues?.(value ?? null, path, report, old);
      return matched;
    }
    matched += base + (type ? 1 : 0);
    if (junctors) matched += junctors(value, path, report, old);
    if (typeof value === 'string') {
      matched += stringFormat ? 2 : 1;
      string?.(value, path, report, old);
      stringFormat?.(value, path, report, old);
    } else if (typeof value === 'number') {
      matched += 1 + number(value, path, report, old);
    } else if (isJsonArray(value)) {
      matched += 1 + array(value, path, report, old);
    }
    oneOfValues?.(value, path, report, old);
    if (typeof value === 'object' && !isJsonArray(value)) matched += 1 + object(value, path, report, old);
    return matched;
  };
}

function typeCheck(schema: JsonSchema): Check | undefined {
  const types: string[] = schema['x-kubernetes-int-or-string']
    ? ['integer', 'string']
    : schema.type
      ? [schema.type]
      : [];
  const format = effectiveFormat(schema);
  if (types.length === 0 && format === '') return undefined;
  const expected = types.join(',');
  const isNumeric = types.includes('integer') || types.includes('number');

  const only = types.length === 1 ? types[0] : undefined;

  return (value, path, report) => {
    // Nearly every value ends here.
    if (only !== undefined && typeOf(value) === only) return 1;
    if (value === null || value === undefined) {
      if (types.length === 0 || schema.nullable) return 1;
      return fail(expected, 'null', path, report);
    }
    const found = typeOf(value);
    const fits = types.includes(found) || (found === 'integer' && types.includes('number'));
    const isText = found === 'string' || found === 'array';
    if (format !== '' && !isText && !fits) return fail(format, formatOf(found), path, report);
    // A quirk of the server that clients may meet: a list passes where a formatted string is expected.
    if (format !== '' && isText && !isNumeric) return 1;
    return fits ? 1 : fail(expected, found, path, report);
  };
}

function fail(expected: string, found: string, path: string, report: Report): number {
  const detail = `${path} in body must be of type ${expected}: "${found}"`;
  report.errors.push(wrongType(fieldAt(report, path), found, detail));
  return 0;
}

function typeOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return typeof value;
    case 'number':
      return isInt64(value) ? 'integer' : 'number';
    default:
      return (value ?? null) === null ? 'null' : Array.isArray(value) ? 'array' : 'object';
  }
}

function formatOf(type: string): string {
  if (type === 'integer') return 'int64';
  return type === 'number' ? 'float64' : '';
}

function enumCheck(schema: JsonSchema): Check | undefined {
  const values = schema.enum;
  if (!values || values.length === 0) return undefined;
  return (value, path, report) => {
    // A null never matches, not even a null among the values: the server compares types first.
    if (value === null || !values.some((allowed) => equalJson(value, allowed))) {
      report.errors.push(unsupportedValue(fieldAt(report, path), value, values));
    }
    return 0;
  };
}
