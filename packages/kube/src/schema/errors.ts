import type { FieldError } from './field-error.ts';

export type SchemaErrorCode = 'InvalidPattern' | 'InvalidKind' | 'WrongKind';

/** An error in the code of a schema or kind. An error in a user's object is a FieldError instead. */
export class SchemaError extends Error {
  readonly code: SchemaErrorCode;

  constructor(code: SchemaErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SchemaError';
    this.code = code;
  }
}

export const SchemaErrors = {
  invalidKind: (kind: string, errors: readonly FieldError[]) =>
    new SchemaError(
      'InvalidKind',
      `cannot define kind ${kind}: no API server would accept its CustomResourceDefinition. ` +
        `Correct its definition: ${errors.map((error) => error.message).join('; ')}`,
    ),
  inconsistentKind: (kind: string, problem: string, remedy: string) =>
    new SchemaError('InvalidKind', `cannot define kind ${kind}: ${problem}; ${remedy}`),
  wrongKind: (kind: string, found: string, known: readonly string[]) =>
    new SchemaError(
      'WrongKind',
      `cannot view ${found} as ${kind}: it is neither that kind nor an alias of it; use one of ${known.join(', ')}`,
    ),
};
