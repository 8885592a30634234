// A discoverer needs exactly the rights that `gimbal rbac` prints, on either side.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { attributesOf, isPath } from '@capstan/apiserver';
import {
  type ApiRequest,
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  createClient,
  EndpointSlice,
  Endpoints,
  type Kind,
  type PolicyRule,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  silentLogger,
  type Transport,
} from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { runRbac } from '../../src/discover/command/rbac.ts';
import { parseYamlDocuments } from '../../src/discover/command/yaml.test-support.ts';
import { createDiscoverer, DEFAULT_SETTINGS } from '../../src/discover/discoverer.ts';
import { createKubernetesSource } from '../../src/discover/kubernetes/source.ts';
import { discovererPermissions } from '../../src/discoverer/permissions.ts';
import { DiscoveryBackend, type EffectiveBackend } from '../../src/kinds/index.ts';
import { addressesOf, Backend, backendObject, discovered, discoveryStatus, namespace, remoteService } from './stage.ts';

const user = {
  name: 'system:serviceaccount:default:gimbal-discoverer',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
};

it('a discoverer with the rights that are printed does its work, is refused nothing, and uses all of them', async () => {
  const { used, granted, refused, written } = await discover({
    writeEndpoints: true,
    createNamespaces: false,
    grant: (client) => grantPrinted(client, ['local', '--namespace=default', '--backend=east']),
  });
  assert.deepEqual(refused, []);
  assert.deepEqual(written, [], 'nothing is written to the remote cluster');
  // The object may be written as another kind, which the printed rights do not depend on.
  const otherKinds = /(?:discoverers|discoveries)\b/;
  const unused = granted.filter((right) => !used.has(right) && !otherKinds.test(right));
  assert.deepEqual(unused, []);
});

for (const writeEndpoints of [false, true])
  for (const createNamespaces of [false, true])
    it(`a discoverer uses exactly the rights that the operator gives it (${JSON.stringify({ writeEndpoints, createNamespaces })})`, async () => {
      const { used, granted, refused } = await discover({
        writeEndpoints,
        createNamespaces,
        grant: (client) => grantByOperator(client, writeEndpoints, createNamespaces),
      });
      assert.deepEqual(refused, []);
      const unused = granted.filter((right) => !used.has(right));
      assert.deepEqual(unused, []);
    });

interface Discovery {
  writeEndpoints: boolean;
  createNamespaces: boolean;
  /** Grants rights in the local cluster, and returns their rules. */
  grant(client: Client): Promise<readonly PolicyRule[]>;
}

/** A discoverer takes over, mirrors, corrects and removes, with no other rights than the given ones. */
async function discover({ writeEndpoints, createNamespaces, grant }: Discovery) {
  const clock = createVirtualClock();
  const random = createRandom(3);
  const operators = [operator({ name: 'gimbal', kinds: [DiscoveryBackend], reconcilers: [] })];
  const local = await createTestCluster({ clock, random, operators, rbac: true });
  const remote = await createTestCluster({ clock, random, rbac: true });
  const granted = ruleRights(await grant(local.client));
  await grantPrinted(remote.client, ['remote', 'kubernetes', '--namespace=default']);
  await backendObject(local.client);
  await namespace(local.client, 'team');
  for (const name of ['team', ...(createNamespaces ? ['new'] : [])]) await namespace(remote.client, name);
  await remoteService(remote.client, 'team/web', ['10.0.0.1']);
  await remoteService(remote.client, 'team/api', ['10.0.0.2']);
  if (createNamespaces) await remoteService(remote.client, 'new/web', ['10.0.0.3']);
  await leftByUpstream(local.client);
  const refused: string[] = [];
  const written: string[] = [];
  const used = new Set<string>();
  const watched = (inner: Transport, note?: string[]): Transport => ({
    ...inner,
    async request(request) {
      const answer = await inner.request(request);
      if (answer.status === 403) refused.push(`${request.method} ${request.path}`);
      else if (note === undefined) for (const right of rightsUsed(request, answer.status)) used.add(right);
      if (request.method !== 'GET') note?.push(`${request.method} ${request.path}`);
      return answer;
    },
    async watch(request) {
      const answer = await inner.watch(request);
      if ('status' in answer) refused.push(`WATCH ${request.path}`);
      const asked = { ...request, query: { ...request.query, watch: 'true' } };
      if (note === undefined) for (const right of rightsUsed(asked, 200)) used.add(right);
      return answer;
    },
  });
  const common = { clock, random, logger: silentLogger };
  const source = createKubernetesSource({
    ...common,
    client: createClient({ ...common, transport: watched(remote.transport(user), written) }),
    backend: 'east',
    namespaces: { include: [], exclude: [] },
    writeEndpoints,
  });
  const discoverer = createDiscoverer({
    ...common,
    backend: 'east',
    client: createClient({ ...common, transport: watched(local.transport(user)) }),
    remote: source,
    version: 'test',
    identity: 'one',
    lease: { namespace: 'default', name: 'gimbal-discoverer-east' },
    status: { kind: Backend, ref: { namespace: 'default', name: 'east' } },
    settings: { ...DEFAULT_SETTINGS, writeEndpoints, createNamespaces },
  });
  const stopping = new AbortController();
  const done = discoverer.run(stopping.signal);
  await clock.advance(20_000);
  await remote.client.delete(Service, { namespace: 'team', name: 'api' });
  await remote.client.patch(Service, { namespace: 'team', name: 'web' }, 'merge', { metadata: { labels: { a: 'b' } } });
  for (const { metadata } of (await remote.client.list(EndpointSlice, { namespace: 'team' })).items)
    await remote.client.patch(EndpointSlice, { namespace: 'team', name: metadata.name ?? '' }, 'merge', {
      endpoints: [{ addresses: ['10.0.0.9'], conditions: { ready: true } }],
    });
  await clock.advance(20_000);
  const expected = [...(createNamespaces ? ['new/east-web'] : []), 'team/east-web'];
  assert.deepEqual((await discovered(local.client)).toSorted(), expected);
  assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.9']);
  assert.equal((await discoveryStatus(local.client))?.synced, true);
  stopping.abort();
  await clock.settle();
  await done;
  await local.close();
  await remote.close();
  return { used, granted, refused, written };
}

/** Returns the rights that a request needs, as lines: an apply may create, and after a conflict the object is read. */
function rightsUsed(request: ApiRequest, status: number): string[] {
  const attributes = attributesOf(request);
  if (isPath(attributes)) return [];
  const { verb, group, resource, subresource } = attributes;
  const of = `${resource}${subresource && `/${subresource}`}.${group}`;
  const verbs = [
    verb,
    ...(verb === 'watch' ? ['list'] : []),
    ...(status === 201 && verb === 'patch' ? ['create'] : []),
  ];
  const reread = ['patch', 'update', 'delete'].includes(verb) ? [`get ${resource}.${group}`] : [];
  return [...verbs.map((one) => `${one} ${of}`), ...reread];
}

function ruleRights(rules: readonly PolicyRule[]): string[] {
  const lines = rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`))),
  );
  return [...new Set(lines)].toSorted();
}

/** A Service and its Endpoints as Gimbal's own discoverer wrote them, for a remote Service that is gone. */
async function leftByUpstream(client: Client): Promise<void> {
  const labels = { 'gimbal.heptio.com/backend': 'east', 'gimbal.heptio.com/service': 'gone' };
  const metadata = { namespace: 'team', name: 'east-gone', labels };
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
  await client.create(Service, { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: 'None', ports } });
  const subsets = [{ addresses: [{ ip: '10.9.9.9' }], ports }];
  await client.create(Endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
}

/** Creates the objects that the operator applies for a backend, for the account of this test. */
async function grantByOperator(
  client: Client,
  writeEndpoints: boolean,
  createNamespaces: boolean,
): Promise<readonly PolicyRule[]> {
  const effective = { backendName: 'east', type: 'kubernetes', createNamespaces } as EffectiveBackend;
  const rules: PolicyRule[] = [];
  for (const child of discovererPermissions(effective, 'default', writeEndpoints)) {
    if (!('object' in child)) continue;
    const { kind, object } = child;
    const { rules: own = [], subjects } = object as { rules?: PolicyRule[]; subjects?: object[] };
    rules.push(...own);
    const bound = subjects && { subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user.name }] };
    await client.create(kind, { ...object, ...bound });
  }
  return rules;
}

const KINDS: Record<string, Kind> = { ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding };

async function grantPrinted(client: Client, argv: readonly string[]): Promise<readonly PolicyRule[]> {
  const rules: PolicyRule[] = [];
  let text = '';
  await runRbac(argv, { stdout: (part) => void (text += part) });
  for (const manifest of parseYamlDocuments(text)) {
    const kind = KINDS[manifest.kind];
    if (kind !== undefined) await client.create(kind, { apiVersion: kind.apiVersion, ...manifest });
    rules.push(...((manifest as { rules?: PolicyRule[] }).rules ?? []));
  }
  return rules;
}
