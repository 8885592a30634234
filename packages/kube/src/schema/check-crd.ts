import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '../builtin/index.ts';
import { checkRules } from '../cel/check-rules.ts';
import { DNS_1035_MESSAGE, isDns1035Label } from './embedded-resource.ts';
import {
  duplicateValue,
  type FieldError,
  invalidField,
  requiredField,
  tooMany,
  unsupportedValue,
} from './field-error.ts';
import { schemaAtPath } from './field-path.ts';
import type { JsonSchema } from './json-schema.ts';
import { hasRules } from './rules.ts';
import { checkStructural } from './structural.ts';

/** What an API server would refuse in a CustomResourceDefinition (v1); metadata only as far as the name. */
export function checkCrd(crd: CustomResourceDefinition): FieldError[] {
  const { group, names, scope, versions } = crd.spec;
  const errors: FieldError[] = [];
  const name = crd.metadata.name ?? '';
  if (name !== `${names.plural}.${group}`) {
    errors.push(invalidField('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (!group) errors.push(requiredField('spec.group'));
  else if (!isSubdomain(group)) errors.push(invalidField('spec.group', group, SUBDOMAIN_MESSAGE));
  else if (!group.includes('.')) {
    errors.push(invalidField('spec.group', group, 'should be a domain with at least one dot'));
  }
  if (!scope) errors.push(requiredField('spec.scope'));
  else if (scope !== 'Cluster' && scope !== 'Namespaced') {
    errors.push(unsupportedValue('spec.scope', scope, ['Cluster', 'Namespaced']));
  }
  for (const [index, version] of versions.entries()) errors.push(...checkVersion(version, `spec.versions[${index}]`));
  if (new Set(versions.map((version) => version.name)).size < versions.length) {
    errors.push(invalidField('spec.versions', versions, 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    const detail = 'must have exactly one version marked as storage version';
    errors.push(invalidField('spec.versions', versions, detail));
  }
  errors.push(...checkNames(names));
  return errors;
}

function checkVersion(version: CustomResourceDefinitionVersion, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { schema, subresources, deprecationWarning: warning } = version;
  if (!isDns1035Label(version.name)) errors.push(invalidField(`${path}.name`, version.name, DNS_1035_MESSAGE));
  if (warning !== undefined) {
    for (const detail of problemsOfWarning(version.deprecated === true, warning)) {
      errors.push(invalidField(`${path}.deprecationWarning`, warning, detail));
    }
  }
  const root = schema?.openAPIV3Schema;
  if (!root) errors.push(requiredField(`${path}.schema.openAPIV3Schema`));
  else {
    const hasStatusSubresource = subresources?.status !== undefined;
    const at = `${path}.schema.openAPIV3Schema`;
    const problems = checkStructural(root, { path: at, hasStatusSubresource });
    errors.push(...problems);
    // Rules are about the types that the schema says, so they wait until it is right.
    if (problems.length === 0 && hasRules(root as JsonSchema))
      errors.push(...checkRules(root as JsonSchema, { path: at }));
  }
  if (subresources?.scale) errors.push(...checkScale(subresources.scale, `${path}.subresources.scale`));
  for (const [index, column] of (version.additionalPrinterColumns ?? []).entries()) {
    errors.push(...checkColumn(column, `${path}.additionalPrinterColumns[${index}]`));
  }
  const selectable = (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  if (root) errors.push(...checkSelectableFields(selectable, root as JsonSchema, `${path}.selectableFields`));
  return errors;
}

function problemsOfWarning(deprecated: boolean, warning: string): string[] {
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

function checkScale(scale: CustomResourceSubresourceScale, path: string): FieldError[] {
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

function checkColumn(column: CustomResourceColumnDefinition, path: string): FieldError[] {
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

function checkSelectableFields(paths: readonly string[], schema: JsonSchema, path: string): FieldError[] {
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

function checkNames(names: CustomResourceDefinitionNames): FieldError[] {
  const errors: FieldError[] = [];
  const path = 'spec.names';
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const missing = Object.entries({ plural, singular, kind, listKind }).filter(([, value]) => !value);
  for (const [field] of missing) errors.push(requiredField(`${path}.${field}`));
  for (const [field, value] of Object.entries({ plural, singular })) {
    if (value && !isDns1035Label(value)) errors.push(invalidField(`${path}.${field}`, value, DNS_1035_MESSAGE));
  }
  for (const [field, value] of Object.entries({ kind, listKind })) {
    if (!value || isDns1035Label(value.toLowerCase())) continue;
    const detail = `may have mixed case, but should otherwise match: ${DNS_1035_MESSAGE}`;
    errors.push(invalidField(`${path}.${field}`, value, detail));
  }
  for (const [field, list] of Object.entries({ shortNames, categories })) {
    for (const [index, value] of list.entries()) {
      if (!isDns1035Label(value)) errors.push(invalidField(`${path}.${field}[${index}]`, value, DNS_1035_MESSAGE));
    }
  }
  if (kind && kind === listKind) {
    errors.push(invalidField(`${path}.listKind`, listKind, 'kind and listKind may not be the same'));
  }
  return errors;
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
}

const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
