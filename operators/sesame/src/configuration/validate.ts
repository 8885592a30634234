// Finds all problems of a configuration at once. The rules check the effective value, so that a default or a flag that contradicts the
// user's value is found too; "both or neither" counts the user's values.
import { compileValidator, type FieldError } from '@capstan/kube/values';
import { type ConfigurationSpec, configurationSchema, type FullConfiguration } from '../kinds/configuration-spec.ts';
import { crdSchema } from '../kinds/crd-schema.ts';
import { errorAt, type Problem } from './problem.ts';
import { controllerRules } from './rules/controller-rules.ts';
import { crossRules } from './rules/cross-rules.ts';
import { envoyRules } from './rules/envoy-rules.ts';
import { Findings } from './rules/findings.ts';
import { policyRules } from './rules/policy-rules.ts';

export interface ValidationInput {
  /** The user's values, in their normal form. */
  readonly given: ConfigurationSpec;
  /** With flags and defaults. */
  readonly value: FullConfiguration;
  /** The namespaces of --watch-namespaces; undefined watches all. */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** The configuration is the one of a SesameDeployment, whose operator acts on `envoy.managed`. */
  readonly isManaged?: boolean | undefined;
}

const validateTypes = compileValidator(crdSchema(configurationSchema.json));

/** Fields of a wrong type: the other rules need the types to be right. */
export function typeProblems(spec: unknown): Problem[] {
  const found = validateTypes(spec).map(problemOfType);
  // The problem of a field is not also reported for the whole.
  const ofFields = found.filter(({ path }) => path !== '');
  return ofFields.length > 0 ? ofFields : found;
}

function problemOfType({ field, detail, badValue }: FieldError): Problem {
  const path = field === '<nil>' ? '' : field;
  const expected = /must be of type ([a-z]+)/.exec(detail)?.[1];
  if (expected === undefined)
    return errorAt(path, 'InvalidValue', `${detail.replace(`${field} in body `, '')}; correct it`);
  const article = /^[aeiou]/.test(expected) ? 'an' : 'a';
  return errorAt(
    path,
    'WrongType',
    `must be ${article} ${expected} (${String(badValue)}); write ${article} ${expected}`,
  );
}

/** Errors and warnings in a configuration whose types are right, in the order of the fields. */
export function validate(input: ValidationInput): Problem[] {
  const findings = new Findings();
  controllerRules(input, findings);
  envoyRules(input, findings);
  policyRules(input, findings);
  crossRules(input, findings);
  return findings.problems;
}
