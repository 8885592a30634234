// The errors of an admission policy or a binding, in the words of the API server.
import {
  createCelCompiler,
  type MatchResources,
  type ParamKind,
  type ParamRef,
  type UnknownObject,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  type Validation,
  validateDns1035Label,
  validateDns1123Subdomain,
} from '@capstan/kube';
import { type FieldError, fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { type Errors, fieldDuplicate, labelSelector } from '../validation/rules.ts';
import { operationsRule } from '../validation/webhook-rules.ts';
import { createPolicyExpressions, type Expression, type PolicyExpressions } from './policy-expressions.ts';

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized'];
const ACTIONS = ['Audit', 'Deny', 'Warn'];
const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const EITHER = 'validations or auditAnnotations must contain at least one item';

export function policyRules(object: UnknownObject): FieldError[] {
  const errors: Errors = [];
  const { spec = {} } = object as unknown as ValidatingAdmissionPolicy;
  const { failurePolicy, paramKind, matchConstraints, validations = [], auditAnnotations = [], variables = [] } = spec;
  if (failurePolicy !== undefined && !['Fail', 'Ignore'].includes(failurePolicy)) {
    errors.push(fieldNotSupported('spec.failurePolicy', failurePolicy, ['Fail', 'Ignore']));
  }
  if (paramKind) paramKindRules(errors, paramKind);
  if (!matchConstraints) errors.push(fieldRequired('spec.matchConstraints'));
  else {
    matchRules(errors, 'spec.matchConstraints', matchConstraints);
    if (!matchConstraints.resourceRules?.length) errors.push(fieldRequired('spec.matchConstraints.resourceRules'));
  }
  const usable = variables.filter(({ name, expression }) => IDENTIFIER.test(name ?? '') && expression?.trim());
  const expressions = createPolicyExpressions(createCelCompiler(), usable, paramKind !== undefined);
  for (const [index, { name, expression }] of variables.entries()) {
    const at = `spec.variables[${index}]`;
    if (!name?.trim()) errors.push(fieldRequired(`${at}.name`, 'name is not specified'));
    else if (!IDENTIFIER.test(name)) errors.push(fieldInvalid(`${at}.name`, name, 'must be a valid CEL identifier'));
    const problem = expressions.variableProblems.get(usable.findIndex((one) => one === variables[index]));
    if (!expression?.trim()) errors.push(fieldRequired(`${at}.expression`, 'expression is not specified'));
    else if (problem !== undefined) errors.push(fieldInvalid(`${at}.expression`, expression, problem));
  }
  conditionRules(errors, expressions, spec.matchConditions ?? []);
  if (validations.length === 0 && auditAnnotations.length === 0) {
    errors.push(fieldRequired('spec.validations', EITHER), fieldRequired('spec.auditAnnotations', EITHER));
  }
  for (const [index, one] of validations.entries()) {
    validationRules(errors, `spec.validations[${index}]`, one, expressions);
  }
  for (const [index, { key, valueExpression }] of auditAnnotations.entries()) {
    const at = `spec.auditAnnotations[${index}]`;
    if (!key) errors.push(fieldRequired(`${at}.key`));
    if (!valueExpression?.trim())
      errors.push(fieldRequired(`${at}.valueExpression`, 'valueExpression is not specified'));
    else
      typed(errors, `${at}.valueExpression`, expressions.compile(valueExpression), ['string', 'null', 'dyn'], 'string');
  }
  return errors;
}

function conditionRules(
  errors: Errors,
  expressions: PolicyExpressions,
  conditions: readonly { name?: string; expression?: string }[],
): void {
  const names = new Set<string>();
  for (const [index, { name, expression }] of conditions.entries()) {
    const at = `spec.matchConditions[${index}]`;
    if (!name) errors.push(fieldRequired(`${at}.name`));
    else if (names.has(name)) errors.push(fieldDuplicate(`${at}.name`, name));
    names.add(name ?? '');
    if (!expression?.trim()) errors.push(fieldRequired(`${at}.expression`));
    else typed(errors, `${at}.expression`, expressions.compile(expression), ['bool', 'dyn'], 'bool');
  }
}

function validationRules(errors: Errors, at: string, given: Partial<Validation>, expressions: PolicyExpressions): void {
  const { expression = '', message, messageExpression, reason } = given;
  if (!expression.trim()) errors.push(fieldRequired(`${at}.expression`, 'expression is not specified'));
  else typed(errors, `${at}.expression`, expressions.compile(expression), ['bool', 'dyn'], 'bool');
  if (messageExpression && !messageExpression.trim()) {
    errors.push(fieldInvalid(`${at}.messageExpression`, messageExpression, 'must be non-empty if specified'));
  } else if (messageExpression) {
    typed(errors, `${at}.messageExpression`, expressions.compile(messageExpression), ['string', 'dyn'], 'string');
  }
  if (message && !message.trim()) {
    errors.push(fieldInvalid(`${at}.message`, message, 'must be non-empty if specified'));
  } else if (message?.trim().includes('\n')) {
    errors.push(fieldInvalid(`${at}.message`, message, 'must not contain line breaks'));
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    errors.push(fieldNotSupported(`${at}.reason`, reason, REASONS));
  }
}

function typed(
  errors: Errors,
  at: string,
  { text, program }: Expression,
  kinds: readonly string[],
  wanted: string,
): void {
  if ('problem' in program) errors.push(fieldInvalid(at, text, program.problem));
  else if (!kinds.includes(program.type.kind)) errors.push(fieldInvalid(at, text, `must evaluate to ${wanted}`));
}

export function policyBindingRules(object: UnknownObject): FieldError[] {
  const errors: Errors = [];
  const { spec = {} } = object as { spec?: Partial<ValidatingAdmissionPolicyBinding['spec']> };
  const { policyName, paramRef, matchResources, validationActions = [] } = spec;
  if (!policyName) errors.push(fieldRequired('spec.policyName'));
  else {
    for (const problem of validateDns1123Subdomain(policyName)) {
      errors.push(fieldInvalid('spec.policyName', policyName, problem));
    }
  }
  if (paramRef) paramRefRules(errors, paramRef);
  if (matchResources) matchRules(errors, 'spec.matchResources', matchResources);
  for (const [index, action] of validationActions.entries()) {
    const at = `spec.validationActions[${index}]`;
    if (!ACTIONS.includes(action)) errors.push(fieldNotSupported(at, action, ACTIONS));
    if (validationActions.indexOf(action) < index) errors.push(fieldDuplicate(at, action));
  }
  if (validationActions.includes('Deny') && validationActions.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(fieldInvalid('spec.validationActions', validationActions, detail));
  }
  if (validationActions.length === 0) {
    errors.push(fieldRequired('spec.validationActions', 'at least one validation action is required'));
  }
  return errors;
}

function paramKindRules(errors: Errors, { apiVersion = '', kind = '' }: ParamKind): void {
  if (apiVersion === '') errors.push(fieldRequired('spec.paramKind.apiVersion'));
  else {
    const [version = '', group = ''] = apiVersion.split('/').toReversed();
    for (const problem of group === '' ? [] : validateDns1123Subdomain(group)) {
      errors.push(fieldInvalid('spec.paramKind.apiVersion', group, problem));
    }
    for (const problem of validateDns1035Label(version)) {
      errors.push(fieldInvalid('spec.paramKind.apiVersion', version, problem));
    }
  }
  if (kind === '') errors.push(fieldRequired('spec.paramKind.kind'));
  else {
    const problems = validateDns1035Label(kind.toLowerCase());
    const detail = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    if (problems.length > 0) errors.push(fieldInvalid('spec.paramKind.kind', kind, detail));
  }
}

const EXCLUSIVE = 'name and selector are mutually exclusive';

function paramRefRules(errors: Errors, { name, selector, parameterNotFoundAction: action }: ParamRef): void {
  const at = 'spec.paramRef';
  if (name && selector) {
    errors.push(fieldForbidden(`${at}.name`, EXCLUSIVE), fieldForbidden(`${at}.selector`, EXCLUSIVE));
  }
  labelSelector(errors, `${at}.selector`, selector);
  if (!name && !selector) errors.push(fieldRequired(at, 'one of name or selector must be specified'));
  if (!action) errors.push(fieldRequired(`${at}.parameterNotFoundAction`));
  else if (action !== 'Deny' && action !== 'Allow') {
    errors.push(fieldNotSupported(`${at}.parameterNotFoundAction`, action, ['Deny', 'Allow']));
  }
}

function matchRules(errors: Errors, at: string, match: MatchResources): void {
  const { matchPolicy, namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = match;
  if (matchPolicy !== undefined && matchPolicy !== 'Equivalent' && matchPolicy !== 'Exact') {
    errors.push(fieldNotSupported(`${at}.matchPolicy`, matchPolicy, ['Equivalent', 'Exact']));
  }
  labelSelector(errors, `${at}.namespaceSelector`, namespaceSelector);
  labelSelector(errors, `${at}.objectSelector`, objectSelector);
  for (const [index, rule] of resourceRules.entries()) operationsRule(errors, `${at}.resourceRules[${index}]`, rule);
  for (const [index, rule] of excludeResourceRules.entries()) {
    operationsRule(errors, `${at}.excludeResourceRules[${index}]`, rule);
  }
}
