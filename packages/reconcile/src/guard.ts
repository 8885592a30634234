// Contains the functions of authors. Anything that such a function throws becomes a readable Error, with the name of the function and its
// argument. A promise where a value is due is refused: no caller would wait for it.
import { catalogue, reasonOf } from '@capstan/kube/cluster';

const AuthorErrors = catalogue('author', {
  Threw: (what: string, cause: unknown) => ({
    message: `${what} threw: ${reasonOf(cause)}`,
    remedy: 'correct the function, or what it was given',
    cause: asError(cause),
  }),
  Promise: (what: string) => ({
    message: `${what} returned a promise, and nothing waits for it`,
    remedy: 'let it be synchronous; read what has to be awaited through a fact',
  }),
  NotOfType: (what: string, expected: string, given: string) => ({
    message: `${what} returned ${given} instead of ${expected}`,
    remedy: `return ${expected}`,
  }),
  NotPlain: (what: string) => ({
    message: `${what} contains itself, or is nested too deeply`,
    remedy: 'give plain data without cycles: texts, numbers, lists and objects',
  }),
});

export { AuthorErrors };

/** The error of a function that was given secret content. Messages of errors quote their input, so that only the sort is shown. */
export function secretly(thrown: unknown): Error {
  return new Error(`${asError(thrown).name} (its message may quote secret content and is not shown)`);
}

/** Calls a function of an author. Its error names it; a promise is refused. */
export function guarded<R>(what: string, call: () => R): R {
  let result: R;
  try {
    result = call();
  } catch (error) {
    throw AuthorErrors.Threw(what, error);
  }
  return settledResult(what, result);
}

/** The same where there is an answer without the function: the error is handed over, and never thrown. */
export function guardedOr<R, F>(what: string, call: () => R, failed: (error: Error) => F): R | F {
  try {
    return guarded(what, call);
  } catch (error) {
    return failed(asError(error));
  }
}

/** The result of a function, unless it is a promise. */
export function settledResult<R>(what: string, result: R): R {
  if (isPromise(result)) refusePromise(what, result);
  return result;
}

/** Throws; the rejection of the promise must not end the process. */
export function refusePromise(what: string, promise: PromiseLike<unknown>): never {
  promise.then(undefined, () => undefined);
  throw AuthorErrors.Promise(what);
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Anything that was thrown, as an Error whose message can be read again and again. */
export function asError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && typeof Object.getOwnPropertyDescriptor(thrown, 'message')?.value === 'string')
      return thrown;
  } catch {
    // A value that cannot even be inspected is described below.
  }
  return new Error(reasonOf(thrown) || 'an error without a message');
}

/** Throws where a value contains itself or is nested too deeply: comparing or printing it would not end. */
export function checkPlain(what: string, value: unknown): void {
  if (isTooDeep(value, 0)) throw AuthorErrors.NotPlain(what);
}

/** Deeper than anything that an API server accepts. */
const DEEPEST = 512;

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (depth > DEEPEST) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isTooDeep(item, depth + 1)) return true;
    return false;
  }
  for (const name in value) if (isTooDeep((value as Record<string, unknown>)[name], depth + 1)) return true;
  return false;
}
