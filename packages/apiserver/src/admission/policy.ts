// ValidatingAdmissionPolicies and their bindings as they are in the store, ready to judge; kept until one of them changes.
import {
  type CelCompiler,
  compileLabelSelector,
  createCelCompiler,
  type MatchResources,
  type NamedRuleWithOperations,
  type ParamKind,
  type ParamRef,
  type UnknownObject,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import type { Store } from '../store/store.ts';
import type { MatchScope } from './matching.ts';
import { createPolicyExpressions, type Expression, type PolicyExpressions } from './policy-expressions.ts';

export const POLICIES = 'admissionregistration.k8s.io/validatingadmissionpolicies';
export const BINDINGS = 'admissionregistration.k8s.io/validatingadmissionpolicybindings';

export interface PolicyScope extends MatchScope {
  readonly rules: readonly NamedRuleWithOperations[];
  readonly excluded: readonly NamedRuleWithOperations[];
}

export interface Policy {
  readonly name: string;
  readonly scope: PolicyScope;
  readonly failsOpen: boolean;
  readonly paramKind: ParamKind | undefined;
  readonly expressions: PolicyExpressions;
  readonly conditions: readonly Expression[];
  readonly validations: readonly PolicyValidation[];
  readonly bindings: readonly PolicyBinding[];
}

export interface PolicyValidation {
  readonly expression: Expression;
  readonly messageExpression: Expression | undefined;
  readonly message: string;
  readonly reason: string;
}

export interface PolicyBinding {
  readonly name: string;
  /** Undefined: everything that the policy is about. */
  readonly scope: PolicyScope | undefined;
  readonly paramRef: ParamRef | undefined;
  readonly actions: ReadonlySet<string>;
}

/** Policies by name, each with its bindings by name; those without any do nothing. */
export function watchPolicies(store: Store): () => readonly Policy[] {
  let known: readonly Policy[] | undefined;
  let compiler: CelCompiler | undefined;
  const forget = () => {
    known = undefined;
  };
  store.subscribe(POLICIES, forget);
  store.subscribe(BINDINGS, forget);
  return () => {
    if (known) return known;
    const bindings = store
      .list(BINDINGS, '')
      .map(({ object }) => object as unknown as ValidatingAdmissionPolicyBinding);
    known = store.list(POLICIES, '').flatMap(({ object }) => {
      const own = bindings.filter(({ spec }) => spec.policyName === object.metadata.name);
      if (own.length === 0) return [];
      compiler ??= createCelCompiler();
      return [ready(compiler, object, own)];
    });
    return known;
  };
}

function ready(
  compiler: CelCompiler,
  object: UnknownObject,
  bindings: readonly ValidatingAdmissionPolicyBinding[],
): Policy {
  const { metadata, spec = {} } = object as unknown as ValidatingAdmissionPolicy;
  const expressions = createPolicyExpressions(compiler, spec.variables ?? [], spec.paramKind !== undefined);
  return {
    name: metadata.name ?? '',
    scope: scopeOf(spec.matchConstraints ?? {}),
    failsOpen: spec.failurePolicy === 'Ignore',
    paramKind: spec.paramKind,
    expressions,
    conditions: (spec.matchConditions ?? []).map(({ expression }) => expressions.compile(expression)),
    validations: (spec.validations ?? []).map(
      ({ expression, messageExpression, message = '', reason = 'Invalid' }) => ({
        expression: expressions.compile(expression),
        messageExpression: messageExpression ? expressions.compile(messageExpression) : undefined,
        message: message.trim(),
        reason,
      }),
    ),
    bindings: bindings.map(({ metadata: { name = '' }, spec: { matchResources, paramRef, validationActions } }) => ({
      name,
      scope: matchResources && scopeOf(matchResources),
      paramRef,
      actions: new Set(validationActions),
    })),
  };
}

function scopeOf(given: MatchResources): PolicyScope {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy, namespaceSelector, objectSelector } = given;
  return {
    rules: resourceRules,
    excluded: excludeResourceRules,
    matchesEquivalent: matchPolicy !== 'Exact',
    namespaces: compileLabelSelector(namespaceSelector ?? {}),
    objects: compileLabelSelector(objectSelector ?? {}),
  };
}
