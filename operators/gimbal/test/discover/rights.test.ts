// A discoverer needs exactly what `gimbal rbac` prints, on either side.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  createClient,
  type Kind,
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
import { DiscoveryBackend } from '../../src/kinds/index.ts';
import { addressesOf, Backend, backendObject, discovered, discoveryStatus, namespace, remoteService } from './stage.ts';

const user = {
  name: 'system:serviceaccount:default:gimbal-discoverer',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
};

it('a discoverer with the rights that are printed does its work, and is refused nothing', async () => {
  const clock = createVirtualClock();
  const random = createRandom(3);
  const operators = [operator({ name: 'gimbal', kinds: [DiscoveryBackend], reconcilers: [] })];
  const local = await createTestCluster({ clock, random, operators, rbac: true });
  const remote = await createTestCluster({ clock, random, rbac: true });
  await grant(local.client, ['local', '--namespace=default', '--backend=east']);
  await grant(remote.client, ['remote', 'kubernetes', '--namespace=default']);
  await backendObject(local.client);
  await namespace(local.client, 'team');
  await namespace(remote.client, 'team');
  await remoteService(remote.client, 'team/web', ['10.0.0.1']);
  await remoteService(remote.client, 'team/api', ['10.0.0.2']);
  const refused: string[] = [];
  const written: string[] = [];
  const watched = (inner: Transport, note?: string[]): Transport => ({
    ...inner,
    async request(request) {
      const answer = await inner.request(request);
      if (answer.status === 403) refused.push(`${request.method} ${request.path}`);
      if (request.method !== 'GET') note?.push(`${request.method} ${request.path}`);
      return answer;
    },
    async watch(request) {
      const answer = await inner.watch(request);
      if ('status' in answer) refused.push(`WATCH ${request.path}`);
      return answer;
    },
  });
  const common = { clock, random, logger: silentLogger };
  const source = createKubernetesSource({
    ...common,
    client: createClient({ ...common, transport: watched(remote.transport(user), written) }),
    backend: 'east',
    namespaces: { include: [], exclude: [] },
    writeEndpoints: true,
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
    settings: { ...DEFAULT_SETTINGS, writeEndpoints: true },
  });
  const stopping = new AbortController();
  const done = discoverer.run(stopping.signal);
  await clock.advance(20_000);
  await remote.client.delete(Service, { namespace: 'team', name: 'api' });
  await remote.client.patch(Service, { namespace: 'team', name: 'web' }, 'merge', { metadata: { labels: { a: 'b' } } });
  await clock.advance(20_000);
  assert.deepEqual(await discovered(local.client), ['team/east-web']);
  assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.1']);
  assert.equal((await discoveryStatus(local.client))?.synced, true);
  assert.deepEqual(refused, []);
  assert.deepEqual(written, [], 'nothing is written to the remote cluster');
  stopping.abort();
  await clock.settle();
  await done;
  await local.close();
  await remote.close();
});

const KINDS: Record<string, Kind> = { ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding };

async function grant(client: Client, argv: readonly string[]): Promise<void> {
  let text = '';
  await runRbac(argv, { stdout: (part) => void (text += part) });
  for (const manifest of parseYamlDocuments(text)) {
    const kind = KINDS[manifest.kind];
    if (kind !== undefined) await client.create(kind, { apiVersion: kind.apiVersion, ...manifest });
  }
}
