export { type CheckRulesOptions, checkRules } from './check-rules.ts';
export {
  type CelCompilation,
  type CelCompiler,
  type CelProgram,
  type CelVariable,
  createCelCompiler,
} from './compile.ts';
export { CelCostError, CelError } from './errors.ts';
export { createRuleEvaluator, type RuleEvaluatorOptions } from './evaluator.ts';
export { DYNAMIC, dynamicValue } from './json-value.ts';
export { type CompiledRule, type CompileRuleOptions, compileRule } from './rule.ts';
export type { CelType } from './typing/types.ts';
export type { Value as CelValue } from './values.ts';
