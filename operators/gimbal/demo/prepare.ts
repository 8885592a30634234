// The remote side of the demonstration. East and west each get an account that may only list and watch services, with the rules that
// "gimbal rbac remote kubernetes" prints, and a kubeconfig with a token of this account.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, ClusterRole, ClusterRoleBinding, Namespace, ServiceAccount } from '@capstan/kube';
import { REMOTE_RULES } from '../src/discover/command/rbac.ts';

interface Context {
  /** The folder for the data of the remote clusters. */
  readonly data: string;
  readonly clusters: ReadonlyMap<string, Remote>;
  readonly signal: AbortSignal;
}

interface Remote {
  readonly client: Client;
  readonly url: string;
  readonly ca: string;
}

const NAME = 'gimbal-discoverer';
const NAMESPACE = 'gimbal-discovery';
const YEAR_S = 31_536_000;

export default async function prepare({ data, clusters, signal }: Context): Promise<Record<string, string>> {
  await mkdir(data, { recursive: true });
  const variables: Record<string, string> = {};
  for (const name of ['east', 'west']) {
    const remote = clusters.get(name);
    if (remote === undefined) throw new Error(`the demonstration needs the logical cluster ${name}`);
    const file = join(data, `${name}.kubeconfig`);
    const known = await readFile(file, 'utf8').catch(() => '');
    // The token of the time before, where it leads to the same address: another one would be a rotation.
    const text = known.includes(`"${remote.url}"`) ? known : await newKubeconfig(remote, signal);
    if (text !== known) await writeFile(file, text, { mode: 0o600 });
    variables[`${name.toUpperCase()}_KUBECONFIG`] = text;
  }
  return variables;
}

async function newKubeconfig({ client, url, ca }: Remote, signal: AbortSignal): Promise<string> {
  const token = await readerToken(client, signal);
  const authority = Buffer.from(ca).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'remote',
    contexts: [{ name: 'remote', context: { cluster: 'remote', user: NAME } }],
    clusters: [{ name: 'remote', cluster: { server: url, 'certificate-authority-data': authority } }],
    users: [{ name: NAME, user: { token } }],
  });
}

async function readerToken(client: Client, signal: AbortSignal): Promise<string> {
  const how = { fieldManager: 'capstan-demo', force: true, signal };
  const own = { namespace: NAMESPACE, name: NAME };
  const rules = REMOTE_RULES.map(({ apiGroups, resources, verbs, ...names }) => ({
    apiGroups: [...apiGroups],
    resources: [...resources],
    verbs: [...verbs],
    ...('resourceNames' in names && { resourceNames: [...names.resourceNames] }),
  }));
  await client.apply(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, how);
  await client.apply(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: own }, how);
  const rbac = 'rbac.authorization.k8s.io';
  const { apiVersion } = ClusterRole;
  const role: ClusterRole = { apiVersion, kind: 'ClusterRole', metadata: { name: NAME }, rules };
  await client.apply(ClusterRole, role, how);
  const binding: ClusterRoleBinding = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: NAME },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: NAME },
    subjects: [{ kind: 'ServiceAccount', ...own }],
  };
  await client.apply(ClusterRoleBinding, binding, how);
  const { body } = await client.request({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${NAME}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: YEAR_S } },
    signal,
  });
  const token = (body as { status?: { token?: string } }).status?.token;
  if (token === undefined) throw new Error('the remote cluster gave no token');
  return token;
}
