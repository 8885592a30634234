// Attempts of an account to become more than it is, each as one request. The names are those of SECURITY.md.
import { INVENTORY_LABEL } from '@capstan/reconcile';

export const SYSTEM = 'capstan-system';
export const OTHER = 'kube-system';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ALL = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };

export interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const role = (kind: string, name: string, rules: readonly object[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name },
  rules,
});
const bindingTo = (kind: string, name: string, account: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name: 'try' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  subjects: [{ kind: 'ServiceAccount', namespace: SYSTEM, name: account }],
});
const podSpec = { serviceAccountName: 'default', containers: [{ name: 'try', image: 'try' }] };
const WORKLOAD_LABEL: Readonly<Record<string, string>> = {
  gimbal: 'gimbal-discoverer',
  kroxylicious: 'kroxylicious-kafka-proxy',
  sesame: 'sesame-sesame-deployment',
  submariner: 'submariner-submariner',
};
const POD_ACCOUNT: Readonly<Record<string, string>> = {
  gimbal: 'east-kubernetes-discoverer',
  sesame: 'sesame-edge',
  submariner: 'submariner-gateway',
};
const workload = (kind: string, operator = '', serviceAccountName = 'default') => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: {
    name: 'try',
    labels: { [INVENTORY_LABEL]: `${WORKLOAD_LABEL[operator] ?? 'no-operator'}-0123456789abcdef0123` },
  },
  spec: {
    selector: { matchLabels: { app: 'try' } },
    template: { metadata: { labels: { app: 'try' } }, spec: { ...podSpec, serviceAccountName } },
  },
});
const powerful = (operator: string, container: object, pod: object = {}) => {
  const { spec, ...rest } = workload('Deployment', operator, POD_ACCOUNT[operator]);
  const { template } = spec;
  const containers = [{ ...podSpec.containers[0], ...container }];
  return { ...rest, spec: { ...spec, template: { ...template, spec: { ...template.spec, containers, ...pod } } } };
};
const webhook = (kind: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name: 'try' },
  webhooks: [
    {
      name: 'try.example.org',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      clientConfig: { url: 'https://try.example.org' },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] }],
    },
  ],
});
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'tries.example.org' },
  spec: {
    group: 'example.org',
    names: { kind: 'Try', plural: 'tries', singular: 'try', listKind: 'TryList' },
    scope: 'Cluster',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
export const secrets = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
/** The label of a Secret that the operator creates beside objects of users; of any other operator it is one that no operator sets. */
const OWN_LABEL: Readonly<Record<string, string>> = {
  gimbal: 'gimbal-credentials',
  kroxylicious: 'kroxylicious-virtual-kafka-clu',
  sesame: 'sesame-sesame-deployment',
  submariner: 'submariner-submariner',
};
const secretOf = (operator: string, parts: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'try',
    labels: { [INVENTORY_LABEL]: `${OWN_LABEL[operator] ?? 'crossplane-essentials'}-0123456789abcdef0123` },
    annotations: { 'kubernetes.io/service-account.name': 'default' },
  },
  ...parts,
});
const post = (path: string, body: object): Attempt => ({ method: 'POST', path, body });
const merge = (path: string, body: object): Attempt => ({
  method: 'PATCH',
  path,
  body,
  type: 'application/merge-patch+json',
});
export const get = (path: string): Attempt => ({ method: 'GET', path });

/** No account of an operator can do any of these, in any installation. */
export const REFUSED: Readonly<Record<string, (operator: string) => Attempt>> = {
  'bind itself to cluster-admin': (name) =>
    post(`${RBAC}/clusterrolebindings`, bindingTo('ClusterRoleBinding', 'cluster-admin', `capstan-${name}`)),
  'bind itself to cluster-admin in a namespace': (name) =>
    post(`${RBAC}/namespaces/${OTHER}/rolebindings`, bindingTo('RoleBinding', 'cluster-admin', `capstan-${name}`)),
  'bind itself to admin': (name) =>
    post(`${RBAC}/clusterrolebindings`, bindingTo('ClusterRoleBinding', 'admin', `capstan-${name}`)),
  'join the administrators': (name) =>
    merge(`${RBAC}/clusterrolebindings/cluster-admin`, {
      subjects: [{ kind: 'ServiceAccount', namespace: SYSTEM, name: `capstan-${name}` }],
    }),
  'add everything to its own role': (name) => merge(`${RBAC}/clusterroles/capstan-${name}`, { rules: [ALL] }),
  'create a role of everything': () => post(`${RBAC}/clusterroles`, role('ClusterRole', 'try', [ALL])),
  'create a role that may escalate': () =>
    post(
      `${RBAC}/clusterroles`,
      role('ClusterRole', 'try', [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['escalate', 'bind'] },
      ]),
    ),
  'create a role of everything in a namespace': () =>
    post(`${RBAC}/namespaces/${OTHER}/roles`, role('Role', 'try', [ALL])),
  'aggregate cluster-admin into the bound of packages': () =>
    merge(`${RBAC}/clusterroles/cluster-admin`, {
      metadata: { labels: { 'rbac.crossplane.io/aggregate-to-allowed-provider-permissions': 'true' } },
    }),
  'widen the bound of packages': () =>
    merge(`${RBAC}/clusterroles/crossplane:allowed-provider-permissions`, { rules: [ALL] }),
  'widen what the bound aggregates': () =>
    merge(`${RBAC}/clusterroles/crossplane:allowed-provider-permissions`, {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { any: 'role' } }] },
    }),
  'request the token of another account': () =>
    post(`/api/v1/namespaces/${OTHER}/serviceaccounts/default/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    }),
  'request a token of its own': (name) =>
    post(`/api/v1/namespaces/${SYSTEM}/serviceaccounts/capstan-${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    }),
  'impersonate an administrator': () => ({
    ...get(secrets(OTHER)),
    headers: { 'Impersonate-User': 'admin', 'Impersonate-Group': 'system:masters' },
  }),
  'create a pod under another account': () =>
    post(`/api/v1/namespaces/${OTHER}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'try' },
      spec: podSpec,
    }),
  'run a command in a pod': () => get(`/api/v1/namespaces/${OTHER}/pods/try/exec?command=id&stdout=true`),
  'reach a node': () => get('/api/v1/nodes/try/proxy/pods'),
  'create a DaemonSet under another account': (name) =>
    post(`/apis/apps/v1/namespaces/${OTHER}/daemonsets`, workload('DaemonSet', name)),
  'create a Deployment under an account that no object names': (name) =>
    post(`/apis/apps/v1/namespaces/${OTHER}/deployments`, workload('Deployment', name, 'admin')),
  'create a Deployment without its label': (name) =>
    post(`/apis/apps/v1/namespaces/${OTHER}/deployments`, workload('Deployment', 'none', POD_ACCOUNT[name])),
  'create a privileged Deployment': (name) =>
    post(`/apis/apps/v1/namespaces/${OTHER}/deployments`, powerful(name, { securityContext: { privileged: true } })),
  'create a Deployment with capabilities': (name) =>
    post(
      `/apis/apps/v1/namespaces/${OTHER}/deployments`,
      powerful(name, { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
    ),
  'create a Deployment with a port of its node': (name) =>
    post(
      `/apis/apps/v1/namespaces/${OTHER}/deployments`,
      powerful(name, { ports: [{ containerPort: 80, hostPort: 80 }] }),
    ),
  'create a Deployment on the network of its node': (name) =>
    post(`/apis/apps/v1/namespaces/${OTHER}/deployments`, powerful(name, {}, { hostNetwork: true })),
  'create a StatefulSet under another account': () =>
    post(`/apis/apps/v1/namespaces/${OTHER}/statefulsets`, {
      ...workload('StatefulSet'),
      spec: { ...workload('StatefulSet').spec, serviceName: 'try' },
    }),
  'approve a certificate': () =>
    merge('/apis/certificates.k8s.io/v1/certificatesigningrequests/try/approval', { status: { conditions: [] } }),
  'add an authenticating webhook or API': () =>
    post('/apis/apiregistration.k8s.io/v1/apiservices', {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.try.example.org' },
      spec: { group: 'try.example.org', version: 'v1', groupPriorityMinimum: 100, versionPriority: 100 },
    }),
  'create a Secret without its label': (name) => post(secrets(OTHER), { ...secretOf(name), metadata: { name: 'try' } }),
  'create a Secret with the label of another operator': (name) =>
    post(secrets(OTHER), secretOf(name === 'gimbal' ? 'sesame' : 'gimbal')),
  'create a Secret that becomes a token': (name) =>
    post(secrets(OTHER), secretOf(name, { type: 'kubernetes.io/service-account-token' })),
  'create a Secret that is a token of a node': (name) =>
    post(secrets('kube-system'), secretOf(name, { type: 'bootstrap.kubernetes.io/token' })),
  'delete a Secret of a user': () => ({ method: 'DELETE', path: `${secrets(OTHER)}/there` }),
  'change a Secret of a user': () => merge(`${secrets(OTHER)}/there`, { stringData: { more: 'data' } }),
  'make a Secret of a user its own': (name) =>
    merge(`${secrets(OTHER)}/there`, { metadata: { labels: secretOf(name).metadata.labels } }),
  'delete a Secret beside the pods of operators': () => ({ method: 'DELETE', path: `${secrets(SYSTEM)}/there` }),
  'loosen its own policy': (name) =>
    merge(`/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/capstan-${name}-secrets`, {
      spec: { failurePolicy: 'Ignore' },
    }),
  'remove its own policy': (name) => ({
    method: 'DELETE',
    path: `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/capstan-${name}-secrets`,
  }),
  'change a namespace': () =>
    merge(`/api/v1/namespaces/${OTHER}`, {
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
    }),
};

/** Crossplane's account holds these rights to grant them to packages, and uses none of them. */
export const HELD_TO_GRANT: Readonly<Record<string, () => Attempt>> = {
  'change a ConfigMap of the cluster itself': () =>
    merge(`/api/v1/namespaces/${OTHER}/configmaps/there`, { data: { more: 'data' } }),
  'change a Lease of the cluster itself': () =>
    merge(`/apis/coordination.k8s.io/v1/namespaces/${OTHER}/leases/there`, { spec: { holderIdentity: 'try' } }),
  'create a Secret outside of its namespace': () => post(secrets(OTHER), secretOf('crossplane')),
};

interface Inherent {
  readonly try: (namespace: string, operator: string) => Attempt;
  readonly by: readonly string[];
  /** Operators that can do it by a wider right. */
  readonly impliedFor?: readonly string[];
}

/** Some operators can do these, because their work is to do them; the names are those of SECURITY.md. */
export const INHERENT: Readonly<Record<string, Inherent>> = {
  'read Secrets of any namespace': {
    try: (namespace) => get(secrets(namespace)),
    by: ['crossplane', 'gimbal', 'kroxylicious', 'sesame', 'submariner'],
  },
  'create Secrets of its own in any namespace': {
    try: (namespace, operator) => post(secrets(namespace), secretOf(operator)),
    by: ['gimbal', 'kroxylicious', 'sesame', 'submariner'],
  },
  'run Deployments under accounts that its objects name, in any namespace': {
    try: (namespace, operator) =>
      post(`/apis/apps/v1/namespaces/${namespace}/deployments`, workload('Deployment', operator)),
    by: ['kroxylicious'],
  },
  'run Deployments under accounts of its own in any namespace': {
    try: (namespace, operator) =>
      post(
        `/apis/apps/v1/namespaces/${namespace}/deployments`,
        workload('Deployment', operator, POD_ACCOUNT[operator]),
      ),
    by: ['gimbal', 'sesame'],
    impliedFor: ['kroxylicious'],
  },
  'run DaemonSets under accounts of its own in any namespace': {
    try: (namespace, operator) =>
      post(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, workload('DaemonSet', operator, POD_ACCOUNT[operator])),
    by: ['sesame', 'submariner'],
  },
};

/** The same at the scope of the cluster: namespaces do not narrow them. */
export const INHERENT_IN_CLUSTER: Readonly<Record<string, { try: () => Attempt; by: readonly string[] }>> = {
  'register mutating webhooks': {
    try: () =>
      post(
        '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
        webhook('MutatingWebhookConfiguration'),
      ),
    by: ['crossplane', 'kroxylicious'],
  },
  'register validating webhooks': {
    try: () =>
      post(
        '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
        webhook('ValidatingWebhookConfiguration'),
      ),
    by: ['crossplane'],
  },
  'create CustomResourceDefinitions': {
    try: () => post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd),
    by: ['crossplane'],
  },
};
