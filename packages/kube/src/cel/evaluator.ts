import type { ValidationRule } from '../builtin/index.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { EvaluateRule, RuleBudget, RuleInput, RuleOutcome } from '../schema/rules.ts';
import { type CelCompiler, type CelProgram, createCelCompiler, MAX_CALL_COST } from './compile.ts';
import { CelCostError, CelError } from './errors.ts';
import { type CompiledRule, compileDeclaredRule } from './rule.ts';
import { type Declaration, declare } from './schema-type.ts';
import { NONE, some, type Value } from './values.ts';

const MAX_MESSAGE_BYTES = 5 * 1024;
const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

export interface RuleEvaluatorOptions {
  /** Default: a compiler with the functions that API servers offer. */
  compiler?: CelCompiler;
}

interface SchemaRules {
  readonly declaration: Declaration | undefined;
  readonly rules: WeakMap<ValidationRule, CompiledRule>;
}

/**
 * Evaluates validation rules in CEL as an API server does. A rule is compiled on first use and cached as long as its schema lives. Schemas
 * are never changed.
 */
export function createRuleEvaluator(options: RuleEvaluatorOptions = {}): EvaluateRule {
  const compiler = options.compiler ?? createCelCompiler();
  const resources = new WeakMap<JsonSchema, SchemaRules>();
  const parts = new WeakMap<JsonSchema, SchemaRules>();

  const compiledRule = ({ rule, schema, isResource }: RuleInput): CompiledRule => {
    const known = isResource ? resources : parts;
    let of = known.get(schema);
    if (!of) {
      of = { declaration: declare(schema, isResource), rules: new WeakMap() };
      known.set(schema, of);
    }
    let compiled = of.rules.get(rule);
    if (!compiled) {
      compiled = compileDeclaredRule(rule, of.declaration, compiler);
      of.rules.set(rule, compiled);
    }
    return compiled;
  };

  return (input) => {
    const compiled = compiledRule(input);
    const { program, declaration, usesOldSelf, error } = compiled;
    if (error !== undefined) return { error, detail: `rule compile error: ${error}` };
    if (!program || !declaration) return { holds: true };
    const { rule, oldSelf, budget } = input;
    const isOptional = rule.optionalOldSelf === true;
    // Without an old value, evaluate only rules with optionalOldSelf.
    if (usesOldSelf && oldSelf === undefined && !isOptional) return { holds: true };
    if (budget && budget.remaining <= 0) return { error: OUT_OF_BUDGET, detail: OUT_OF_BUDGET, isFatal: true };

    let self: Value;
    let before: Value = NONE;
    try {
      self = declaration.convert(input.self);
      if (usesOldSelf && oldSelf !== undefined) before = declaration.convert(oldSelf);
    } catch (failure) {
      return failed(failure, rule);
    }
    const previous = isOptional && before !== NONE ? some(before) : before;
    const outcome = run(program, [self, previous], rule, budget);
    if (typeof outcome !== 'boolean') return outcome;
    if (outcome) return { holds: true };
    return withMessage(compiled, rule, [self, before], budget, { holds: false, usesOldSelf });
  };
}

function run(
  program: CelProgram,
  values: readonly Value[],
  rule: ValidationRule,
  budget: RuleBudget | undefined,
): boolean | RuleOutcome {
  const frame = program.start(values, MAX_CALL_COST);
  let value: Value | undefined;
  let failure: unknown;
  try {
    value = frame.finish();
  } catch (error) {
    failure = error;
  }
  if (budget) {
    if (frame.cost > budget.remaining) return { error: OUT_OF_BUDGET, detail: OUT_OF_BUDGET, isFatal: true };
    budget.remaining -= frame.cost;
  }
  return failure === undefined ? value === true : failed(failure, rule);
}

function failed(failure: unknown, rule: ValidationRule): RuleOutcome {
  const named = (rule.message ?? '') === '' ? rule.rule.trim() : (rule.message ?? '').trim();
  if (failure instanceof CelCostError) {
    const detail = `'${failure.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${named}`;
    return { error: failure.message, detail, isFatal: true };
  }
  if (!(failure instanceof CelError)) throw failure;
  if (!failure.message.startsWith('no such overload')) return { error: failure.message };
  const detail = `'${failure.message}': call arguments did not match a supported operator, function or macro signature for rule: ${named}`;
  return { error: failure.message, detail };
}

// If the messageExpression fails, use the rule's own message. The value is refused in both cases.
function withMessage(
  { message: program }: CompiledRule,
  { messageExpression = '' }: ValidationRule,
  values: readonly Value[],
  budget: RuleBudget | undefined,
  outcome: { holds: false; usesOldSelf: boolean },
): RuleOutcome {
  if (!program) return outcome;
  const frame = program.start(values, MAX_CALL_COST);
  let text = '';
  try {
    text = (frame.finish() as string).trim();
  } catch (error) {
    if (error instanceof CelCostError) {
      const detail = `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(messageExpression)}`;
      return { error: error.message, detail, isFatal: true };
    }
    if (!(error instanceof CelError)) throw error;
  }
  if (budget) {
    if (frame.cost > budget.remaining) {
      const detail = `messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run`;
      return { error: detail, detail, isFatal: true };
    }
    budget.remaining -= frame.cost;
  }
  const isUsable = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES;
  return isUsable ? { ...outcome, message: text } : outcome;
}
