// Where a pod may run: affinity, spreading, tolerations.
import {
  type LabelSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PodAffinity,
  type PodAffinityTerm,
  type PodSpec,
  type Toleration,
  type TopologySpreadConstraint,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { type Errors, fieldDuplicate, isSetOperator, labelSelector, named, supported } from './rules.ts';

export function affinity(errors: Errors, path: string, given: PodSpec['affinity']): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = given ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required) {
    const at = `${path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    const terms = required.nodeSelectorTerms ?? [];
    if (terms.length === 0) errors.push(fieldRequired(at, 'must have at least one node selector term'));
    for (const [index, term] of terms.entries()) nodeTerm(errors, `${at}[${index}]`, term, true);
  }
  for (const [index, term] of (nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const at = `${path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    weight(errors, at, term.weight);
    nodeTerm(errors, `${at}.preference`, term.preference, false);
  }
  podTerms(errors, `${path}.podAffinity`, podAffinity);
  podTerms(errors, `${path}.podAntiAffinity`, podAntiAffinity);
}

function weight(errors: Errors, at: string, value = 0): void {
  if (value < 1 || value > 100) errors.push(fieldInvalid(`${at}.weight`, value, 'must be in the range 1-100'));
}

function nodeTerm(errors: Errors, at: string, term: NodeSelectorTerm | undefined, checksValues: boolean): void {
  for (const [index, one] of (term?.matchExpressions ?? []).entries()) {
    nodeExpression(errors, `${at}.matchExpressions[${index}]`, one, checksValues);
  }
  for (const [index, one] of (term?.matchFields ?? []).entries()) {
    nodeField(errors, `${at}.matchFields[${index}]`, one);
  }
}

/** Values that no label can have are refused where the term is required; a preference for them has no effect. */
function nodeExpression(
  errors: Errors,
  at: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  checksValues: boolean,
): void {
  if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) {
      errors.push(fieldRequired(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else if (!isSetOperator(errors, at, operator, values)) {
    errors.push(fieldInvalid(`${at}.operator`, operator, 'not a valid selector operator'));
  }
  named(errors, `${at}.key`, key, validateQualifiedName(key));
  if (!checksValues) return;
  for (const [place, one] of values.entries()) named(errors, `${at}.values[${place}]`, one, validateLabelValue(one));
}

function nodeField(errors: Errors, at: string, { key, operator, values = [] }: NodeSelectorRequirement): void {
  if (operator !== 'In' && operator !== 'NotIn') {
    errors.push(fieldInvalid(`${at}.operator`, operator, 'not a valid selector operator'));
  } else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(fieldRequired(`${at}.values`, detail));
  }
  if (key !== 'metadata.name') errors.push(fieldInvalid(`${at}.key`, key, 'not a valid field selector key'));
  else {
    for (const [place, one] of values.entries()) {
      named(errors, `${at}.values[${place}]`, one, validateDns1123Subdomain(one));
    }
  }
}

function podTerms(errors: Errors, path: string, given: PodAffinity | undefined): void {
  for (const [index, term] of (given?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    podTerm(errors, `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, term);
  }
  for (const [index, one] of (given?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    weight(errors, at, one.weight);
    podTerm(errors, `${at}.podAffinityTerm`, one.podAffinityTerm);
  }
}

function podTerm(errors: Errors, at: string, term: Partial<PodAffinityTerm> = {}): void {
  labelSelector(errors, `${at}.labelSelector`, term.labelSelector);
  labelSelector(errors, `${at}.namespaceSelector`, term.namespaceSelector);
  for (const name of term.namespaces ?? []) named(errors, `${at}.namespace`, name, validateDns1123Label(name));
  labelKeys(errors, at, term.labelSelector, term.matchLabelKeys, term.mismatchLabelKeys);
  const { topologyKey = '' } = term;
  if (topologyKey === '') errors.push(fieldRequired(`${at}.topologyKey`, 'can not be empty'));
  named(errors, `${at}.topologyKey`, topologyKey, validateQualifiedName(topologyKey));
}

/** Labels of the pod itself that the pods it is compared with have to share, or not. */
function labelKeys(
  errors: Errors,
  at: string,
  selector: LabelSelector | undefined,
  match: readonly string[] = [],
  mismatch: readonly string[] = [],
): void {
  for (const [field, keys] of Object.entries({ matchLabelKeys: match, mismatchLabelKeys: mismatch })) {
    if (keys.length > 0 && !selector) {
      errors.push(fieldForbidden(`${at}.${field}`, 'must not be specified when labelSelector is not set'));
    } else {
      for (const [index, key] of keys.entries()) {
        named(errors, `${at}.${field}[${index}]`, key, validateQualifiedName(key));
      }
    }
  }
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  for (const { key } of selector?.matchExpressions ?? []) {
    const index = match.lastIndexOf(key);
    if (index >= 0 && seen.has(key)) {
      errors.push(fieldInvalid(`${at}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector'));
    }
    seen.add(key);
  }
  const mismatched = new Set(mismatch);
  for (const [index, key] of match.entries()) {
    if (!mismatched.has(key)) continue;
    const detail = 'exists in both matchLabelKeys and mismatchLabelKeys';
    errors.push(fieldInvalid(`${at}.matchLabelKeys[${index}]`, key, detail));
  }
}

export function spreading(errors: Errors, path: string, list: readonly TopologySpreadConstraint[] = []): void {
  const positive = (at: string, value: number | undefined) => {
    if (value !== undefined && value <= 0) errors.push(fieldInvalid(at, value, 'must be greater than zero'));
  };
  const idOf = (one: TopologySpreadConstraint) => JSON.stringify([one.topologyKey, one.whenUnsatisfiable]);
  const last = new Map(list.map((one, index) => [idOf(one), index]));
  for (const [index, constraint] of list.entries()) {
    const at = `${path}[${index}]`;
    const { topologyKey, whenUnsatisfiable: action, minDomains } = constraint;
    positive(`${at}.maxSkew`, constraint.maxSkew);
    if (!topologyKey) errors.push(fieldRequired(`${at}.topologyKey`, 'can not be empty'));
    supported(errors, `${at}.whenUnsatisfiable`, action, ['DoNotSchedule', 'ScheduleAnyway']);
    if ((last.get(idOf(constraint)) ?? index) > index) {
      errors.push(fieldDuplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${action}}`));
    }
    positive(`${at}.minDomains`, minDomains);
    if (minDomains !== undefined && action !== 'DoNotSchedule') {
      const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
      errors.push(fieldInvalid(`${at}.minDomains`, minDomains, detail));
    }
    for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      supported(errors, `${at}.${field}`, constraint[field], ['Honor', 'Ignore']);
    }
    labelKeys(errors, at, constraint.labelSelector, constraint.matchLabelKeys);
    labelSelector(errors, `${at}.labelSelector`, constraint.labelSelector);
  }
}

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const OPERATORS = ['Equal', 'Exists'];
/** Behind a feature gate; Kubernetes names them all the same. */
const COMPARISONS = ['Lt', 'Gt'];

export function tolerations(errors: Errors, path: string, list: readonly Toleration[] | undefined): void {
  for (const [index, toleration] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    if (key !== '') named(errors, `${at}.key`, key, validateQualifiedName(key));
    if (key === '' && operator !== 'Exists') {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(fieldInvalid(`${at}.operator`, operator, detail));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.push(fieldInvalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (operator === 'Exists') {
      if (value !== '') {
        errors.push(fieldInvalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
      }
    } else if (operator === '' || operator === 'Equal') {
      const problems = validateLabelValue(value);
      if (problems.length > 0) errors.push(fieldInvalid(`${at}.operator`, value, problems.join(';')));
    } else {
      const known = COMPARISONS.includes(operator) ? [...OPERATORS, ...COMPARISONS] : OPERATORS;
      errors.push(fieldNotSupported(`${at}.operator`, operator, known));
    }
    if (effect !== '') supported(errors, `${at}.effect`, effect, EFFECTS);
  }
}
