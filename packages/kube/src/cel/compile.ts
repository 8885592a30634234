import { compileRegexp, RegexpError } from '../regexp/index.ts';
import type { Frame } from './frame.ts';
import { kubernetesLibrary, type LibraryOptions } from './library/index.ts';
import { planCel } from './plan.ts';
import type { Declaration } from './schema-type.ts';
import { estimateCost } from './static-cost.ts';
import { parseCel } from './syntax/parser.ts';
import { formatIssues } from './syntax/source.ts';
import { type Checked, checkCel } from './typing/check.ts';
import type { FunctionTable } from './typing/overload.ts';
import type { CelType } from './typing/types.ts';
import type { Value } from './values.ts';

/** The highest cost of one evaluation of an expression. */
export const MAX_CALL_COST = 1_000_000;

export interface CelVariable {
  readonly name: string;
  readonly type: CelType;
  /** The declaration from which costs are estimated. */
  readonly declaration?: Declaration;
}

export interface CelProgram {
  readonly type: CelType;
  /** The variables that the expression names. */
  readonly names: ReadonlySet<string>;
  /** The estimated upper limit of the cost of an evaluation. */
  readonly maxCost: number;
  /** Evaluates with the values of the variables in their order. Throws a CelError or a CelCostError. */
  run(values: readonly Value[], limit?: number): { value: Value; cost: number };
  /** Works like `run`, for callers that also need the cost of a failed evaluation. */
  start(values: readonly Value[], limit?: number): Frame & { finish(): Value };
}

export type CelCompilation =
  | { readonly program: CelProgram }
  /** The issues in cel-go's format, each with its position. */
  | { readonly issues: string }
  /** The expression is valid, but no program can be built from it because one of its patterns does not compile. */
  | { readonly failure: string };

export interface CelCompiler {
  /** Compiles an expression over variables. Issues have cel-go's text. */
  compile(text: string, variables: readonly CelVariable[]): CelCompilation;
}

/** Creates a compiler with the functions that API servers offer. */
export function createCelCompiler(options: LibraryOptions = {}): CelCompiler {
  let functions: FunctionTable | undefined;
  return {
    compile(text, variables) {
      const parsed = parseCel(text, options);
      if (!parsed.expr) return { issues: formatIssues(text, parsed.issues) };
      functions ??= kubernetesLibrary(options);
      const types = new Map(variables.map(({ name, type }) => [name, type]));
      const checked: Checked = checkCel(parsed.expr, { functions, variables: types });
      if (checked.issues.length > 0) return { issues: formatIssues(text, checked.issues) };
      const failure = patternFailure(checked);
      if (failure !== undefined) return { failure };
      const names = variables.map(({ name }) => name);
      const plan = planCel(parsed.expr, checked, names);
      const declarations = new Map(variables.map(({ name, declaration }) => [name, declaration]));
      const start: CelProgram['start'] = (values, limit = MAX_CALL_COST) => {
        const slots: Value[] = [...values];
        while (slots.length < plan.slots) slots.push(null);
        const frame = { slots, cost: 0, limit, finish: () => plan.evaluate(frame) };
        return frame;
      };
      return {
        program: {
          type: checked.type,
          names: checked.names,
          maxCost: estimateCost(parsed.expr, checked, declarations),
          start,
          run(values, limit) {
            const frame = start(values, limit);
            const value = frame.finish();
            return { value, cost: frame.cost };
          },
        },
      };
    },
  };
}

function patternFailure({ calls }: Checked): string | undefined {
  for (const {
    name,
    args: [pattern],
    target,
  } of calls.keys()) {
    if ((name !== 'find' && name !== 'findAll') || !target || pattern?.op !== 'literal') continue;
    if (typeof pattern.value !== 'string') continue;
    try {
      compileRegexp(pattern.value);
    } catch (error) {
      if (error instanceof RegexpError) return error.message;
      throw error;
    }
  }
  return undefined;
}
