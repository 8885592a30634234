import {
  type ClusterRole,
  type ConfigMap,
  type Lease,
  type Namespace,
  type PolicyRule,
  type PriorityClass,
  type Role,
  type RoleBinding,
  type Secret,
  type Subject,
  validateDns1123Subdomain,
  validatePathSegment,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { goJsonError } from '../json/go-json-error.ts';
import { isUnqualified, UNQUALIFIED } from '../resources/object-meta.ts';
import {
  configKeyProblems,
  type Errors,
  fieldTooLong,
  immutable,
  labelSelector,
  named,
  oneOf,
  selects,
} from './rules.ts';

const MAX_SECRET_SIZE = 1024 * 1024;
const FROZEN = 'field is immutable when `immutable` is set';

export function configMap(errors: Errors, object: ConfigMap, old: ConfigMap | undefined): void {
  const { data = {}, binaryData = {} } = object;
  if (old) frozen(errors, object, old, ['data', 'binaryData']);
  let size = 0;
  const hasBinary = Object.keys(binaryData).length > 0;
  for (const key of Object.keys(data)) {
    const problems = configKeyProblems(key);
    if (problems.length > 0) named(errors, `data[${key}]`, key, problems);
    if (hasBinary && Object.hasOwn(binaryData, key)) {
      errors.push(fieldInvalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    }
    size += Buffer.byteLength(data[key] ?? '');
  }
  for (const [key, value] of Object.entries(binaryData)) {
    named(errors, `binaryData[${key}]`, key, configKeyProblems(key));
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_SECRET_SIZE) errors.push(fieldTooLong('[]', MAX_SECRET_SIZE));
}

export function secret(errors: Errors, object: Secret, old: Secret | undefined): void {
  const { data = {}, type = '' } = object;
  if (old) {
    immutable(errors, 'type', type, old.type);
    frozen(errors, object, old, ['data']);
  }
  let size = 0;
  for (const key of Object.keys(data)) {
    const problems = configKeyProblems(key);
    if (problems.length > 0) named(errors, `data[${key}]`, key, problems);
    size += Buffer.byteLength(data[key] ?? '', 'base64');
  }
  if (size > MAX_SECRET_SIZE) errors.push(fieldTooLong('data', MAX_SECRET_SIZE));
  const required = (...keys: string[]) => {
    for (const key of keys) if (!Object.hasOwn(data, key)) errors.push(fieldRequired(`data[${key}]`));
  };
  switch (type) {
    case 'kubernetes.io/service-account-token': {
      const annotation = 'kubernetes.io/service-account.name';
      if (!object.metadata.annotations?.[annotation]) {
        errors.push(fieldRequired(`metadata.annotations[${annotation}]`));
      }
      break;
    }
    case 'kubernetes.io/dockercfg':
      required('.dockercfg');
      jsonIn(errors, data, '.dockercfg');
      break;
    case 'kubernetes.io/dockerconfigjson':
      required('.dockerconfigjson');
      jsonIn(errors, data, '.dockerconfigjson');
      break;
    case 'kubernetes.io/basic-auth':
      if (!Object.hasOwn(data, 'username') && !Object.hasOwn(data, 'password')) required('username', 'password');
      break;
    case 'kubernetes.io/ssh-auth':
      required('ssh-privatekey');
      break;
    case 'kubernetes.io/tls':
      required('tls.crt', 'tls.key');
      break;
    default:
  }
}

// The value is never shown.
function jsonIn(errors: Errors, data: Readonly<Record<string, string>>, key: string): void {
  const value = data[key];
  if (value === undefined) return;
  const problem = goJsonError(Buffer.from(value, 'base64').toString());
  if (problem !== undefined) errors.push(fieldInvalid(`data[${key}]`, '<secret contents redacted>', problem));
}

function frozen<T extends { immutable?: boolean }>(
  errors: Errors,
  object: T,
  old: T,
  fields: (keyof T & string)[],
): void {
  if (old.immutable !== true) return;
  if (object.immutable !== true) errors.push(fieldForbidden('immutable', FROZEN));
  // A map with nothing in it is another than none to Go, and is stored as none.
  const stored = (value: unknown) => (equalJson(value, {}) ? undefined : value);
  for (const field of fields) {
    if (!equalJson(object[field], stored(old[field]))) errors.push(fieldForbidden(field, FROZEN));
  }
}

export const role =
  (isNamespaced: boolean) =>
  (errors: Errors, { rules, aggregationRule }: Role & Pick<ClusterRole, 'aggregationRule'>): void => {
    for (const [index, rule] of (rules ?? []).entries()) policyRule(errors, `rules[${index}]`, rule, isNamespaced);
    if (!aggregationRule) return;
    const at = 'aggregationRule.clusterRoleSelectors';
    const selectors = aggregationRule.clusterRoleSelectors ?? [];
    if (selectors.length === 0) {
      const detail = 'at least one clusterRoleSelector required if aggregationRule is non-nil';
      errors.push(fieldRequired(at, detail));
    }
    for (const [index, selector] of selectors.entries()) {
      labelSelector(errors, `${at}[${index}]`, selector);
      if (selects(selector, {}) === undefined) {
        errors.push(fieldInvalid(`${at}[${index}]`, null, 'invalid label selector.'));
      }
    }
  };

function policyRule(errors: Errors, at: string, rule: Partial<PolicyRule>, isNamespaced: boolean): void {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if (verbs.length === 0) errors.push(fieldRequired(`${at}.verbs`, 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) {
    const field = `${at}.nonResourceURLs`;
    if (isNamespaced) {
      errors.push(fieldInvalid(field, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'));
    }
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs';
      errors.push(fieldInvalid(field, nonResourceURLs, detail));
    }
    return;
  }
  if (apiGroups.length === 0) {
    errors.push(fieldRequired(`${at}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    errors.push(fieldRequired(`${at}.resources`, 'resource rules must supply at least one resource'));
  }
}

const RBAC_GROUP = 'rbac.authorization.k8s.io';

export const roleBinding =
  (isNamespaced: boolean) =>
  (errors: Errors, { roleRef, subjects }: RoleBinding, old: RoleBinding | undefined): void => {
    if (roleRef.apiGroup !== RBAC_GROUP) {
      errors.push(fieldNotSupported('roleRef.apiGroup', roleRef.apiGroup, [RBAC_GROUP]));
    }
    const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
    if (!kinds.includes(roleRef.kind)) errors.push(fieldNotSupported('roleRef.kind', roleRef.kind, kinds));
    if (!roleRef.name) errors.push(fieldRequired('roleRef.name'));
    else named(errors, 'roleRef.name', roleRef.name, validatePathSegment(roleRef.name));
    for (const [index, subject] of (subjects ?? []).entries()) {
      checkSubject(errors, `subjects[${index}]`, subject, isNamespaced);
    }
    if (old && !equalJson(roleRef, old.roleRef)) {
      const { apiGroup, kind, name } = roleRef;
      errors.push(fieldInvalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef'));
    }
  };

function checkSubject(errors: Errors, at: string, subject: Subject, isNamespaced: boolean): void {
  const { kind, name, namespace = '', apiGroup = '' } = subject;
  if (!name) errors.push(fieldRequired(`${at}.name`));
  if (kind === 'ServiceAccount') {
    if (name) named(errors, `${at}.name`, name, validateDns1123Subdomain(name));
    if (apiGroup !== '') errors.push(fieldNotSupported(`${at}.apiGroup`, apiGroup, ['']));
    if (!isNamespaced && namespace === '') errors.push(fieldRequired(`${at}.namespace`));
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== RBAC_GROUP) errors.push(fieldNotSupported(`${at}.apiGroup`, apiGroup, [RBAC_GROUP]));
  } else errors.push(fieldNotSupported(`${at}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
}

export function lease(errors: Errors, { spec }: Lease): void {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = spec ?? {};
  if (duration !== undefined && duration <= 0) {
    errors.push(fieldInvalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  if (transitions !== undefined && transitions < 0) {
    errors.push(fieldInvalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  if (spec?.preferredHolder && !spec.strategy) {
    errors.push(fieldForbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'));
  }
}

const HIGHEST_PRIORITY = 1_000_000_000;

export function priorityClass(errors: Errors, object: PriorityClass, old: PriorityClass | undefined): void {
  const { metadata, value = 0, globalDefault = false, preemptionPolicy } = object;
  const { name = '' } = metadata;
  if (old) {
    if (value !== (old.value ?? 0)) errors.push(fieldForbidden('value', 'may not be changed in an update.'));
    immutable(errors, 'preemptionPolicy', preemptionPolicy, old.preemptionPolicy);
    return;
  }
  if (name.startsWith('system-')) {
    const problem = systemProblem(name, value, globalDefault);
    const detail = "priority class names with 'system-' prefix are reserved for system use only";
    if (problem !== undefined) errors.push(fieldForbidden('metadata.name', `${detail}. error: ${problem}`));
  } else if (value > HIGHEST_PRIORITY) {
    const detail = `maximum allowed value of a user defined priority is ${HIGHEST_PRIORITY}`;
    errors.push(fieldForbidden('value', detail));
  }
  if (preemptionPolicy !== undefined) {
    oneOf(errors, 'preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  }
}

/** The two that every cluster has, and which may be made again as they were. */
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

function systemProblem(name: string, value: number, isDefault: boolean): string | undefined {
  const known = SYSTEM_PRIORITIES[name];
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`;
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

export function namespace(errors: Errors, { spec }: Namespace): void {
  for (const finalizer of spec?.finalizers ?? []) {
    named(errors, 'spec.finalizers', finalizer, validateQualifiedName(finalizer));
    if (isUnqualified(finalizer)) errors.push(fieldInvalid('spec.finalizers', finalizer, UNQUALIFIED));
  }
}

export function namespaceStatus(errors: Errors, { metadata, status }: Namespace): void {
  const phase = status?.phase ?? '';
  const isGoing = metadata.deletionTimestamp !== undefined;
  if (phase === (isGoing ? 'Terminating' : 'Active')) return;
  const detail = isGoing
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  errors.push(fieldInvalid('status.Phase', phase, detail));
}
