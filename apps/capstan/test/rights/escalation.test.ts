// Each operator's account tries to become more than it is, with its own token, on the embedded server and on the real one. Every
// attempt is a dry run: authorization and the check against escalation take part, and nothing changes. SECURITY.md names each attempt
// that succeeds by default, with its reason; a new one fails here.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { startCluster } from '@capstan/apiserver';
import * as kinds from '@capstan/kube';
import {
  type Client,
  createClient,
  type Kind,
  type KubeObject,
  Namespace,
  Secret,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { type Operator, rbacManifests } from '@capstan/reconcile';
import { createRandom, findBinaries, startRealCluster } from '@capstan/testing';
import { BUILT_IN_OPERATORS } from '../../src/operators.ts';
import { explainRights, formatRights } from '../../src/rights/explain-rights.ts';
import { INHERENT_RIGHTS, inherentRightsOf } from '../../src/rights/inherent-rights.ts';

const SYSTEM = 'capstan-system';
const OTHER = 'kube-system';
const OWN = 'team';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ALL = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };

interface Attempt {
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
const workload = (kind: string) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'try' },
  spec: {
    selector: { matchLabels: { app: 'try' } },
    template: { metadata: { labels: { app: 'try' } }, spec: podSpec },
  },
});
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
const secrets = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
const tokenSecret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'try', annotations: { 'kubernetes.io/service-account.name': 'default' } },
  type: 'kubernetes.io/service-account-token',
};
const post = (path: string, body: object): Attempt => ({ method: 'POST', path, body });
const merge = (path: string, body: object): Attempt => ({
  method: 'PATCH',
  path,
  body,
  type: 'application/merge-patch+json',
});
const get = (path: string): Attempt => ({ method: 'GET', path });

/** No account of an operator can do any of these, in any installation. */
const REFUSED: Readonly<Record<string, (operator: string) => Attempt>> = {
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
  'change a namespace': () =>
    merge(`/api/v1/namespaces/${OTHER}`, {
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
    }),
};

/** Some operators can do these, because their work is to do them; the names are those of SECURITY.md. */
const INHERENT: Readonly<Record<string, { try: (namespace: string) => Attempt; by: readonly string[] }>> = {
  'read Secrets of any namespace': {
    try: (namespace) => get(secrets(namespace)),
    by: ['crossplane', 'gimbal', 'kroxylicious', 'sesame', 'submariner'],
  },
  'create Secrets in any namespace': {
    try: (namespace) => post(secrets(namespace), tokenSecret),
    by: ['crossplane', 'gimbal', 'kroxylicious', 'sesame', 'submariner'],
  },
  'change or delete Secrets of any namespace': {
    try: (namespace) => ({ method: 'DELETE', path: `${secrets(namespace)}/there` }),
    by: ['crossplane', 'gimbal', 'kroxylicious', 'sesame', 'submariner'],
  },
  'run Deployments under any account of any namespace': {
    try: (namespace) => post(`/apis/apps/v1/namespaces/${namespace}/deployments`, workload('Deployment')),
    by: ['gimbal', 'kroxylicious', 'sesame'],
  },
  'run DaemonSets under any account of any namespace': {
    try: (namespace) => post(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, workload('DaemonSet')),
    by: ['sesame', 'submariner'],
  },
};

/** The same at the scope of the cluster: namespaces do not narrow them. */
const INHERENT_IN_CLUSTER: Readonly<Record<string, { try: () => Attempt; by: readonly string[] }>> = {
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

interface Server {
  readonly client: Client;
  readonly url: string;
  readonly ca: string;
  close(): Promise<void>;
}

async function embedded(): Promise<Server> {
  const cluster = await startCluster({ clock: systemClock, random: createRandom(1), port: 0 });
  const [first] = cluster.clusters;
  assert.ok(first);
  const client = createClient({ transport: first.server.transport({}), clock: systemClock, logger: silentLogger });
  return { client, url: first.url, ca: cluster.ca, close: () => cluster.close() };
}

const binaries = findBinaries();
const SERVERS: readonly (readonly [name: string, start: () => Promise<Server>, skip: string | false])[] = [
  ['the embedded server', embedded, false],
  [
    'the real API server',
    () => startRealCluster({ controllers: ['clusterrole-aggregation'] }),
    'missing' in binaries ? binaries.missing : false,
  ],
];

for (const [where, start, skip] of SERVERS)
  describe(`the account of an operator on ${where}`, { skip }, () => {
    let server: Server;
    let operators: readonly Operator[] = [];
    before(async () => {
      server = await start();
      operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
      for (const name of [SYSTEM, OWN]) await applied(object(Namespace, name));
      for (const operator of operators)
        for (const one of rbacManifests(operator, { namespace: SYSTEM })) await applied(one);
      await applied({ ...object(Secret, 'there'), metadata: { namespace: OTHER, name: 'there' } });
      const crossplane = operators.find(({ name }) => name === 'crossplane');
      assert.ok(crossplane);
      // The rules of the bound are aggregated by a controller.
      await until(async () => (await statusOf('crossplane', get(secrets(OTHER)))) === 200);
    });
    after(() => server?.close());

    test('cannot become more than it is', async () => {
      for (const { name } of operators)
        for (const [what, attempt] of Object.entries(REFUSED)) {
          const status = await statusOf(name, attempt(name));
          // The embedded server has no nodes to forward to.
          assert.ok(
            status === 403 || (status === 404 && what === 'reach a node'),
            `${name} tried to ${what}: ${status}`,
          );
        }
    });

    test('has the inherent rights of its operator, and no other', async () => {
      for (const { name } of operators) {
        const attempts = [
          ...Object.entries(INHERENT).map(([what, one]) => [what, one.by, one.try(OTHER)] as const),
          ...Object.entries(INHERENT_IN_CLUSTER).map(([what, one]) => [what, one.by, one.try()] as const),
        ];
        for (const [what, by, attempt] of attempts) {
          const status = await statusOf(name, attempt);
          assert.equal(status < 300 ? 'done' : status, by.includes(name) ? 'done' : 403, `${name} tried to ${what}`);
        }
      }
    });

    test('has the far-reaching rights that capstan rbac --explain names', () => {
      const tried = Object.entries({ ...INHERENT, ...INHERENT_IN_CLUSTER });
      const bounded = 'grant rights to accounts of packages';
      for (const operator of operators)
        assert.deepEqual(
          inherentRightsOf(operator)
            .map(({ right }) => right)
            .filter((right) => right !== bounded)
            .toSorted(),
          tried.flatMap(([right, { by }]) => (by.includes(operator.name) ? [right] : [])).toSorted(),
          operator.name,
        );
      assert.deepEqual(
        operators.flatMap((one) => (inherentRightsOf(one).some(({ right }) => right === bounded) ? [one.name] : [])),
        ['crossplane'],
      );
    });

    test('has them in the namespaces alone that it watches, where these are named', async () => {
      for (const operator of operators) {
        const { name } = operator;
        const account = `narrow-${name}`;
        // A bound that holds no Secrets: the administrator decides.
        const options = { namespace: SYSTEM, name: account, watchNamespaces: [OWN], bounds: false };
        for (const one of rbacManifests(operator, options)) await applied(one);
        for (const [what, one] of Object.entries(INHERENT)) {
          assert.equal(await statusOf(name, one.try(OTHER), account), 403, `${name} tried to ${what}`);
        }
      }
      assert.equal(await statusOf('sesame', get(secrets(OWN)), 'narrow-sesame'), 200);
    });

    const tokens = new Map<string, string>();

    async function statusOf(operator: string, attempt: Attempt, account = `capstan-${operator}`): Promise<number> {
      const token = tokens.get(account) ?? (await tokenOf(account));
      tokens.set(account, token);
      return send(server, token, attempt);
    }

    async function tokenOf(account: string): Promise<string> {
      const { body } = await server.client.request({
        method: 'POST',
        path: `/api/v1/namespaces/${SYSTEM}/serviceaccounts/${account}/token`,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
      });
      return (body as { status: { token: string } }).status.token;
    }

    async function applied(one: KubeObject): Promise<void> {
      const kind = (kinds as unknown as Readonly<Record<string, Kind>>)[one.kind];
      assert.ok(kind, one.kind);
      await server.client.apply(kind, one, { fieldManager: 'test', force: true });
    }
  });

test('SECURITY.md names every inherent right, with the operators that have it', async () => {
  const text = await readFile(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');
  for (const [what, { by }] of Object.entries({ ...INHERENT, ...INHERENT_IN_CLUSTER })) {
    const line = text.split('\n').find((one) => one.toLowerCase().startsWith(`| ${what}`.toLowerCase()));
    assert.ok(line, `SECURITY.md has no line about the right to ${what}`);
    for (const name of by) assert.match(line, new RegExp(name, 'i'), what);
  }
  for (const { right } of INHERENT_RIGHTS) assert.ok(right in INHERENT || right in INHERENT_IN_CLUSTER, right);
});

test('docs/rights.md is the output of capstan rbac --explain; UPDATE_RIGHTS=1 writes it', async () => {
  const file = new URL('../../../../docs/rights.md', import.meta.url);
  const operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  const all = operators.map((one) => explainRights(one, { role: undefined, watchNamespaces: undefined }));
  const page = `${RIGHTS_TITLE}\n\`\`\`text\n${formatRights(all)}\`\`\`\n`;
  if (process.env['UPDATE_RIGHTS'] !== undefined) await writeFile(file, page);
  assert.equal(await readFile(file, 'utf8'), page);
});

const RIGHTS_TITLE = `# Rights that reach further than declared

\`capstan rbac --explain\` prints this page; a test compares them. The first part of each operator names its far-reaching rights, as
[SECURITY.md](../SECURITY.md#inherent-rights) does. The second part lists every rule of its roles that permits more than its reconcilers
declare, with what RBAC cannot express; the legend is at the end. \`capstan rbac\` prints the roles themselves.
`;

function object(kind: Kind, name: string): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name } };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, 'the rules of the bound were never aggregated');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Sends it as the account of the token; changes nothing. */
function send({ url, ca }: Server, token: string, { method, path, body, type, headers }: Attempt): Promise<number> {
  const base = new URL(url);
  const target = new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);
  if (method !== 'GET') target.searchParams.set('dryRun', 'All');
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      target,
      {
        method,
        ca,
        headers: { authorization: `Bearer ${token}`, 'content-type': type ?? 'application/json', ...headers },
      },
      (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
