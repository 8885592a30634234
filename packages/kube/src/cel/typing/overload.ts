// Functions are tables of overloads, each with its signature in CEL's notation. The name of a function may have a namespace
// (`sets.contains`). Operators are functions too (`_+_`).
import type { Expr } from '../syntax/ast.ts';
import type { Value } from '../values.ts';
import { type CelType, parseType, splitTypes } from './types.ts';

export type Run = (...args: Value[]) => Value;

export interface Overload {
  readonly id: string;
  readonly name: string;
  /** A method is called on its first argument: `text.size()`. */
  readonly isMethod: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly run: Run;
}

// biome-ignore lint: each overload runs on values of its own signature, which the checker or the dispatcher has seen to.
type Implementation = (...args: never[]) => Value;

/** Declares a function that is called as `name(args)`: `func('size', '(string) -> int', 'size_string', run)`. */
export function func(name: string, signature: string, id: string, run: Implementation): Overload {
  return { name, id, isMethod: false, ...parseSignature(signature), run: run as Run };
}

/** Declares a function that is called as `first.name(rest)`. */
export function method(name: string, signature: string, id: string, run: Implementation): Overload {
  return { name, id, isMethod: true, ...parseSignature(signature), run: run as Run };
}

function parseSignature(signature: string): { args: CelType[]; result: CelType } {
  const [, args = '', result = ''] = /^\((.*)\) -> (.*)$/.exec(signature) ?? [];
  return { args: splitTypes(args).map(parseType), result: parseType(result) };
}

/** A call with the overloads that fit it. */
export interface ResolvedCall {
  readonly overloads: readonly Overload[];
  /** The arguments, starting with the target of a method. */
  readonly args: readonly Expr[];
}

/** Overloads by the name of their function. */
export type FunctionTable = ReadonlyMap<string, readonly Overload[]>;

export function functionTable(overloads: readonly Overload[]): FunctionTable {
  return Map.groupBy(overloads, ({ name }) => name);
}
