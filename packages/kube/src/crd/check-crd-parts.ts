// Checks the parts of a definition that each version may have.
import type { CustomResourceColumnDefinition, CustomResourceSubresourceScale } from '../builtin/index.ts';
import { duplicateValue, type FieldError, invalidField, requiredField, tooMany } from '../schema/field-error.ts';
import { schemaAtPath } from '../schema/field-path.ts';
import type { JsonSchema } from '../schema/json-schema.ts';

export function checkScale(scale: CustomResourceSubresourceScale, path: string): FieldError[] {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  const errors: FieldError[] = [];
  const check = (name: string, value: string, roots: string[], place: string) => {
    const at = `${path}.${name}`;
    if (!value.startsWith('.')) errors.push(invalidField(at, value, 'must be a simple json path starting with .'));
    else if (!roots.some((root) => value.startsWith(root))) {
      errors.push(invalidField(at, value, `should be a json path under ${place}`));
    }
  };
  if (!specReplicasPath) errors.push(requiredField(`${path}.specReplicasPath`));
  else check('specReplicasPath', specReplicasPath, ['.spec.'], '.spec');
  if (!statusReplicasPath) errors.push(requiredField(`${path}.statusReplicasPath`));
  else check('statusReplicasPath', statusReplicasPath, ['.status.'], '.status');
  if (labelSelectorPath) {
    check('labelSelectorPath', labelSelectorPath, ['.spec.', '.status.'], 'either .spec or .status');
  }
  return errors;
}

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

export function checkColumn(column: CustomResourceColumnDefinition, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { name, type, format, jsonPath } = column;
  const types = `must be one of ${COLUMN_TYPES.join(',')}`;
  if (!name) errors.push(requiredField(`${path}.name`));
  if (!type) errors.push(requiredField(`${path}.type`, types));
  else if (!COLUMN_TYPES.includes(type)) errors.push(invalidField(`${path}.type`, type, types));
  if (format && !COLUMN_FORMATS.includes(format)) {
    errors.push(invalidField(`${path}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
  }
  if (!jsonPath) errors.push(requiredField(`${path}.JSONPath`));
  else if (!jsonPath.startsWith('.')) {
    errors.push(invalidField(`${path}.JSONPath`, jsonPath, 'must be a simple json path starting with .'));
  }
  return errors;
}

const MAX_SELECTABLE_FIELDS = 8;

export function checkSelectableFields(paths: readonly string[], schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, jsonPath] of paths.entries()) {
    const at = `${path}[${index}].jsonPath`;
    if (!jsonPath) {
      errors.push(requiredField(at));
      continue;
    }
    const found = schemaAtPath(schema, jsonPath, { allowBrackets: false });
    if ('problem' in found) {
      errors.push(invalidField(at, jsonPath, `is an invalid path: ${found.problem}`));
      continue;
    }
    if (found.fields[0] === 'metadata') errors.push(invalidField(at, jsonPath, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(found.schema.type ?? '')) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      errors.push(invalidField(at, jsonPath, detail));
    }
    const field = found.fields.join('.');
    if (seen.has(field)) errors.push(duplicateValue(at, jsonPath));
    seen.add(field);
  }
  if (seen.size > MAX_SELECTABLE_FIELDS) errors.push(tooMany(path, seen.size, MAX_SELECTABLE_FIELDS));
  return errors;
}

export function problemsOfWarning(deprecated: boolean, warning: string): string[] {
  if (!deprecated) return ['can only be set for deprecated versions'];
  const problems: string[] = [];
  if (Buffer.byteLength(warning) > 256) problems.push('must be <= 256 characters long');
  if (warning === '') problems.push('must not be an empty string');
  const control = warning.search(/\p{C}/u);
  if (control >= 0) {
    problems.push(`must only contain printable UTF-8 characters; non-printable character found at index ${control}`);
  }
  return problems;
}
