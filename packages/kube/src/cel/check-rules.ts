// Checks the rules of a schema before any object exists: they must compile, and their cost must stay within the limit of a server. A rule
// below a list or a map runs once per item, so its cost is multiplied.
import type { ValidationRule } from '../builtin/index.ts';
import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts';
import { goJson } from '../schema/go-text.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { atOnce, type Steps } from '../schema/steps.ts';
import { type CelCompiler, createCelCompiler } from './compile.ts';
import { compileDeclaredRule } from './rule.ts';
import { type Declaration, declare } from './schema-type.ts';

const MAX_RULE_COST = 10_000_000;
const MAX_TOTAL_COST = 100_000_000;
const MAX_NUMBER = 2 ** 64;

export interface CheckRulesOptions {
  /** The path of the schema in its document, which precedes each field. Default: the root. */
  path?: string;
  /** The schema is the root of a resource. Default true. */
  isResource?: boolean;
  compiler?: CelCompiler;
  /** Rules are not compiled any more when there are as many errors. Default: all are. */
  maxErrors?: number;
}

interface Place {
  readonly schema: JsonSchema;
  /** The schema that declares the types. allOf only adds to it. */
  readonly spine: JsonSchema;
  readonly isResource: boolean;
  readonly path: string;
  /** The maximal number of values of the schema; undefined if it is not limited. */
  readonly cardinality: number | undefined;
  /** The first enclosing list whose items have no keys. Rules below it have no oldSelf. */
  readonly uncorrelated: string | undefined;
}

/** Returns the errors for which an API server would refuse the rules of a structural schema. */
export function checkRules(schema: JsonSchema, options: CheckRulesOptions = {}): FieldError[] {
  return atOnce(rulesInSteps(schema, options));
}

/** Checks rules as `checkRules` does. It yields after each rule, because one takes up to some 100 ms to compile. */
export function* rulesInSteps(schema: JsonSchema, options: CheckRulesOptions = {}): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  const { path = '', isResource = true, maxErrors = Number.POSITIVE_INFINITY } = options;
  let compiler = options.compiler;
  let total = 0;
  const expensive: { path: string; cost: number }[] = [];
  const count = (at: string, cost: number): void => {
    total = Math.min(total + cost, MAX_NUMBER);
    if (cost >= MAX_TOTAL_COST / 100) expensive.push({ path: at, cost });
  };

  const checkRule = (rule: ValidationRule, index: number, place: Place, declaration: Declaration | undefined): void => {
    compiler ??= createCelCompiler();
    const at = `${place.path}.x-kubernetes-validations[${index}]`;
    const compiled = compileDeclaredRule(rule, declaration, compiler);
    if (compiled.error !== undefined) errors.push(invalidRule(`${at}.rule`, rule, compiled.error));
    const { program, message, messageError } = compiled;
    if (program) {
      const cost = Math.min(program.maxCost * (place.cardinality ?? compiled.maxCardinality), MAX_NUMBER);
      if (cost > MAX_RULE_COST)
        errors.push(forbiddenField(`${at}.rule`, overBudget('estimated rule cost', cost, MAX_RULE_COST)));
      count(`${at}.rule`, cost);
    }
    if (messageError !== undefined) errors.push(invalidRule(`${at}.messageExpression`, rule, messageError));
    if (message) {
      if (message.maxCost > MAX_RULE_COST) {
        const detail = overBudget('estimated messageExpression cost', message.maxCost, MAX_RULE_COST);
        errors.push(forbiddenField(`${at}.messageExpression`, detail));
      }
      count(`${at}.messageExpression`, message.maxCost);
    }
    if (compiled.usesOldSelf) {
      if (place.uncorrelated !== undefined) {
        const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`;
        errors.push(invalidField(`${at}.rule`, rule.rule, detail));
      }
    } else if (rule.optionalOldSelf !== undefined && program) {
      const detail = 'may not be set if oldSelf is not used in rule';
      errors.push(invalidField(`${at}.optionalOldSelf`, rule.optionalOldSelf, detail));
    }
  };

  function* visit(place: Place): Steps<void> {
    const { schema: node, spine } = place;
    const rules = node['x-kubernetes-validations'] ?? [];
    const declaration = rules.length > 0 ? declare(spine, place.isResource) : undefined;
    for (const [index, rule] of rules.entries()) {
      if (errors.length >= maxErrors) return;
      checkRule(rule, index, place, declaration);
      yield;
    }
    const cardinality = multiplied(place.cardinality, maxElements(spine));
    function* below(
      part: JsonSchema | undefined,
      typed: JsonSchema | undefined,
      suffix: string,
      uncorrelated = place.uncorrelated,
    ): Steps<void> {
      if (!part || !typed) return;
      const isEmbedded = typed['x-kubernetes-embedded-resource'] === true;
      yield* visit({
        schema: part,
        spine: typed,
        isResource: isEmbedded,
        path: `${place.path}${suffix}`,
        cardinality,
        uncorrelated,
      });
    }
    for (const [name, part] of Object.entries(node.properties ?? {})) {
      yield* below(part, spine.properties?.[name], `.properties[${name}]`);
    }
    const isKeyed = spine['x-kubernetes-list-type'] === 'map';
    yield* below(node.items, spine.items, '.items', isKeyed ? place.uncorrelated : (place.uncorrelated ?? place.path));
    const [values, typed] = [node.additionalProperties, spine.additionalProperties];
    if (typeof values === 'object' && typeof typed === 'object') yield* below(values, typed, '.additionalProperties');
    for (const [index, branch] of (node.allOf ?? []).entries()) {
      yield* visit({ ...place, schema: branch, path: `${place.path}.allOf[${index}]` });
    }
  }

  yield* visit({ schema, spine: schema, isResource, path, cardinality: 1, uncorrelated: undefined });
  if (total > MAX_TOTAL_COST) {
    const worst = expensive.toSorted((a, b) => b.cost - a.cost).slice(0, 4);
    const detail = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    for (const each of worst) errors.push(forbiddenField(each.path, detail));
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    errors.push(forbiddenField(path, overBudget(what, total, MAX_TOTAL_COST)));
  }
  return errors;
}

// Shows the rule as the server does: as a Go value with the fields in their order.
function invalidRule(field: string, rule: ValidationRule, detail: string): FieldError {
  const { message = '', messageExpression = '', reason = null, fieldPath = '', optionalOldSelf = null } = rule;
  const fields = [
    ['Rule', rule.rule],
    ['Message', message],
    ['MessageExpression', messageExpression],
    ['Reason', reason],
    ['FieldPath', fieldPath],
    ['OptionalOldSelf', optionalOldSelf],
  ] as const;
  const shown = fields.map(([name, value]) => `"${name}":${goJson(value)}`).join(',');
  return { ...invalidField(field, rule, detail), message: `${field}: Invalid value: {${shown}}: ${detail}` };
}

function multiplied(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a * b;
}

function maxElements(schema: JsonSchema): number | undefined {
  if (schema.type === 'array') return schema.maxItems;
  if (schema.type === 'object' && schema.additionalProperties !== undefined) return schema.maxProperties;
  return 1;
}

function overBudget(what: string, cost: number, limit: number): string {
  const ratio = cost / limit;
  const shown = ratio > 100 ? 'more than 100x' : ratio < 1.5 ? `${ratio.toFixed(6)}x` : `${ratio.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
