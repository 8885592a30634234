import { goJson, goNumber, goQuote, goStruct } from './go-text.ts';

/** Kubernetes' kinds of field errors; each is also the `reason` of a cause in the server's Status. */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

/** An error of one field, in the words of kube-apiserver. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.ports[0].name`; `<nil>` where the server names no field (root, anyOf, oneOf, allOf, not). */
  readonly field: string;
  /** The invalid value; absent if the message does not show it. */
  readonly badValue?: unknown;
  readonly detail: string;
  /** The whole line: `spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1`. */
  readonly message: string;
}

/** The path of an object itself, where there is no field to name. */
export const NO_FIELD = '<nil>';

export function requiredField(field: string, detail = ''): FieldError {
  return fieldError('FieldValueRequired', field, 'Required value', detail, '');
}

export function forbiddenField(field: string, detail: string): FieldError {
  return fieldError('FieldValueForbidden', field, 'Forbidden', detail, '');
}

export function invalidField(field: string, badValue: unknown, detail: string): FieldError {
  return fieldError('FieldValueInvalid', field, `Invalid value: ${shown(badValue)}`, detail, badValue);
}

/** Like invalidField, for a value that Go has as a struct. */
export function invalidStruct(field: string, badValue: unknown, detail: string): FieldError {
  return fieldError('FieldValueInvalid', field, `Invalid value: ${goStruct(badValue)}`, detail, badValue);
}

/** An invalid object or list whose value is too large to be worth showing. */
export function invalidFieldWithoutValue(field: string, detail: string): FieldError {
  return fieldError('FieldValueInvalid', field, 'Invalid value', detail);
}

/** Like invalidField, for values of a wrong type; `badValue` is the name of the type that was found. */
export function wrongType(field: string, badValue: unknown, detail: string): FieldError {
  return fieldError('FieldValueTypeInvalid', field, `Invalid value: ${shown(badValue)}`, detail, badValue);
}

export function unsupportedValue(field: string, badValue: unknown, supported: readonly unknown[]): FieldError {
  const names = supported.map((value) => goQuote(typeof value === 'string' ? value : goJson(value)));
  const detail = names.length > 0 ? `supported values: ${names.join(', ')}` : '';
  return fieldError('FieldValueNotSupported', field, `Unsupported value: ${shown(badValue)}`, detail, badValue);
}

export function duplicateValue(field: string, badValue: unknown): FieldError {
  return fieldError('FieldValueDuplicate', field, `Duplicate value: ${shown(badValue)}`, '', badValue);
}

export function tooLong(field: string, max: number): FieldError {
  const detail = `may not be more than ${max} ${max === 1 ? 'byte' : 'bytes'}`;
  return fieldError('FieldValueTooLong', field, 'Too long', detail, '<value omitted>');
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  const detail = `must have at most ${max} ${max === 1 ? 'item' : 'items'}`;
  return fieldError('FieldValueTooMany', field, `Too many: ${actual}`, detail, actual);
}

function fieldError(type: FieldErrorType, field: string, body: string, detail: string, badValue?: unknown): FieldError {
  const message = `${field}: ${body}${detail === '' ? '' : `: ${detail}`}`;
  return { type, field, ...(badValue !== undefined && { badValue }), detail, message };
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return goQuote(value);
    case 'number':
      return goNumber(value);
    case 'boolean':
      return String(value);
    default:
      return goJson(value);
  }
}
