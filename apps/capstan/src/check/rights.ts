// Rights: before an installation those of the user, after it those of the operators' accounts. The server is asked, so that any
// authorizer counts.
import {
  type Client,
  ClusterRole,
  discover,
  type Kind,
  type KubeObject,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { type Operator, type PolicyRule, rbacManifests } from '@capstan/reconcile';
import { ONE_PROGRAM } from '../install/installation.ts';
import { type Finding, ok, problem, some, warning } from './finding.ts';

interface RightsOptions {
  client: Client;
  /** Those that are installed; none: the rights to install are asked for. */
  running: readonly Operator[];
  namespace: string;
  signal: AbortSignal;
}

interface Attributes {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

const TO_INSTALL: readonly Attributes[] = [
  { group: '', resource: 'namespaces', verb: 'patch' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', verb: 'patch' },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', verb: 'patch' },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings', verb: 'patch' },
  { group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies', verb: 'patch' },
];

export async function rights(options: RightsOptions): Promise<readonly Finding[]> {
  const { client, running, namespace, signal } = options;
  if (running.length === 0) {
    const inNamespace = [{ group: 'apps', resource: 'deployments', verb: 'patch', namespace }];
    const denied = await deniedOf([...TO_INSTALL, ...inNamespace], (resourceAttributes) =>
      review(client, 'selfsubjectaccessreviews', 'SelfSubjectAccessReview', { resourceAttributes }, signal),
    );
    return denied.length === 0
      ? [ok('rights', 'you may install Capstan')]
      : [
          problem(
            'rights',
            `you may not ${some(denied.map(shown))}`,
            'an administrator can: capstan install -o yaml prints what is to be applied',
          ),
        ];
  }
  const found: Finding[] = [];
  for (const operator of running) {
    const denied = await deniedTo(operator, options);
    if (denied.length > 0)
      found.push(
        problem(
          'rights',
          `${operator.name} may not ${some(denied.map(shown))}`,
          'capstan upgrade applies its permissions again',
        ),
      );
  }
  if (found.length > 0) return found;
  const free = await withoutPolicies(options);
  if (free === undefined || free.length === 0)
    return [ok('rights', 'every operator has the permissions that it needs')];
  return [
    warning(
      'rights',
      `no admission policy keeps ${some(free)} from changing Secrets of others`,
      'capstan upgrade applies the policies',
    ),
  ];
}

/** Returns the operators whose account has no policy; undefined where the server has none, or the installation has no ClusterRoles. */
async function withoutPolicies({ client, running, signal }: RightsOptions): Promise<readonly string[] | undefined> {
  const served = await discover(client, { signal });
  const { apiVersion, kind } = ValidatingAdmissionPolicyBinding;
  if (served.kindOf(apiVersion, kind) === undefined) return undefined;
  const isThere = async (of: Kind, name: string) => (await client.find(of, { name }, { signal })) !== undefined;
  const free: string[] = [];
  for (const { name } of running) {
    if (!(await isThere(ClusterRole, `capstan-${name}`))) continue;
    const names = [name, ONE_PROGRAM].map((program) => `capstan-${program}-secrets`);
    const found = await Promise.all(names.map((one) => isThere(ValidatingAdmissionPolicyBinding, one)));
    if (!found.includes(true)) free.push(name);
  }
  return free;
}

/** Returns the rights that the role grants and the server denies, by the account that the operator runs under. */
async function deniedTo(operator: Operator, options: RightsOptions): Promise<readonly Attributes[]> {
  const { client, namespace, signal } = options;
  const asked = rbacManifests(operator, { namespace }).flatMap(attributesOf);
  const accounts = [operator.name, ONE_PROGRAM].map((name) => `system:serviceaccount:${namespace}:capstan-${name}`);
  let fewest: readonly Attributes[] = asked;
  // It runs in one of two forms, under the account of that form.
  for (const user of accounts) {
    const denied = await deniedOf(asked, (resourceAttributes) =>
      review(
        client,
        'subjectaccessreviews',
        'SubjectAccessReview',
        { user, groups: GROUPS, resourceAttributes },
        signal,
      ),
    );
    if (denied.length < fewest.length) fewest = denied;
    if (denied.length === 0) break;
  }
  return fewest;
}

const GROUPS = ['system:serviceaccounts', 'system:authenticated'];

/** One question for each verb and resource of a role. */
function attributesOf(object: KubeObject): Attributes[] {
  const { kind, metadata, rules = [] } = object as KubeObject & { rules?: readonly PolicyRule[] };
  if (kind !== 'ClusterRole' && kind !== 'Role') return [];
  const where = kind === 'Role' && metadata.namespace !== undefined ? { namespace: metadata.namespace } : {};
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((path) => {
        const [resource = '', subresource] = path.split('/');
        const [name] = resourceNames;
        const one = {
          group,
          resource,
          ...(subresource !== undefined && { subresource }),
          ...(name !== undefined && { name }),
        };
        return verbs.map((verb) => ({ ...one, verb, ...where }));
      }),
    ),
  );
}

async function deniedOf(
  asked: readonly Attributes[],
  isAllowed: (attributes: Attributes) => Promise<boolean>,
): Promise<readonly Attributes[]> {
  const answers = await Promise.all(asked.map(isAllowed));
  return asked.filter((_, index) => answers[index] !== true);
}

async function review(
  client: Client,
  plural: string,
  kind: string,
  spec: object,
  signal: AbortSignal,
): Promise<boolean> {
  const apiVersion = 'authorization.k8s.io/v1';
  const path = `/apis/${apiVersion}/${plural}`;
  const { body } = await client.request({ method: 'POST', path, body: { apiVersion, kind, spec }, signal });
  return (body as { status?: { allowed?: boolean } } | undefined)?.status?.allowed === true;
}

function shown({ group, resource, subresource, verb, namespace, name }: Attributes): string {
  const path = `${resource}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  return `${verb} ${path}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}
