// Applies validation rules (x-kubernetes-validations) to values: it determines self and oldSelf of each rule, and the error of a failed
// one. The caller evaluates the expressions with a CEL evaluator. Without one, rules are left to the API server.
import type { ValidationRule } from '../builtin/index.ts';
import {
  duplicateValue,
  type FieldError,
  forbiddenField,
  invalidField,
  invalidFieldWithoutValue,
  NO_FIELD,
  requiredField,
} from './field-error.ts';
import { equalJson, isJsonArray, isJsonObject, type JsonSchema } from './json-schema.ts';
import { correlateItems } from './validation/list-map.ts';

export interface RuleInput {
  readonly rule: ValidationRule;
  /** The schema at which the rule stands: it gives the types of self. */
  readonly schema: JsonSchema;
  readonly self: unknown;
  /** Undefined when there is nothing to compare with: then a rule that names oldSelf holds, unless it has optionalOldSelf. */
  readonly oldSelf: unknown;
  /** The rule stands at the root of an object, so self has apiVersion, kind and metadata. */
  readonly isResource: boolean;
  /** The remaining budget for the rules of one object. An evaluator that counts costs subtracts them. */
  readonly budget?: RuleBudget;
}

export interface RuleBudget {
  remaining: number;
}

/** The budget for all rules of one object, in CEL's cost units. */
const OBJECT_BUDGET = 10_000_000;

export type RuleOutcome =
  | { holds: true }
  /** `message` is the result of the rule's messageExpression, if it has one and it succeeded. */
  | { holds: false; message?: string; usesOldSelf?: boolean }
  /**
   * The expression could not be evaluated: `no such key: x`. `detail` is the whole message where it is not the usual one; after an
   * error that is fatal no further rule is evaluated.
   */
  | { error: string; detail?: string; isFatal?: boolean };

export type EvaluateRule = (input: RuleInput) => RuleOutcome;

/** Evaluates every rule of the schema on the value; `old` is the object before an update, `path` where the value lies. */
export function validateRules(
  schema: JsonSchema,
  value: unknown,
  evaluate: EvaluateRule,
  old?: unknown,
  path = '',
): FieldError[] {
  const errors: FieldError[] = [];
  if (hasRules(schema)) {
    const run: Run = { evaluate, errors, budget: { remaining: OBJECT_BUDGET }, isStopped: false };
    visit({ schema, spine: schema, self: value, oldSelf: old, path, isUnchanged: false }, run);
  }
  return errors;
}

/** Whether a schema has a rule anywhere. */
export function hasRules(schema: JsonSchema): boolean {
  if (schema['x-kubernetes-validations']?.length) return true;
  const { items, properties, additionalProperties, allOf } = schema;
  if (items && hasRules(items)) return true;
  if (typeof additionalProperties === 'object' && hasRules(additionalProperties)) return true;
  return Object.values(properties ?? {}).some(hasRules) || (allOf ?? []).some(hasRules);
}

interface Run {
  evaluate: EvaluateRule;
  errors: FieldError[];
  budget: RuleBudget;
  isStopped: boolean;
}

interface Place {
  schema: JsonSchema;
  /** The schema that declares the types. A branch of allOf only adds to it. */
  spine: JsonSchema;
  self: unknown;
  oldSelf: unknown;
  path: string;
  /** An ancestor is unchanged by the update, so the update did not cause failures here. */
  isUnchanged: boolean;
}

function visit(place: Place, run: Run): void {
  const { schema, spine, self, oldSelf, path } = place;
  if (self === null || self === undefined || run.isStopped) return;
  const isUnchanged = place.isUnchanged || (oldSelf !== undefined && equalJson(self, oldSelf));
  const isResource = path === '' || spine['x-kubernetes-embedded-resource'] === true;
  for (const rule of schema['x-kubernetes-validations'] ?? []) {
    const { budget } = run;
    const outcome = run.evaluate({ rule, schema: spine, self, oldSelf: oldSelf ?? undefined, isResource, budget });
    const error = errorOf(rule, outcome, place);
    // Only a rule that does not hold is forgiven, not one that cannot be evaluated.
    const isRatcheted = isUnchanged && 'holds' in outcome && !('usesOldSelf' in outcome && outcome.usesOldSelf);
    if (error && !isRatcheted) run.errors.push(error);
    if ('isFatal' in outcome && outcome.isFatal) run.isStopped = true;
    if (run.isStopped) return;
  }
  for (const branch of schema.allOf ?? []) visit({ ...place, schema: branch }, run);

  if (isJsonArray(self) && schema.items && spine.items) {
    const isListMap = spine['x-kubernetes-list-type'] === 'map' && isJsonArray(oldSelf);
    const oldItem = isListMap ? correlateItems(spine, oldSelf) : () => undefined;
    for (const [index, item] of self.entries()) {
      const below = {
        schema: schema.items,
        spine: spine.items,
        self: item,
        oldSelf: oldItem(item),
        path: `${path}[${index}]`,
        isUnchanged,
      };
      visit(below, run);
    }
  } else if (isJsonObject(self)) {
    for (const [field, part] of Object.entries(self)) {
      const old = isJsonObject(oldSelf) ? oldSelf[field] : undefined;
      const property = propertyOf(schema, field);
      const typed = propertyOf(spine, field);
      if (property && typed) {
        const at = path === '' ? field : `${path}.${field}`;
        visit({ schema: property, spine: typed, self: part, oldSelf: old, path: at, isUnchanged }, run);
      } else if (typeof schema.additionalProperties === 'object' && typeof spine.additionalProperties === 'object') {
        const below = {
          schema: schema.additionalProperties,
          spine: spine.additionalProperties,
          self: part,
          oldSelf: old,
          path: `${path}[${field}]`,
          isUnchanged,
        };
        visit(below, run);
      }
    }
  }
}

function propertyOf({ properties }: JsonSchema, field: string): JsonSchema | undefined {
  return properties && Object.hasOwn(properties, field) ? properties[field] : undefined;
}

function errorOf(rule: ValidationRule, outcome: RuleOutcome, place: Place): FieldError | undefined {
  const { spine, self, path } = place;
  const named = (rule.message?.trim() ?? '') === '' ? rule.rule.trim() : (rule.message ?? '').trim();
  if ('error' in outcome) {
    const detail = outcome.detail ?? `${outcome.error} evaluating rule: ${named}`;
    return invalidField(fieldName(path), spine.type ?? '', detail);
  }
  if (outcome.holds) return undefined;
  const field = fieldName(rule.fieldPath ? joinPath(path, rule.fieldPath) : path);
  const detail = outcome.message ?? (rule.message ? rule.message.trim() : `failed rule: ${named}`);
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return forbiddenField(field, detail);
    case 'FieldValueRequired':
      return requiredField(field, detail);
    case 'FieldValueDuplicate':
      return duplicateValue(field, self);
    default:
      // Objects and lists are not printed: they may be large.
      if (spine.type === 'object' || spine.type === 'array') return invalidFieldWithoutValue(field, detail);
      return invalidField(field, self, detail);
  }
}

function fieldName(path: string): string {
  return path === '' ? NO_FIELD : path;
}

// A rule's fieldPath is a JSON path of fields and map keys: `.spec.limits['cpu']`.
function joinPath(path: string, fieldPath: string): string {
  const below = fieldPath.replace(/\['((?:\\.|[^'])*)'\]/g, (_, key: string) => `[${key.replaceAll('\\', '')}]`);
  return path === '' ? below.replace(/^\./, '') : `${path}${below}`;
}
