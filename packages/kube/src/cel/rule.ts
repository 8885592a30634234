// A validation rule (x-kubernetes-validations), compiled against its schema.
import type { ValidationRule } from '../builtin/index.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { type CelCompiler, type CelProgram, type CelVariable, createCelCompiler } from './compile.ts';
import { type Declaration, declare, MAX_REQUEST } from './schema-type.ts';
import { optionalOf } from './typing/types.ts';

export interface CompileRuleOptions {
  /** The schema is the root of a resource, so that self has apiVersion, kind and metadata. Default: false. */
  isResource?: boolean;
  /** Default: a compiler with the functions that API servers offer. Share one between many rules. */
  compiler?: CelCompiler;
}

export interface CompiledRule {
  /** The program is absent for an invalid or empty rule. */
  readonly program?: CelProgram;
  readonly declaration?: Declaration;
  readonly usesOldSelf: boolean;
  /** The number of values of the schema that fit into one request. It limits the runs of the rule if no enclosing list has a limit. */
  readonly maxCardinality: number;
  /** The error in the words of an API server: `compilation failed: ERROR: <input>:1:6: …`. */
  readonly error?: string;
  readonly message?: CelProgram;
  readonly messageError?: string;
}

/** Compiles a rule and its messageExpression. */
export function compileRule(rule: ValidationRule, schema: JsonSchema, options: CompileRuleOptions = {}): CompiledRule {
  const declaration = declare(schema, options.isResource === true || schema['x-kubernetes-embedded-resource'] === true);
  return compileDeclaredRule(rule, declaration, options.compiler ?? createCelCompiler());
}

export function compileDeclaredRule(
  rule: ValidationRule,
  declaration: Declaration | undefined,
  compiler: CelCompiler,
): CompiledRule {
  const none = { usesOldSelf: false, maxCardinality: 0 };
  if (rule.rule.trim() === '') return none;
  if (!declaration) return { ...none, error: 'failed to convert to declType for CEL validation rules' };
  const oldType = rule.optionalOldSelf ? optionalOf(declaration.type) : declaration.type;
  const variables: CelVariable[] = [
    { name: 'self', type: declaration.type, declaration },
    { name: 'oldSelf', type: oldType, ...(!rule.optionalOldSelf && { declaration }) },
  ];
  const compiled = compiler.compile(rule.rule, variables);
  if ('issues' in compiled) return { ...none, error: `compilation failed: ${compiled.issues}` };
  if ('failure' in compiled) return { ...none, error: `program instantiation failed: ${compiled.failure}` };
  const { program } = compiled;
  if (program.type.kind !== 'bool') return { ...none, error: 'cel expression must evaluate to a bool' };
  return {
    program,
    declaration,
    usesOldSelf: program.names.has('oldSelf'),
    maxCardinality: Math.floor(MAX_REQUEST / (declaration.minSize + 1)),
    ...compileMessage(rule, variables, compiler),
  };
}

function compileMessage(
  rule: ValidationRule,
  variables: readonly CelVariable[],
  compiler: CelCompiler,
): Pick<CompiledRule, 'message' | 'messageError'> {
  if (!rule.messageExpression) return {};
  const compiled = compiler.compile(rule.messageExpression, variables);
  if ('issues' in compiled) return { messageError: `messageExpression compilation failed: ${compiled.issues}` };
  if ('failure' in compiled) return { messageError: `messageExpression instantiation failed: ${compiled.failure}` };
  if (compiled.program.type.kind !== 'string') return { messageError: 'messageExpression must evaluate to a string' };
  return { message: compiled.program };
}
