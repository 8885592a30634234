// Rights with which an account reaches far beyond its own objects. Each is the work of an operator, and neither RBAC nor an
// admission policy can narrow it further.
// SECURITY.md has the same table; a test compares them, and another tries each right with the token of each operator.
import type { KubeObject } from '@capstan/kube';
import { type Operator, rbacManifests, type WriteDeclaration, wideRulesOf } from '@capstan/reconcile';

export interface InherentRight {
  /** A verb and its object: `read Secrets of any namespace`. */
  readonly right: string;
  readonly reason: string;
  /** Whether `--watch-namespaces` restricts it to the named namespaces. */
  readonly isNarrowed: boolean;
}

interface Known extends InherentRight {
  /** Reasons of single operators, in place of the general one. */
  readonly reasonOf?: Readonly<Record<string, string>>;
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** For workloads: whether the operator declares the accounts of their pods; undefined: it does not matter. */
  readonly hasPodAccounts?: boolean;
}

const OWN_ACCOUNTS = 'its pods run in the namespace of their object, and an admission policy refuses other accounts';
const WEBHOOKS = 'admissionregistration.k8s.io';

export const INHERENT_RIGHTS: readonly Known[] = [
  {
    right: 'read Secrets of any namespace',
    group: '',
    resource: 'secrets',
    verbs: ['get', 'list', 'watch'],
    isNarrowed: true,
    reason: 'objects of users name Secrets in their own namespace, and RBAC cannot follow references',
  },
  {
    right: 'create Secrets of its own in any namespace',
    group: '',
    resource: 'secrets',
    verbs: ['create'],
    isNarrowed: true,
    reason:
      'keys and certificates are beside the object that they are for; an admission policy refuses those without its label, changes of others, and tokens',
  },
  {
    right: 'run Deployments under accounts that its objects name, in any namespace',
    group: 'apps',
    resource: 'deployments',
    verbs: ['create'],
    isNarrowed: true,
    hasPodAccounts: false,
    reason:
      'its pods run in the namespace of their object, under the default account or the one that the object names; an admission policy refuses others',
  },
  {
    right: 'run Deployments under accounts of its own in any namespace',
    group: 'apps',
    resource: 'deployments',
    verbs: ['create'],
    isNarrowed: true,
    hasPodAccounts: true,
    reason: OWN_ACCOUNTS,
    reasonOf: {
      gimbal: 'a discoverer runs where the Secret of its backend is, and an admission policy refuses other accounts',
    },
  },
  {
    right: 'run DaemonSets under accounts of its own in any namespace',
    group: 'apps',
    resource: 'daemonsets',
    verbs: ['create'],
    isNarrowed: true,
    hasPodAccounts: true,
    reason: OWN_ACCOUNTS,
  },
  {
    right: 'register mutating webhooks',
    group: WEBHOOKS,
    resource: 'mutatingwebhookconfigurations',
    verbs: ['create'],
    isNarrowed: false,
    reason: 'packages bring webhooks',
    reasonOf: { kroxylicious: 'a webhook injects sidecars; --kroxylicious.sidecar-webhook=false leaves the right out' },
  },
  {
    right: 'register validating webhooks',
    group: WEBHOOKS,
    resource: 'validatingwebhookconfigurations',
    verbs: ['create'],
    isNarrowed: false,
    reason: 'packages bring webhooks',
  },
  {
    right: 'create CustomResourceDefinitions',
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    verbs: ['create'],
    isNarrowed: false,
    reason: 'packages bring types',
  },
];

const GRANTS: InherentRight = {
  right: 'grant rights to accounts of packages',
  isNarrowed: false,
  reason: 'packages need rights on their own types; the ClusterRole of --crossplane-max-role is the bound',
};

/** Holds for rights that come with the bound alone. */
const OF_BOUND =
  'the default bound of packages holds it, because upstream gives it to every provider; another --crossplane-max-role need not';

/** Returns the inherent rights that an operator has, by the roles that are generated for it. */
export function inherentRightsOf(operator: Operator, watchNamespaces?: readonly string[]): readonly InherentRight[] {
  const options = { namespace: 'capstan-system', ...(watchNamespaces && { watchNamespaces }) };
  const own = clusterRules(rbacManifests(operator, { ...options, bounds: false }));
  const all = clusterRules(rbacManifests(operator, options));
  // A policy keeps the account from using the bound itself, but no policy can refuse a read.
  const held = INHERENT_RIGHTS.filter(
    (known) => (isRead(known) ? all : own).some((rule) => permits(rule, known)) && isDeclared(operator, known),
  );
  const isBounded = wideRulesOf(operator).some(({ reason }) => reason === 'Bounded');
  return [
    ...held.map((known) => {
      const { right, isNarrowed, reason, reasonOf = {} } = known;
      const isOwn = own.some((rule) => permits(rule, known));
      return { right, isNarrowed, reason: isOwn ? (reasonOf[operator.name] ?? reason) : OF_BOUND };
    }),
    ...(isBounded ? [GRANTS] : []),
  ];
}

function isRead({ verbs }: Known): boolean {
  return verbs.includes('get');
}

function isDeclared({ reconcilers }: Operator, { group, resource, hasPodAccounts }: Known): boolean {
  if (hasPodAccounts === undefined) return true;
  const isSame = ({ kind }: WriteDeclaration) => kind.group === group && kind.plural === resource;
  const writes = reconcilers.flatMap((one) => one.writes.filter(isSame));
  return writes.every(({ podAccounts }) => typeof podAccounts === 'string') === hasPodAccounts;
}

function clusterRules(manifests: readonly KubeObject[]): readonly Rule[] {
  const roles = manifests.filter(({ kind }) => kind === 'ClusterRole');
  return roles.flatMap((role) => (role as { rules?: readonly Rule[] }).rules ?? []);
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function permits({ apiGroups = [], resources = [], resourceNames, verbs }: Rule, known: Known): boolean {
  const has = (names: readonly string[], name: string) => names.includes(name) || names.includes('*');
  return (
    resourceNames === undefined &&
    has(apiGroups, known.group) &&
    has(resources, known.resource) &&
    known.verbs.some((verb) => has(verbs, verb))
  );
}
