// Admission policies for the rights of an operator that RBAC cannot narrow: RBAC knows neither owners nor labels, and a
// ValidatingAdmissionPolicy knows both. They refuse writes that the roles of the account permit and that its
// declarations do not mention.
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
import {
  type Kind,
  type KubeObject,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube/cluster';
import { inventoryPattern } from '../inventory.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import type { Operator } from '../operator.ts';
import { concernsOthers, LOCAL, makesChildren, roleOf, type WriteDeclaration } from '../reconciler.ts';
import { digestKeyName, SYSTEM_NAMESPACE } from '../system-names.ts';
import { boundsOf, type RbacOptions } from './manifests.ts';
import { type PolicyRule, rulesOf } from './rules.ts';

type WritePolicyOptions = Pick<RbacOptions, 'namespace' | 'systemNamespace' | 'account' | 'bounds'>;

/** The oldest minor version of Kubernetes 1 that serves admission policies. */
export const POLICY_MINOR = 30;

/** Returns the policies for the account that runs these operators, each with its binding. */
export function writePolicies(operators: readonly Operator[], options: WritePolicyOptions): KubeObject[] {
  const [first] = operators;
  if (first === undefined) return [];
  const account = options.account ?? `capstan-${first.name}`;
  const user = `system:serviceaccount:${options.namespace}:${account}`;
  const { systemNamespace = SYSTEM_NAMESPACE } = options;
  return [
    ...secretPolicy(`${account}-secrets`, user, operators, systemNamespace),
    ...podPolicy(`${account}-pods`, user, operators),
    ...(options.bounds === false ? [] : grantPolicy(`${account}-grants`, user, operators, options)),
  ];
}

/** Secrets that the operators did not create stay as they are. In namespaces that a declaration names, the Role there is the bound. */
function secretPolicy(
  name: string,
  user: string,
  operators: readonly Operator[],
  systemNamespace: string,
): KubeObject[] {
  const writes = operators.flatMap((operator) => writesOf(operator, ({ kind }) => kind.sensitive === true));
  const keys = operators.map((operator) => digestKeyName(operator.name)).toSorted();
  const isKey = `(request.namespace == ${quoted(systemNamespace)} && object.metadata.name in ${listed(keys)})`;
  return policy(name, user, {
    rules: [
      { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['secrets'] },
    ],
    validations: [
      ...ownership(writes, 'Secret', isKey),
      {
        expression: `request.operation == 'DELETE' || !has(object.type) || !(object.type in ${listed(CREDENTIAL_TYPES)})`,
        message: 'this account creates no Secret that becomes a credential of the cluster',
      },
    ],
  });
}

/** Workloads whose pods have known accounts: an operator that creates others would get the rights of any account. */
function podPolicy(name: string, user: string, operators: readonly Operator[]): KubeObject[] {
  const all = operators.flatMap((operator) => writesOf(operator, ({ kind }) => kind.group === 'apps'));
  const kinds = new Map(all.map(({ write: { kind } }) => [kind.plural, kind]));
  // In one program, an operator that leaves the accounts to its users leaves them to all.
  const bounded = [...kinds.keys()].filter((plural) =>
    all.every(({ write }) => write.kind.plural !== plural || isBounded(write)),
  );
  const writes = all.filter(({ write }) => bounded.includes(write.kind.plural));
  const accounts = [...new Set(writes.flatMap(({ write }) => write.podAccounts ?? []))].toSorted();
  if (accounts.length === 0) return [];
  const places = listed(placesOf(writes));
  return policy(name, user, {
    rules: [
      {
        apiGroups: ['apps'],
        apiVersions: ['*'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: bounded.toSorted(),
      },
    ],
    validations: [
      ...ownership(writes, 'workload'),
      {
        expression: `request.operation == 'DELETE' || request.namespace in ${places} || (has(object.spec.template.spec.serviceAccountName) && object.spec.template.spec.serviceAccountName.matches(${quoted(accounts.map((one) => `(${one})`).join('|'))}))`,
        message: 'this account runs no pods under accounts that its operator did not create for them',
      },
    ],
  });
}

/** In a namespace that the declaration names, the Role is the bound. */
function isBounded({ podAccounts, namespaces }: WriteDeclaration): boolean {
  return podAccounts !== undefined || namespaces !== undefined;
}

/** The rules for objects that the operators did not create. */
function ownership(writes: readonly MadeBy[], noun: string, exception = 'false'): Rule[] {
  const places = listed(placesOf(writes));
  const anywhere = writes.filter(({ write }) => write.namespaces === undefined);
  const makers = anywhere.filter(({ write }) => makesChildren(write)).map(({ maker }) => maker);
  const changesOthers = anywhere.some(({ write }) => concernsOthers(write));
  const groups = [...new Set(anywhere.flatMap((one) => one.groups))].toSorted();
  const label = quoted(INVENTORY_LABEL);
  const isMarked = (object: string) =>
    makers.length === 0
      ? 'false'
      : `(has(${object}.metadata.labels) && ${label} in ${object}.metadata.labels && ${object}.metadata.labels[${label}].matches(${quoted(inventoryPattern(makers))}))`;
  const isReferring =
    groups.length === 0
      ? 'false'
      : `(has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(one, one.apiVersion.split('/')[0] in ${listed(groups)}))`;
  const creates = {
    expression: `request.operation != 'CREATE' || request.namespace in ${places} || ${exception} || ${isMarked('object')}`,
    message: `this account creates no ${noun} without the label of one of its reconcilers`,
  };
  const changes = {
    expression: `request.operation == 'CREATE' || request.namespace in ${places} || ${isMarked('oldObject')} || ${isReferring}`,
    message: `this account changes and deletes no ${noun} that it did not create`,
  };
  return changesOthers ? [creates] : [creates, changes];
}

function placesOf(writes: readonly MadeBy[]): string[] {
  return [...new Set(writes.flatMap(({ write }) => write.namespaces ?? []))].toSorted();
}

/** The server fills the first with a token, and takes the second for one. */
const CREDENTIAL_TYPES = ['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token'];

/** The account holds the rules of its bound so that it can grant them. It writes the resources of its own rules, and no others. */
function grantPolicy(
  name: string,
  user: string,
  operators: readonly Operator[],
  options: WritePolicyOptions,
): KubeObject[] {
  if (operators.every((operator) => boundsOf(operator).length === 0)) return [];
  const places = operators.map((operator) => writtenResources(operator, options));
  const anywhere = [...new Set([...REVIEWS, ...places.flatMap((one) => one.anywhere)])].toSorted();
  const inPlaces = [...new Set(places.flatMap((one) => one.inPlaces))].toSorted();
  const resource = `request.resource.group + '/' + request.resource.resource + (has(request.subResource) && request.subResource != '' ? '/' + request.subResource : '')`;
  return policy(name, user, {
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['*/*'] }],
    variables: [
      { name: 'what', expression: resource },
      { name: 'where', expression: "has(request.namespace) ? request.namespace : ''" },
    ],
    validations: [
      {
        expression: `variables.what in ${listed(anywhere)} || variables.where + ' ' + variables.what in ${listed(inPlaces)}`,
        message: 'this account has the right to grant it to packages, and does not use it itself',
      },
    ],
  });
}

/** Questions about its own rights are written like objects, and stored nowhere. */
const REVIEWS = ['authorization.k8s.io/selfsubjectaccessreviews', 'authorization.k8s.io/selfsubjectrulesreviews'];

const WRITING: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', '*']);

/** `group/resource` of each rule of the operator itself that permits a write; with the namespace before it where the rule is a Role. */
function writtenResources(operator: Operator, { namespace, systemNamespace = SYSTEM_NAMESPACE }: WritePolicyOptions) {
  const { everywhere, cluster, own, system, default: inDefault, named } = rulesOf(operator);
  const roles = Object.entries({ ...named, default: [...(named['default'] ?? []), ...inDefault] });
  return {
    anywhere: [everywhere, cluster].flatMap(writtenBy),
    inPlaces: [[namespace, own] as const, [systemNamespace, system] as const, ...roles].flatMap(([place, rules]) =>
      writtenBy(rules).map((resource) => `${place} ${resource}`),
    ),
  };
}

function writtenBy(rules: readonly PolicyRule[]): string[] {
  return rules
    .filter(({ verbs }) => verbs.some((verb) => WRITING.has(verb)))
    .flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`)),
    );
}

interface MadeBy {
  readonly write: WriteDeclaration;
  /** `operator.reconciler` */
  readonly maker: string;
  /** The API groups of the operator: an original program refers to its objects from Secrets that may be taken over. */
  readonly groups: readonly string[];
}

function writesOf(
  { name, reconcilers, kinds }: Operator,
  isWanted: (write: WriteDeclaration) => boolean,
): readonly MadeBy[] {
  const groups = kinds.map(({ group }) => group);
  return reconcilers.flatMap((one) =>
    one.writes
      .filter((write) => isWanted(write) && (write.in ?? roleOf(one)) === LOCAL)
      .map((write) => ({ write, maker: `${name}.${one.name}`, groups })),
  );
}

interface Rule {
  readonly expression: string;
  readonly message: string;
}

interface PolicyContent {
  readonly rules: readonly object[];
  readonly variables?: readonly object[];
  readonly validations: readonly Rule[];
}

function policy(name: string, user: string, { rules, variables = [], validations }: PolicyContent): KubeObject[] {
  return [
    object(ValidatingAdmissionPolicy, name, {
      failurePolicy: 'Fail',
      matchConstraints: { matchPolicy: 'Equivalent', resourceRules: rules },
      matchConditions: [{ name: 'account', expression: `request.userInfo.username == ${quoted(user)}` }],
      ...(variables.length > 0 && { variables }),
      validations: validations.map((one) => ({ ...one, reason: 'Forbidden' })),
    }),
    object(ValidatingAdmissionPolicyBinding, name, { policyName: name, validationActions: ['Deny'] }),
  ];
}

function object({ apiVersion, kind }: Kind, name: string, spec: object): KubeObject {
  return { apiVersion, kind, metadata: { name }, spec } as KubeObject;
}

/** A text of CEL. Names and patterns here have no quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\')}'`;
}

function listed(texts: readonly string[]): string {
  return `[${texts.map(quoted).join(', ')}]`;
}
