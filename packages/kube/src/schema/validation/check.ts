import { type FieldError, invalidField, NO_FIELD } from '../field-error.ts';
import type { JsonSchema } from '../json-schema.ts';

/**
 * Checks one value at a path of the object and adds its errors to the report. `old` is the value before the update, or undefined if there
 * is none to compare with. Returns the number of matches: if all branches of an anyOf or oneOf fail, the server reports the one that
 * matched most, so this is counted exactly as kube-openapi does.
 */
export type Check = (value: unknown, path: string, report: Report, old: unknown) => number;

export interface Report {
  errors: FieldError[];
  /** Stands before every field's path, but not in the details: where the schema's root lies in a larger document. */
  readonly prefix: string;
}

/** Compiles a schema below the one that is being compiled. */
export type CompileSchema = (schema: JsonSchema) => Check;

/** The full name of the field at a path. */
export function fieldAt(report: Report, path: string): string {
  const name = path.startsWith('.') ? path.slice(1) : path;
  if (name === '') return report.prefix === '' ? NO_FIELD : report.prefix;
  return report.prefix === '' ? name : `${report.prefix}.${name}`;
}

/** An error which the server attributes to no field, although its text may name one. */
export function reportWithoutField(report: Report, text: string): void {
  report.errors.push(invalidField(fieldAt(report, ''), '', text));
}
