// The CEL of an admission policy: its expressions see the object before and after, the request, the namespace, the parameters of the
// binding, and the policy's own variables, each of which is evaluated when the first expression asks for it.
import {
  type CelCompiler,
  CelCostError,
  CelError,
  type CelProgram,
  type CelType,
  type CelValue,
  type CelVariable,
  DYNAMIC,
  dynamicValue,
} from '@capstan/kube';

/** The variables of a policy's evaluation; all of them without a schema. */
export interface PolicyInput {
  object: unknown;
  oldObject: unknown;
  request: unknown;
  namespaceObject: unknown;
  params: unknown;
}

export interface Expression {
  readonly text: string;
  readonly program: CelProgram | { problem: string };
}

export interface PolicyExpressions {
  /** The problem of each variable, by its index. */
  readonly variableProblems: ReadonlyMap<number, string>;
  compile(text: string): Expression;
  /** For one input: evaluates expressions, variables once. */
  evaluator(input: PolicyInput): (expression: Expression) => { value: CelValue } | { problem: string };
}

const NAMES = ['object', 'oldObject', 'request', 'namespaceObject', 'params'] as const;
const VARIABLES_TYPE = 'kubernetes.variables';

export function createPolicyExpressions(
  compiler: CelCompiler,
  variables: readonly { name: string; expression: string }[],
  hasParams: boolean,
): PolicyExpressions {
  const fields = new Map<string, CelType>();
  const programs = new Map<string, Expression>();
  const variableProblems = new Map<number, string>();
  const names = NAMES.filter((name) => hasParams || name !== 'params');
  const declared = (): CelVariable[] => [
    ...names.map((name) => ({ name, type: DYNAMIC })),
    { name: 'variables', type: { kind: 'object', name: VARIABLES_TYPE, fields: new Map(fields) } },
  ];
  const compile = (text: string): Expression => {
    const compiled = compiler.compile(text, declared());
    if ('issues' in compiled) return { text, program: { problem: `compilation failed: ${compiled.issues}` } };
    if ('failure' in compiled)
      return { text, program: { problem: `program instantiation failed: ${compiled.failure}` } };
    return { text, program: compiled.program };
  };
  for (const [index, { name, expression }] of variables.entries()) {
    const compiled = compile(expression);
    if ('problem' in compiled.program) variableProblems.set(index, compiled.program.problem);
    // An invalid variable is defined all the same, so expressions that use it have no error of their own.
    fields.set(name, 'problem' in compiled.program ? DYNAMIC : compiled.program.type);
    programs.set(name, compiled);
  }

  return {
    variableProblems,
    compile,
    evaluator(input) {
      const known = new Map<string, CelValue>();
      const values: CelValue[] = names.map((name) => dynamicValue(input[name]));
      const valueOf = (name: string): CelValue => {
        const found = known.get(name);
        if (found !== undefined) return found;
        const program = programs.get(name)?.program;
        if (program === undefined || 'problem' in program)
          throw new CelError(program?.problem ?? `no such key: ${name}`);
        const { value } = program.run(values);
        known.set(name, value);
        return value;
      };
      const members = new Map([...programs.keys()].map((name) => [name, { name, convert: () => valueOf(name) }]));
      const raw = Object.fromEntries([...programs.keys()].map((name) => [name, name]));
      values.push({ kind: 'object', raw, type: { kind: 'object', name: VARIABLES_TYPE, fields, members } });
      return ({ text, program }) => {
        if ('problem' in program) return program;
        try {
          return { value: program.run(values).value };
        } catch (error) {
          if (!(error instanceof CelError) && !(error instanceof CelCostError)) throw error;
          return { problem: `expression '${text}' resulted in error: ${error.message}` };
        }
      };
    },
  };
}
