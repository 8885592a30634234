import { validateEmbeddedResources } from '../schema/embedded-resource.ts';
import { type FieldError, invalidField } from '../schema/field-error.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { prune } from '../schema/prune.ts';
import { type EvaluateRule, validateRules } from '../schema/rules.ts';
import type { Steps } from '../schema/steps.ts';
import { validateSchema } from '../schema/validation/validate-schema.ts';

/**
 * Checks that each default is valid and unchanged by pruning. `isRoot` means that the schema describes a whole object. Defaults below
 * additionalProperties do not exist. It yields after each default, whose rules may take some 100 ms.
 */
export function* defaultsInSteps(
  schema: JsonSchema,
  path: string,
  evaluateRule?: EvaluateRule,
  isRoot = false,
): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  if (schema.default !== undefined && schema.default !== null) {
    errors.push(
      ...checkDefault(isRoot ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema, path, evaluateRule),
    );
    yield;
  }
  if (schema.items) errors.push(...(yield* defaultsInSteps(schema.items, `${path}.items`, evaluateRule)));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    errors.push(...(yield* defaultsInSteps(property, `${path}.properties[${name}]`, evaluateRule)));
  }
  return errors;
}

function checkDefault(schema: JsonSchema, path: string, evaluateRule: EvaluateRule | undefined): FieldError[] {
  const at = `${path}.default`;
  const errors: FieldError[] = [];
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  if (prune(schema, schema.default, { isResource }).dropped.length > 0) {
    errors.push(invalidField(at, schema.default, 'must not have unknown fields'));
  }
  const embedded = validateEmbeddedResources(schema, schema.default, at);
  errors.push(...(embedded.length > 0 ? embedded : validateSchema(schema, schema.default, { path: at })));
  if (errors.length === 0 && evaluateRule)
    errors.push(...validateRules(schema, schema.default, evaluateRule, undefined, at));
  return errors;
}
