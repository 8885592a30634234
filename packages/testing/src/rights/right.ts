// A right: one verb on one resource in one place, as the generated rules of an operator grant it. Audits count which of them a
// program uses.
import { type Attributes, isPath, type PolicyRule, ruleAllows } from '@capstan/apiserver';
import { type Operator, rulesOf } from '@capstan/reconcile';

export interface Right {
  /** The operator, and where its rule is granted: a field of OperatorRules, or a namespace. */
  readonly operator: string;
  readonly place: string;
  /** One verb, one group and one resource. */
  readonly rule: PolicyRule;
  /** The namespaces in which it holds; undefined: everywhere. */
  readonly namespaces: readonly string[] | undefined;
}

export interface Places {
  readonly namespace: string;
  readonly watchNamespaces?: readonly string[] | undefined;
}

/**
 * Returns every right of an operator, except those of the manager (Leases, digest key, Secrets with kubeconfigs, Events), which no stage
 * runs. The manager's rights do not depend on the operator, and `capstan up` runs it under the generated roles.
 */
export function rightsOf(operator: Operator, { namespace, watchNamespaces }: Places): readonly Right[] {
  const rules = rulesOf(operator);
  const inPlace = (place: string, some: readonly PolicyRule[], namespaces?: readonly string[]): Right[] =>
    some.flatMap((rule) =>
      singleRules(rule).map((single) => ({ operator: operator.name, place, rule: single, namespaces })),
    );
  return [
    ...inPlace('everywhere', rules.everywhere, watchNamespaces).filter((right) => !isEvents(right)),
    ...inPlace('cluster', rules.cluster),
    ...inPlace('own', rules.own, [namespace]),
    ...Object.entries(rules.named).flatMap(([name, some]) => inPlace(`in ${name}`, some, [name])),
  ];
}

function isEvents({ rule }: Right): boolean {
  return rule.apiGroups?.[0] === 'events.k8s.io';
}

export function isAllowedBy({ rule, namespaces }: Right, attributes: Attributes): boolean {
  if (isPath(attributes)) return false;
  return (namespaces === undefined || namespaces.includes(attributes.namespace)) && ruleAllows(rule, attributes);
}

/** `gimbal everywhere: delete endpoints`, with the group and the names where there are any. */
export function describeRight({ operator, place, rule }: Right): string {
  const { verbs, apiGroups = [], resources = [], resourceNames = [] } = rule;
  const group = apiGroups[0] ? `.${apiGroups[0]}` : '';
  const names = resourceNames.length > 0 ? ` [${resourceNames.join()}]` : '';
  return `${operator} ${place}: ${verbs[0]} ${resources[0]}${group}${names}`;
}

/** Returns one line for each verb on each resource, so that tables of rules can be compared. */
export function ruleLines(rules: readonly PolicyRule[]): string[] {
  const lines = rules.flatMap((rule) =>
    singleRules(rule).map(({ verbs, resources, apiGroups }) => `${verbs[0]} ${resources?.[0]}.${apiGroups?.[0]}`),
  );
  return [...new Set(lines)].toSorted();
}

function singleRules({ verbs, apiGroups = [], resources = [], resourceNames }: PolicyRule): PolicyRule[] {
  const names = resourceNames === undefined ? {} : { resourceNames };
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.map((verb) => ({ verbs: [verb], apiGroups: [group], resources: [resource], ...names })),
    ),
  );
}
