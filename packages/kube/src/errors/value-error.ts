import { CodedError, type ErrorText, errorMakers } from './coded-error.ts';

/** An invalid text or document of the user. */
export class InvalidValueError extends CodedError {
  /** The problem alone, in kube-apiserver's words if it has them. */
  readonly problem: string;

  constructor(code: string, text: InvalidValueText, options?: ErrorOptions) {
    super(code, { message: `${text.message}: ${text.problem}`, remedy: text.remedy }, options);
    this.name = 'InvalidValueError';
    this.problem = text.problem;
  }
}

interface InvalidValueText extends ErrorText {
  problem: string;
}

export const ValueErrors = errorMakers(
  {
    LabelSelector: (value: string, problem: string) => ({
      problem,
      message: `the label selector ${quote(value)} is not valid`,
      remedy: 'separate by commas: key=value, key!=value, key in (a,b), key notin (a,b), key, !key',
    }),
    FieldSelector: (value: string, problem: string) => ({
      problem,
      message: `the field selector ${quote(value)} is not valid`,
      remedy: 'separate by commas: field=value, field!=value; write \\, \\= and \\\\ for , = and \\ in values',
    }),
    Duration: (value: string, problem: string) => ({
      problem,
      message: `${quote(value)} is not a duration`,
      remedy: 'write numbers with units, as in 300ms, 1.5s or 1h30m',
    }),
    Quantity: (value: string, problem: string) => ({
      problem,
      message: `${quote(value)} is not a quantity`,
      remedy: 'write a number with a suffix, as in 500m, 2, 1.5Gi or 100M',
    }),
    Time: (value: string, problem: string) => ({
      problem,
      message: `${quote(value)} is not a time`,
      remedy: 'write it as in RFC 3339: 2026-01-31T12:00:00Z',
    }),
    ChildName: (base: string, problem: string) => ({
      problem,
      message: `cannot derive a name from ${quote(base)}`,
      remedy: 'allow at least 16 characters',
    }),
    /** Answered with 400 by kube-apiserver. */
    JsonPatch: (problem: string) => ({
      problem,
      message: 'the JSON patch cannot be read',
      remedy: 'send a list of operations, each with op, path, and value or from',
    }),
    /** Answered with 422 by kube-apiserver, as is a failed test. */
    JsonPatchDoesNotApply: (operation: number, problem: string) => ({
      problem,
      message: `operation ${operation} of the JSON patch does not apply`,
      remedy: 'read the object again and create the patch for its current content',
    }),
    JsonPatchTestFailed: (operation: number, problem: string) => ({
      problem,
      message: `operation ${operation} of the JSON patch found another value`,
      remedy: 'read the object again and create the patch for its current content',
    }),
  },
  (key, text: InvalidValueText, options) => new InvalidValueError(`kube/Invalid${key}`, text, options),
);

/** Long input is cut: an error is for reading. */
function quote(value: string): string {
  return JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);
}
