// Checks a CustomResourceDefinition as an API server does. Kubernetes stores the parts that all versions share above them, and its messages
// use these paths: the schema of a definition with one version is at spec.validation.
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../builtin/index.ts';
import { rulesInSteps } from '../cel/check-rules.ts';
import { createRuleEvaluator } from '../cel/evaluator.ts';
import { equal } from '../json/equal.ts';
import { DNS_1035_MESSAGE, isDns1035Label } from '../schema/embedded-resource.ts';
import {
  type FieldError,
  forbiddenField,
  invalidField,
  invalidStruct,
  requiredField,
  unsupportedValue,
} from '../schema/field-error.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { hasRules } from '../schema/rules.ts';
import { atOnce, type Steps } from '../schema/steps.ts';
import { checkNames } from './check-crd-names.ts';
import { checkColumn, checkScale, checkSelectableFields, problemsOfWarning } from './check-crd-parts.ts';
import { goVersions } from './go-definition.ts';
import { structuralInSteps, structureInSteps } from './structural.ts';

/** Returns the errors for which an API server would refuse a CustomResourceDefinition (v1). Only the name in metadata is checked. */
export function checkCrd(crd: CustomResourceDefinition): FieldError[] {
  return atOnce(checkCrdInSteps(crd));
}

/**
 * Checks a definition as `checkCrd` does, and yields between rules, defaults and walks. Rules are not compiled any more when a version has
 * `maxErrors` errors.
 */
export function* checkCrdInSteps(crd: CustomResourceDefinition, maxErrors?: number): Steps<FieldError[]> {
  // Required by the type, but may be absent in a manifest.
  const { group = '', names, scope = '', versions = [] } = crd.spec as Partial<CustomResourceDefinition['spec']>;
  const { plural = '', singular = '', kind = '', listKind = '' } = (names ?? {}) as Partial<typeof crd.spec.names>;
  const errors: FieldError[] = [];
  const name = crd.metadata.name ?? '';
  // A missing name is reported by the validation of metadata.
  if (name !== '' && name !== `${plural}.${group}`) {
    errors.push(invalidField('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (group === '') errors.push(requiredField('spec.group'));
  else if (!isSubdomain(group)) errors.push(invalidField('spec.group', group, SUBDOMAIN_MESSAGE));
  else if (!group.includes('.')) {
    errors.push(invalidField('spec.group', group, 'should be a domain with at least one dot'));
  }
  if (scope === '') errors.push(requiredField('spec.scope'));
  else if (scope !== 'Cluster' && scope !== 'Namespaced') {
    errors.push(unsupportedValue('spec.scope', scope, ['Cluster', 'Namespaced']));
  }
  const common = commonOf(versions);
  const shown = () => goVersions(crd.spec.versions, (field) => common.has(field as Shared));
  for (const [index, { schema }] of versions.entries()) {
    if (schema?.openAPIV3Schema) continue;
    errors.push(requiredField(`spec.versions[${index}].schema.openAPIV3Schema`));
  }
  const hasDefault = versions.some(({ schema }) => hasDefaults(schema?.openAPIV3Schema as JsonSchema | undefined));
  if (crd.spec.preserveUnknownFields === true && hasDefault) {
    const detail = 'must be false in order to use defaults in the schema';
    errors.push(invalidField('spec.preserveUnknownFields', true, detail));
  }
  for (const [index, version] of versions.entries()) {
    // Look up the version by its name: of versions with the same name, the first one decides.
    const named = versions.find(({ name: other }) => other === version.name) ?? version;
    const hasStatus = named.subresources?.status !== undefined;
    errors.push(...(yield* checkVersion(version, `spec.versions[${index}]`, common, hasStatus, maxErrors)));
    yield;
  }
  if (new Set(versions.map((version) => version.name)).size < versions.length) {
    errors.push(invalidStruct('spec.versions', shown(), 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    const detail = 'must have exactly one version marked as storage version';
    errors.push(invalidStruct('spec.versions', shown(), detail));
  }
  const missing = Object.entries({ plural, singular, kind, listKind }).filter(([, value]) => value === '');
  for (const [field] of missing) errors.push(requiredField(`spec.names.${field}`));
  errors.push(...checkNames(names ?? {}, 'spec.names'));
  const [first] = versions;
  if (first) {
    if (common.has('schema')) {
      const hasStatus = versions.some(({ subresources }) => subresources?.status !== undefined);
      errors.push(...(yield* checkSchema(first, 'spec.validation', hasStatus, maxErrors)));
      yield;
    }
    if (common.has('subresources')) errors.push(...checkSubresources(first, 'spec.subresources'));
    if (common.has('additionalPrinterColumns')) errors.push(...checkColumns(first, 'spec.additionalPrinterColumns'));
    if (common.has('selectableFields'))
      errors.push(...checkSelectable(first, 'spec.selectableFields', true, !common.has('schema')));
  }
  const { conversion, preserveUnknownFields } = crd.spec;
  if (preserveUnknownFields === true && conversion && conversion.strategy !== 'None') {
    const detail = 'must be None if spec.preserveUnknownFields is true';
    errors.push(invalidField('spec.conversion.strategy', conversion.strategy ?? '', detail));
  }
  errors.push(...checkConversion(crd));
  if (crd.spec.preserveUnknownFields === true) {
    const detail =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    errors.push(invalidField('spec.preserveUnknownFields', true, detail));
  }
  return errors;
}

function hasDefaults(schema: JsonSchema | undefined): boolean {
  if (schema === undefined) return false;
  if (schema.default !== undefined && schema.default !== null) return true;
  const { items, properties, additionalProperties } = schema;
  if (hasDefaults(items) || Object.values(properties ?? {}).some(hasDefaults)) return true;
  return typeof additionalProperties === 'object' && hasDefaults(additionalProperties);
}

const SHARED = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;
type Shared = (typeof SHARED)[number];

function commonOf(versions: readonly CustomResourceDefinitionVersion[]): Set<Shared> {
  const [first] = versions;
  return new Set(SHARED.filter((field) => versions.every((one) => equal(one[field], first?.[field]))));
}

function* checkVersion(
  version: CustomResourceDefinitionVersion,
  path: string,
  common: ReadonlySet<Shared>,
  hasStatus: boolean,
  maxErrors: number | undefined,
): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  const { name = '', deprecationWarning: warning } = version as Partial<CustomResourceDefinitionVersion>;
  if (!isDns1035Label(name)) errors.push(invalidField(`${path}.name`, name, DNS_1035_MESSAGE));
  if (warning !== undefined) {
    for (const detail of problemsOfWarning(version.deprecated === true, warning)) {
      errors.push(invalidField(`${path}.deprecationWarning`, warning, detail));
    }
  }
  if (!common.has('schema')) {
    errors.push(...(yield* checkSchema(version, `${path}.schema`, hasStatus, maxErrors)));
  }
  if (!common.has('subresources')) errors.push(...checkSubresources(version, `${path}.subresources`));
  if (!common.has('additionalPrinterColumns')) {
    errors.push(...checkColumns(version, `${path}.additionalPrinterColumns`));
  }
  if (!common.has('selectableFields')) {
    errors.push(...checkSelectable(version, `${path}.selectableFields`, false, common.has('schema')));
  }
  return errors;
}

function* checkSchema(
  version: CustomResourceDefinitionVersion,
  path: string,
  hasStatusSubresource: boolean,
  maxErrors: number | undefined,
): Steps<FieldError[]> {
  const root = version.schema?.openAPIV3Schema;
  if (!root) return [];
  const at = `${path}.openAPIV3Schema`;
  const evaluateRule = createRuleEvaluator();
  const problems = yield* structuralInSteps(root, { path: at, hasStatusSubresource, evaluateRule });
  // Rules depend on the types of the schema, so check them only if its structure is valid.
  if (!hasRules(root as JsonSchema) || (problems.length > 0 && !(yield* structureInSteps(root, evaluateRule))))
    return problems;
  const limit = maxErrors === undefined ? {} : { maxErrors };
  return [...problems, ...(yield* rulesInSteps(root as JsonSchema, { path: at, ...limit }))];
}

function checkSubresources({ subresources }: CustomResourceDefinitionVersion, path: string): FieldError[] {
  return subresources?.scale ? checkScale(subresources.scale, `${path}.scale`) : [];
}

function checkColumns({ additionalPrinterColumns = [] }: CustomResourceDefinitionVersion, path: string): FieldError[] {
  return additionalPrinterColumns.flatMap((column, index) => checkColumn(column, `${path}[${index}]`));
}

const WITHOUT_SCHEMA = 'may only be set when validations.schema is included';
const WITHOUT_OWN_SCHEMA = 'may only be set when `version.schema.openAPIV3Schema` is not included';

/** `isWhole`: for all versions at once; `isElsewhere`: the schema is not at the same place. */
function checkSelectable(
  { selectableFields, schema }: CustomResourceDefinitionVersion,
  path: string,
  isWhole: boolean,
  isElsewhere: boolean,
): FieldError[] {
  const root = schema?.openAPIV3Schema;
  const fields = (selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  if (fields.length === 0) return [];
  if (root && !isElsewhere) return checkSelectableFields(fields, root as JsonSchema, path);
  return [invalidField(path, '', isWhole ? WITHOUT_SCHEMA : WITHOUT_OWN_SCHEMA)];
}

function checkConversion({ spec: { conversion } }: CustomResourceDefinition): FieldError[] {
  if (!conversion) return [];
  const { strategy = '', webhook } = conversion as Partial<typeof conversion>;
  const path = 'spec.conversion';
  const errors: FieldError[] = [];
  if (strategy === '') errors.push(requiredField(`${path}.strategy`));
  else if (strategy !== 'None' && strategy !== 'Webhook') {
    errors.push(unsupportedValue(`${path}.strategy`, strategy, ['None', 'Webhook']));
  }
  if (strategy === 'Webhook') return errors;
  const forbid = (field: string) =>
    forbiddenField(`${path}.${field}`, 'should not be set when strategy is not set to Webhook');
  if (webhook?.clientConfig) errors.push(forbid('webhookClientConfig'));
  if ((webhook?.conversionReviewVersions ?? []).length > 0) errors.push(forbid('conversionReviewVersions'));
  return errors;
}

function isSubdomain(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
}

const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
