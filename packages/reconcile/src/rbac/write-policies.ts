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
import {
  concernsOthers,
  LOCAL,
  makesChildren,
  type NamedAccount,
  type PodPower,
  roleOf,
  type WriteDeclaration,
} from '../reconciler.ts';
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
    ...podPolicies(`${account}-pods`, user, operators),
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

/** Workloads of the operators. One that creates others would get the rights of any account, and those of any node. */
function podPolicies(name: string, user: string, operators: readonly Operator[]): KubeObject[] {
  const writes = operators.flatMap((operator) => writesOf(operator, ({ kind }) => kind.group === 'apps'));
  const anywhere = writes.filter(({ write }) => write.namespaces === undefined);
  // In the namespaces that declarations name, the Role is the bound.
  if (anywhere.length === 0) return [];
  const places = listed(placesOf(writes));
  const isElsewhere = `request.operation == 'DELETE' || request.namespace in ${places}`;
  const resources = [...new Set(writes.map(({ write }) => write.kind.plural))].toSorted();
  const known = new Set(
    anywhere.flatMap(({ write: { podAccounts } }) => (typeof podAccounts === 'string' ? podAccounts : [])),
  );
  const named = new Set(
    anywhere.flatMap(({ write: { podAccounts } }) => (typeof podAccounts === 'object' ? podAccounts : [])),
  );
  const isFree = anywhere.some(({ write }) => write.podAccounts === undefined);
  const isKnown =
    known.size === 0
      ? 'false'
      : `variables.account.matches(${quoted(
          [...known]
            .toSorted()
            .map((one) => `(${one})`)
            .join('|'),
        )})`;
  const isDefault = `variables.account in ['', 'default']`;
  const powers = new Set(anywhere.flatMap(({ write: { podPowers = [] } }) => podPowers));
  const workloads = [{ apiGroups: ['apps'], apiVersions: ['*'], resources }];
  return [
    ...policy(name, user, {
      rules: workloads.map((rule) => ({ ...rule, operations: ['CREATE', 'UPDATE', 'DELETE'] })),
      variables: POD_VARIABLES,
      validations: [
        ...ownership(writes, 'workload'),
        ...(isFree
          ? []
          : [
              {
                expression: `${isElsewhere} || ${[isKnown, ...(named.size > 0 ? [isDefault] : []), ...[...named].map(isMarked)].join(' || ')}`,
                message: 'this account runs no pods under accounts that its operator did not create for them',
              },
            ]),
        ...POWERS.filter(({ power }) => !powers.has(power)).map(({ isAbsent, message }) => ({
          expression: `${isElsewhere} || (${isAbsent})`,
          message: `this account runs no pods ${message}`,
        })),
      ],
    }),
    ...(isFree ? [] : [...named]).flatMap((one, index) =>
      namedAccountPolicy(`${name}-named${index === 0 ? '' : `-${index + 1}`}`, user, workloads, one, [
        `!(request.namespace in ${places})`,
        `!(${isDefault}) && !(${isKnown})`.replaceAll('variables.account', ACCOUNT),
      ]),
    ),
  ];
}

const LABELS = 'object.metadata.labels';

const isMarked = ({ mark: { label, value } }: NamedAccount) =>
  `(has(${LABELS}) && ${quoted(label)} in ${LABELS} && ${LABELS}[${quoted(label)}] == ${quoted(value)})`;

const POD = 'object.spec.template.spec';
const ACCOUNT = `(has(${POD}.serviceAccountName) ? ${POD}.serviceAccountName : '')`;
const POD_VARIABLES = [
  { name: 'account', expression: ACCOUNT },
  {
    name: 'containers',
    expression: `${POD}.containers + (has(${POD}.initContainers) ? ${POD}.initContainers : [])`,
  },
];

const isUnset = (field: string) => `(!has(${field}) || !${field})`;

/** The powers of pods over their node, as Pod Security's level `baseline` knows them. */
const POWERS: readonly { readonly power: PodPower; readonly isAbsent: string; readonly message: string }[] = [
  {
    power: 'privileges',
    isAbsent: [
      ...['hostNetwork', 'hostPID', 'hostIPC'].map((field) => isUnset(`${POD}.${field}`)),
      `variables.containers.all(one, !has(one.securityContext) || (${isUnset('one.securityContext.privileged')} && (!has(one.securityContext.capabilities) || !has(one.securityContext.capabilities.add) || one.securityContext.capabilities.add.all(name, name == 'NET_BIND_SERVICE'))))`,
    ].join(' && '),
    message: 'with privileges or with the networks and processes of their node',
  },
  {
    power: 'hostPaths',
    isAbsent: `!has(${POD}.volumes) || ${POD}.volumes.all(one, !has(one.hostPath))`,
    message: 'with folders of their node',
  },
  {
    power: 'hostPorts',
    isAbsent: `variables.containers.all(one, !has(one.ports) || one.ports.all(port, !has(port.hostPort) || port.hostPort == 0))`,
    message: 'with ports of their node',
  },
];

/**
 * A marked workload under another account than the default one needs a resource in its namespace, and the resource that its label names must name
 * the account. The operator cannot write such resources. A server looks for parameters before it evaluates the conditions, so the policy is about
 * marked workloads alone: without any resource, or without their kind, it refuses those of every client.
 */
function namedAccountPolicy(
  name: string,
  user: string,
  workloads: readonly object[],
  { kind, field, label, mark }: NamedAccount,
  conditions: readonly string[],
): KubeObject[] {
  const parts = field.map((_, index) => `params.${field.slice(0, index + 1).join('.')}`);
  const isNamed = `${parts.map((part) => `has(${part})`).join(' && ')} && ${parts.at(-1)} == ${ACCOUNT}`;
  return policy(name, user, {
    params: kind,
    marked: { matchLabels: { [mark.label]: mark.value } },
    rules: workloads.map((rule) => ({ ...rule, operations: ['CREATE', 'UPDATE'] })),
    conditions,
    validations: [
      {
        expression: `${quoted(label)} in ${LABELS} && (${LABELS}[${quoted(label)}] != params.metadata.name || (${isNamed}))`,
        message: `this account runs pods under the accounts that a ${kind.kind} names`,
      },
    ],
  });
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
  const adopted = [...new Set(anywhere.flatMap(({ write }) => write.adopts ?? []))].toSorted();
  const isAdopted =
    adopted.length === 0 ? '' : ` || (request.operation == 'UPDATE' && request.name in ${listed(adopted)})`;
  const creates = {
    expression: `request.operation != 'CREATE' || request.namespace in ${places} || ${exception} || ${isMarked('object')}`,
    message: `this account creates no ${noun} without the label of one of its reconcilers`,
  };
  const changes = {
    expression: `request.operation == 'CREATE' || request.namespace in ${places} || ${isMarked('oldObject')} || ${isReferring}${isAdopted}`,
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
  /** A kind whose objects in the namespace of the request are parameters. Without any, the write is refused. */
  readonly params?: Kind;
  /** Selects the objects that it is about; default: all. */
  readonly marked?: object;
  readonly rules: readonly object[];
  /** The requests of the account that it is about; default: all that fit the rules. */
  readonly conditions?: readonly string[];
  readonly variables?: readonly object[];
  readonly validations: readonly Rule[];
}

function policy(
  name: string,
  user: string,
  { params, marked, rules, conditions = [], variables = [], validations }: PolicyContent,
): KubeObject[] {
  return [
    object(ValidatingAdmissionPolicy, name, {
      failurePolicy: 'Fail',
      ...(params && { paramKind: { apiVersion: params.apiVersion, kind: params.kind } }),
      matchConstraints: { matchPolicy: 'Equivalent', resourceRules: rules, ...(marked && { objectSelector: marked }) },
      matchConditions: [
        { name: 'account', expression: `request.userInfo.username == ${quoted(user)}` },
        ...conditions.map((expression, index) => ({ name: `condition-${index + 1}`, expression })),
      ],
      ...(variables.length > 0 && { variables }),
      validations: validations.map((one) => ({ ...one, reason: 'Forbidden' })),
    }),
    object(ValidatingAdmissionPolicyBinding, name, {
      policyName: name,
      ...(params && { paramRef: { selector: {}, parameterNotFoundAction: 'Deny' } }),
      validationActions: ['Deny'],
    }),
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
