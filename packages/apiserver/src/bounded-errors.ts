// Errors of an object are collected up to a bound: an answer lists a thousand, and a body with fifty thousand wrong values would take seconds.
import type { FieldError } from './errors.ts';

const MAX_COLLECTED = 2_000;
/** The size of all messages. Each may show a whole list. */
const MAX_COLLECTED_TEXT = 4 * 1024 * 1024;

/** A list of errors that is full. It ends the checks. */
class EnoughErrors extends Error {
  readonly found: readonly FieldError[];

  constructor(found: readonly FieldError[]) {
    super('there are enough errors');
    this.found = found;
  }
}

/** An empty list for checks within `collectErrors`. */
export function boundedErrors(): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  const push = (...added: FieldError[]): number => {
    for (const error of added) {
      errors[errors.length] = error;
      size += error.message.length;
    }
    if (errors.length >= MAX_COLLECTED || size >= MAX_COLLECTED_TEXT) throw new EnoughErrors(errors);
    return errors.length;
  };
  // It is compared and copied as any other list.
  return Object.defineProperty(errors, 'push', { value: push, enumerable: false });
}

/** Runs checks; returns their errors, or those of the list that was full. */
export function collectErrors(check: () => readonly FieldError[]): readonly FieldError[] {
  try {
    return check();
  } catch (error) {
    if (error instanceof EnoughErrors) return error.found;
    throw error;
  }
}
