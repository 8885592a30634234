import { CodedError } from '@capstan/kube/cluster';
import { AuthorErrors, guarded } from '../guard.ts';
import type { Operator } from '../operator.ts';
import type { Flags, FlagValues } from './flag.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The operator as the values of its flags ask for. An error with a code is meant for the user and passes; any other names the operator
 * and its function.
 */
export function configured(operator: Operator, values: FlagValues<Flags>, env: Environment): Operator {
  const { withFlags } = operator;
  if (withFlags === undefined) return operator;
  const what = `withFlags of the operator ${operator.name}`;
  const result: unknown = named(what, () => withFlags(values, env));
  if (!isOperator(result)) throw AuthorErrors.NotOfType(what, 'an operator', 'something else');
  return result;
}

/** Flags of `capstan run` that follow from those of the operator's own program. */
export function runFlagsOf(
  { name, program }: Operator,
  values: FlagValues<Flags>,
): Readonly<Record<string, string | boolean | undefined>> {
  return named(`runFlags of the operator ${name}`, () => program?.runFlags?.(values)) ?? {};
}

function named<R>(what: string, call: () => R): R {
  let refusal: CodedError | undefined;
  try {
    return guarded(what, () => {
      try {
        return call();
      } catch (error) {
        if (error instanceof CodedError) refusal = error;
        throw error;
      }
    });
  } catch (error) {
    throw refusal ?? error;
  }
}

function isOperator(value: unknown): value is Operator {
  return typeof value === 'object' && value !== null && 'name' in value && 'reconcilers' in value;
}
