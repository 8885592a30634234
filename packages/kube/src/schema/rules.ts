// Where validation rules (x-kubernetes-validations) meet values: which rule sees which self and oldSelf, and what its failure is called.
// The expressions themselves are evaluated by whoever has an evaluator of CEL; without one, rules are left to the API server.
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
import { correlateItems } from './list-map.ts';

export interface RuleInput {
  readonly rule: ValidationRule;
  /** The schema at which the rule stands: it gives the types of self. */
  readonly schema: JsonSchema;
  readonly self: unknown;
  /** Undefined when there is nothing to compare with: then a rule that names oldSelf holds, unless it has optionalOldSelf. */
  readonly oldSelf: unknown;
  /** The rule stands at the root of an object, so self has apiVersion, kind and metadata. */
  readonly isResource: boolean;
}

export type RuleOutcome =
  | { holds: true }
  /** `message` is what the rule's messageExpression gave, if it has one and it succeeded. */
  | { holds: false; message?: string; usesOldSelf?: boolean }
  /** The expression could not be evaluated: `no such key: x`. */
  | { error: string };

export type EvaluateRule = (input: RuleInput) => RuleOutcome;

/** Evaluates every rule of the schema on the value; `old` is the object before an update. */
export function validateRules(schema: JsonSchema, value: unknown, evaluate: EvaluateRule, old?: unknown): FieldError[] {
  const errors: FieldError[] = [];
  if (hasRules(schema)) visit({ schema, self: value, oldSelf: old, path: '', isUnchanged: false }, evaluate, errors);
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

interface Place {
  schema: JsonSchema;
  self: unknown;
  oldSelf: unknown;
  path: string;
  /** An ancestor is what it was before the update, so failures here are not the update's. */
  isUnchanged: boolean;
}

function visit(place: Place, evaluate: EvaluateRule, errors: FieldError[]): void {
  const { schema, self, oldSelf, path } = place;
  if (self === null || self === undefined) return;
  const isUnchanged = place.isUnchanged || (oldSelf !== undefined && equalJson(self, oldSelf));
  for (const rule of schema['x-kubernetes-validations'] ?? []) {
    const outcome = evaluate({ rule, schema, self, oldSelf: oldSelf ?? undefined, isResource: path === '' });
    const error = errorOf(rule, outcome, place);
    const isRatcheted = isUnchanged && !('usesOldSelf' in outcome && outcome.usesOldSelf);
    if (error && !isRatcheted) errors.push(error);
  }
  for (const branch of schema.allOf ?? []) visit({ ...place, schema: branch }, evaluate, errors);

  if (isJsonArray(self) && schema.items) {
    const isListMap = schema['x-kubernetes-list-type'] === 'map' && isJsonArray(oldSelf);
    const oldItem = isListMap ? correlateItems(schema, oldSelf) : () => undefined;
    for (const [index, item] of self.entries()) {
      const below = {
        schema: schema.items,
        self: item,
        oldSelf: oldItem(item),
        path: `${path}[${index}]`,
        isUnchanged,
      };
      visit(below, evaluate, errors);
    }
  } else if (isJsonObject(self)) {
    const { properties, additionalProperties } = schema;
    for (const [field, part] of Object.entries(self)) {
      const old = isJsonObject(oldSelf) ? oldSelf[field] : undefined;
      const property = properties && Object.hasOwn(properties, field) ? properties[field] : undefined;
      if (property) {
        const at = path === '' ? field : `${path}.${field}`;
        visit({ schema: property, self: part, oldSelf: old, path: at, isUnchanged }, evaluate, errors);
      } else if (typeof additionalProperties === 'object') {
        const below = {
          schema: additionalProperties,
          self: part,
          oldSelf: old,
          path: `${path}[${field}]`,
          isUnchanged,
        };
        visit(below, evaluate, errors);
      }
    }
  }
}

function errorOf(rule: ValidationRule, outcome: RuleOutcome, place: Place): FieldError | undefined {
  const { schema, self, path } = place;
  const named = (rule.message?.trim() ?? '') === '' ? rule.rule.trim() : (rule.message ?? '').trim();
  if ('error' in outcome) {
    return invalidField(fieldName(path), schema.type ?? '', `${outcome.error} evaluating rule: ${named}`);
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
      if (schema.type === 'object' || schema.type === 'array') return invalidFieldWithoutValue(field, detail);
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
