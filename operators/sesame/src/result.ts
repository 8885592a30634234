/** A value, or the problem because of which there is none. */
export type Result<Value, Problem = string> =
  | { readonly isOk: true; readonly value: Value }
  | { readonly isOk: false; readonly problem: Problem };

export function accept<Value>(value: Value): { readonly isOk: true; readonly value: Value } {
  return { isOk: true, value };
}

export function refuse<Problem>(problem: Problem): { readonly isOk: false; readonly problem: Problem } {
  return { isOk: false, problem };
}
