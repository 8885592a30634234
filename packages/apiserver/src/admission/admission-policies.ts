// ValidatingAdmissionPolicy: CEL expressions that a write must fulfil, bound to resources and parameters.
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
import { compileLabelSelector, type UnknownObject } from '@capstan/kube';
import { type AdmissionRequest, type Core, newUid, type ValidatingAdmission } from '../core.ts';
import { policyDenied } from '../errors.ts';
import { inVersion, nameOf, type ResourceVersion } from '../resources/resource.ts';
import { asVersion } from './as-version.ts';
import { isSelected, versionFor } from './matching.ts';
import { BINDINGS, POLICIES, type Policy, type PolicyBinding, type PolicyScope, watchPolicies } from './policy.ts';
import type { PolicyInput } from './policy-expressions.ts';
import { reviewRequest } from './review.ts';

interface Denial {
  readonly message: string;
  readonly reason: string;
}

/** Validates an object before it is stored, by the policies that are bound to it. */
export function createAdmissionPolicies(core: Pick<Core, 'store' | 'random' | 'registry'>): ValidatingAdmission {
  const policies = watchPolicies(core.store);
  return (request) => {
    if (request.resource.storageKey === POLICIES || request.resource.storageKey === BINDINGS) return undefined;
    const known = policies();
    if (known.length === 0) return undefined;
    for (const policy of known) validate(core, policy, request);
    return undefined;
  };
}

/** Throws the first denial of a binding that denies; those of one that warns become warnings. */
function validate(core: Pick<Core, 'store' | 'random' | 'registry'>, policy: Policy, request: AdmissionRequest): void {
  const version = versionIn(core, policy.scope, request);
  if (version === undefined) return;
  for (const binding of policy.bindings) {
    if (binding.scope !== undefined && versionIn(core, binding.scope, request) === undefined) continue;
    const refuse = ({ message, reason }: Denial) => {
      if (binding.actions.has('Deny')) {
        const whole = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}' denied request: ${message}`;
        throw policyDenied(nameOf(request.resource), request.name, whole, reason);
      }
      if (!binding.actions.has('Warn')) return;
      const place = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
      request.context.warnings?.add(`Validation failed for ${place}: ${message}`);
    };
    const found = paramsFor(core, policy, binding, request.namespace);
    if ('problem' in found) {
      // A problem of the binding itself is no result of a validation: only the failurePolicy counts.
      const message = `failed to configure binding: ${found.problem}`;
      const whole = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}' denied request: ${message}`;
      if (!policy.failsOpen) throw policyDenied(nameOf(request.resource), request.name, whole, 'Invalid');
      continue;
    }
    for (const params of found.params) {
      for (const denial of denials(policy, inputOf(core, request, version, params))) refuse(denial);
    }
  }
}

/** The version in which the scope sees the request; undefined when it is about something else. */
function versionIn({ store }: Pick<Core, 'store'>, scope: PolicyScope, request: AdmissionRequest) {
  if (scope.excluded.length > 0 && versionFor({ ...scope, rules: scope.excluded }, request)) return undefined;
  // A binding without rules is about everything that its selectors choose.
  const version = scope.rules.length === 0 ? request.version : versionFor(scope, request);
  return version && isSelected(store, scope, request) ? version : undefined;
}

function inputOf(
  core: Pick<Core, 'store' | 'random'>,
  request: AdmissionRequest,
  version: ResourceVersion,
  params: UnknownObject | undefined,
): PolicyInput {
  const { object, oldObject, ...about } = reviewRequest(newUid(core.random), asVersion(request, version), version);
  const isNamespace = request.resource.storageKey === NAMESPACES;
  const namespace = request.namespace === '' || isNamespace ? undefined : core.store.get(NAMESPACES, request.namespace);
  return { object, oldObject, request: about, namespaceObject: namespace && withoutManagers(namespace), params };
}

const NAMESPACES = '/namespaces';

function withoutManagers(namespace: UnknownObject): UnknownObject {
  const { managedFields: _, ...metadata } = namespace.metadata;
  return { ...namespace, metadata };
}

function denials(policy: Policy, input: PolicyInput): Denial[] {
  const evaluate = policy.expressions.evaluator(input);
  const failed = (message: string): Denial[] => (policy.failsOpen ? [] : [{ message, reason: 'Invalid' }]);
  const problems: string[] = [];
  for (const condition of policy.conditions) {
    const result = evaluate(condition);
    if ('problem' in result) problems.push(result.problem);
    else if (result.value !== true) return [];
  }
  if (problems.length > 0) return failed(problems.join(', '));
  return policy.validations.flatMap(({ expression, messageExpression, message, reason }): Denial[] => {
    const result = evaluate(expression);
    if ('problem' in result) return failed(result.problem);
    if (result.value === true) return [];
    const made = messageExpression && evaluate(messageExpression);
    const own = made && 'value' in made ? usableMessage(made.value) : '';
    return [{ message: own || message || `failed expression: ${expression.text.trim()}`, reason }];
  });
}

const MAX_MESSAGE = 5 * 1024;

function usableMessage(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : '';
  return text.length > MAX_MESSAGE || text.includes('\n') ? '' : text;
}

type Params = { params: readonly (UnknownObject | undefined)[] } | { problem: string };

function paramsFor(
  { store, registry }: Pick<Core, 'store' | 'registry'>,
  { paramKind }: Policy,
  { paramRef }: PolicyBinding,
  namespace: string,
): Params {
  if (paramKind === undefined || paramRef === undefined) return { params: [undefined] };
  const [version = '', group = ''] = (paramKind.apiVersion ?? '').split('/').toReversed();
  const resource = registry.all().find((one) => one.group === group && one.kind === paramKind.kind);
  const served = resource?.versions.find((one) => one.name === version && one.served);
  if (!resource || !served)
    return { problem: `paramKind kind \`${paramKind.apiVersion}, Kind=${paramKind.kind}\` not known` };
  const { name, selector, namespace: given } = paramRef;
  if (given && !resource.namespaced) {
    return { problem: 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`' };
  }
  const place = given || namespace;
  if (resource.namespaced && place === '') {
    return { problem: 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources' };
  }
  const prefix = resource.namespaced ? `${place}/` : '';
  const named = name
    ? [store.get(resource.storageKey, `${prefix}${name}`)].filter((one) => one !== undefined)
    : undefined;
  const { matches } = compileLabelSelector(selector ?? {});
  const found =
    named ??
    store
      .list(resource.storageKey, prefix)
      .map(({ object }) => object)
      .filter(({ metadata }) => matches(metadata.labels ?? {}));
  if (found.length === 0 && paramRef.parameterNotFoundAction === 'Deny') {
    return { problem: 'no params found for policy binding with `Deny` parameterNotFoundAction' };
  }
  return { params: found.map((object) => inVersion(resource, served, object)) };
}
