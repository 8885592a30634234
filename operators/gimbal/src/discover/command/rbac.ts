// `gimbal rbac remote kubernetes|openstack` prints exactly the rights that the remote side has to grant. `gimbal rbac local` prints those
// that a discoverer needs in this cluster. Discovery writes nothing on the remote side.
import { DiscoverErrors } from '../errors.ts';
import type { DiscoverIo } from './io.ts';

/** `remote kubernetes`, `remote openstack` or `local`; resolves to an exit code. */
export async function runRbac(argv: readonly string[], io: Pick<DiscoverIo, 'stdout'>): Promise<number> {
  const [side, type, ...rest] = argv;
  if (argv.includes('--help') || argv.includes('-h')) {
    io.stdout(side === 'local' ? LOCAL_HELP : REMOTE_HELP);
    return 0;
  }
  const name = flag(rest, 'name') ?? 'gimbal-discoverer';
  const namespace = flag(rest, 'namespace') ?? 'gimbal-discovery';
  const text =
    side === 'local'
      ? localRbac(
          flag(argv.slice(1), 'name') ?? name,
          flag(argv.slice(1), 'namespace') ?? namespace,
          flag(argv.slice(1), 'backend'),
        )
      : side === 'remote' && type === 'kubernetes'
        ? remoteKubernetesRbac(name, namespace)
        : side === 'remote' && type === 'openstack'
          ? REMOTE_OPENSTACK
          : undefined;
  if (text === undefined) throw DiscoverErrors.UnknownSide(type);
  io.stdout(text);
  return 0;
}

const REMOTE_HELP = `Usage: gimbal rbac remote kubernetes|openstack [--name NAME] [--namespace NAMESPACE]

Prints what the remote side has to grant to a discoverer, with the steps from there to its Secret.

Examples:
  gimbal rbac remote kubernetes | kubectl --context remote apply -f -
  gimbal rbac remote openstack

Flags:
      --name NAME            The account on the remote cluster; default gimbal-discoverer.
      --namespace NAMESPACE  Its namespace there; default gimbal-discovery.
`;

const LOCAL_HELP = `Usage: gimbal rbac local [--name NAME] [--namespace NAMESPACE] [--backend NAME]

Prints what a discoverer needs in this cluster, as manifests.

Examples:
  gimbal rbac local --backend east | kubectl apply -f -

Flags:
      --name NAME            The account of the discoverer; default gimbal-discoverer.
      --namespace NAMESPACE  Its namespace; default gimbal-discovery.
      --backend NAME         The backend that it discovers.
`;

function flag(argv: readonly string[], name: string): string | undefined {
  const index = argv.findIndex((argument) => argument === `--${name}` || argument.startsWith(`--${name}=`));
  const found = argv[index];
  return found === undefined ? undefined : found.includes('=') ? found.slice(found.indexOf('=') + 1) : argv[index + 1];
}

/** Rules on the remote cluster: list and watch the discovered kinds, and read the identity of the cluster. */
export const REMOTE_RULES = [
  { apiGroups: [''], resources: ['services', 'endpoints'], verbs: ['list', 'watch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
] as const;

/** Rules in this cluster, for all namespaces. Without `--write-endpoints`, Endpoints need only `list`, `watch` and `delete`. */
export const LOCAL_RULES = [
  {
    apiGroups: [''],
    resources: ['services', 'endpoints'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
] as const;

/** For `--create-namespaces`, besides. */
export const CREATE_NAMESPACES_RULE = { apiGroups: [''], resources: ['namespaces'], verbs: ['create'] } as const;

/** Rules in the backend's namespace: its lease, and the status of its own object. */
export function localNamespaceRules(backend: string) {
  const kinds = [
    { apiGroups: ['gimbal.heptio.com'], plurals: ['discoverybackends', 'discoverers'] },
    { apiGroups: ['contour.heptio.com'], plurals: ['discoveries'] },
  ];
  return [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: [`gimbal-discoverer-${backend}`],
      verbs: ['get', 'update'],
    },
    ...kinds.flatMap(({ apiGroups, plurals }) => [
      { apiGroups, resources: plurals, resourceNames: [backend], verbs: ['get'] },
      { apiGroups, resources: plurals.map((plural) => `${plural}/status`), resourceNames: [backend], verbs: ['patch'] },
    ]),
  ];
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function ruleLines(rules: readonly Rule[]): string {
  const list = (items: readonly string[]) => `[${items.map((item) => JSON.stringify(item)).join(', ')}]`;
  return rules
    .map(
      ({ apiGroups, resources, resourceNames, verbs }) =>
        `  - apiGroups: ${list(apiGroups)}\n    resources: ${list(resources)}\n${
          resourceNames === undefined ? '' : `    resourceNames: ${list(resourceNames)}\n`
        }    verbs: ${list(verbs)}`,
    )
    .join('\n');
}

function remoteKubernetesRbac(name: string, namespace: string): string {
  return `# What a remote cluster grants to its discoverer: list and watch, nothing else. Nothing is ever written there.
# Apply it there, then create a kubeconfig with the token and store it in a Secret here, under the key "config":
#
#   kubectl -n ${namespace} get secret ${name}-token -o jsonpath='{.data.token}' | base64 -d
#   kubectl -n ${namespace} create token ${name} --duration=720h     # instead, where tokens should end (or an embedded cluster)
#
#   apiVersion: v1
#   kind: Config
#   current-context: remote
#   contexts: [{name: remote, context: {cluster: remote, user: ${name}}}]
#   clusters: [{name: remote, cluster: {server: https://REMOTE:6443, certificate-authority-data: BASE64}}]
#   users: [{name: ${name}, user: {token: TOKEN}}]
#
# The kubeconfig must be complete in itself: programs (exec) and paths of files in it are refused.
# "endpoints" is needed only for clusters without EndpointSlices; "namespaces" identifies the cluster, so that
# credentials that lead to another one are noticed.
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ${name}
  namespace: ${namespace}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: ${name}-token
  namespace: ${namespace}
  annotations:
    kubernetes.io/service-account.name: ${name}
${clusterRights(name, namespace, REMOTE_RULES)}`;
}

function localRbac(name: string, namespace: string, backend = 'BACKEND'): string {
  return `# What a discoverer needs in this cluster.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ${name}
  namespace: ${namespace}
${clusterRights(name, namespace, LOCAL_RULES)}---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: ${name}-${backend}
  namespace: ${namespace}
rules:
${ruleLines(localNamespaceRules(backend))}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: ${name}-${backend}
  namespace: ${namespace}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: ${name}-${backend}
subjects:
  - kind: ServiceAccount
    name: ${name}
    namespace: ${namespace}
`;
}

/** A ClusterRole, bound to the discoverer's account. */
function clusterRights(name: string, namespace: string, rules: Parameters<typeof ruleLines>[0]): string {
  return `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: ${name}
rules:
${ruleLines(rules)}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: ${name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: ${name}
subjects:
  - kind: ServiceAccount
    name: ${name}
    namespace: ${namespace}
`;
}

const REMOTE_OPENSTACK = `# What a cloud grants to its discoverer: one user that may read load balancers of all projects. Nothing is ever written there.
#
#   openstack user create gimbal-discoverer --password-prompt
#   openstack role add --user gimbal-discoverer --project PROJECT load-balancer_global_observer
#   openstack role add --user gimbal-discoverer --project PROJECT reader
#
# load-balancer_global_observer  read load balancers, listeners, pools and members of every project (Octavia).
#                                For the load balancers of PROJECT alone, load-balancer_observer is enough.
# reader                         log in to PROJECT. A user who may not list projects (GET /v3/projects) sees those that it
#                                may enter; for the names of all others give it the role "reader" on the system:
#                                openstack role add --user gimbal-discoverer --system all reader
#
# An application credential is better than a password: it can be limited, ends on a date, and is revoked alone.
#
#   openstack application credential create gimbal --role load-balancer_global_observer --role reader --expiration 2027-01-01T00:00:00
#
# The Secret here, with a key for each:
#
#   auth-url                          https://cloud.example.com:5000/v3
#   application-credential-id         and application-credential-secret
#   or username, password, tenant-name (the project), user-domain-name (default Default)
#   region                            where there are several
#   certificate-authority-data        PEM, where the cloud's certificate is not signed by a public authority
`;
