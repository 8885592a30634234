// matchConditions: CEL over `object`, `oldObject` and `request`, all of them without a schema. One that is false keeps the
// webhook from being asked, whatever the others say; one that cannot be evaluated counts as a webhook that cannot be asked.
import {
  type CelCompiler,
  CelCostError,
  CelError,
  type CelProgram,
  type CelVariable,
  createCelCompiler,
  DYNAMIC,
  dynamicValue,
} from '@capstan/kube';

export interface MatchCondition {
  name: string;
  expression: string;
}

/** Returns whether all conditions hold, or the reason why that is not known. */
export type MatchConditions = (variables: MatchVariables) => boolean | { problem: string };

export interface MatchVariables {
  object: unknown;
  oldObject: unknown;
  request: unknown;
}

export interface ConditionCompiler {
  compile(conditions: readonly MatchCondition[]): MatchConditions;
  /** Returns the problem of an expression, or undefined. */
  problem(expression: string): string | undefined;
}

const VARIABLES: readonly CelVariable[] = ['object', 'oldObject', 'request'].map((name) => ({ name, type: DYNAMIC }));

/** The compiler is made when the first condition comes. */
export function createConditionCompiler(): ConditionCompiler {
  let compiler: CelCompiler | undefined;
  const read = (expression: string): CelProgram | { problem: string } => {
    compiler ??= createCelCompiler();
    const compiled = compiler.compile(expression, VARIABLES);
    if ('issues' in compiled) return { problem: `compilation failed: ${compiled.issues}` };
    if ('failure' in compiled) return { problem: `program instantiation failed: ${compiled.failure}` };
    const { kind } = compiled.program.type;
    return kind === 'bool' || kind === 'dyn' ? compiled.program : { problem: 'must evaluate to bool' };
  };
  return {
    compile(conditions) {
      const programs = conditions.map(({ expression }) => ({ expression, program: read(expression) }));
      return ({ object, oldObject, request }) => {
        if (programs.length === 0) return true;
        const values = [dynamicValue(object), dynamicValue(oldObject), dynamicValue(request)];
        const problems: string[] = [];
        for (const { expression, program } of programs) {
          const result = 'problem' in program ? program : evaluate(program, values);
          if (result === false) return false;
          if (result !== true) problems.push(`expression '${expression}' resulted in error: ${result.problem}`);
        }
        if (problems.length === 0) return true;
        return { problem: problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]` };
      };
    },
    problem(expression) {
      const program = read(expression);
      return 'problem' in program ? program.problem : undefined;
    },
  };
}

function evaluate(program: CelProgram, values: Parameters<CelProgram['run']>[0]): boolean | { problem: string } {
  try {
    const { value } = program.run(values);
    return typeof value === 'boolean' ? value : { problem: 'the result is not a boolean' };
  } catch (error) {
    if (error instanceof CelError || error instanceof CelCostError) return { problem: error.message };
    throw error;
  }
}
