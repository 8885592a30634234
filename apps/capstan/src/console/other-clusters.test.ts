import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConsole } from '@capstan/console';
import { createClient, Secret, Service, silentLogger, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster, recordingTransport } from '@capstan/testing';
import { Site, sites } from '../commands/sites.test-support.ts';
import { openSource } from './open-source.ts';

const at = (name: string) => ({ namespace: 'default', name });

interface Objects {
  readonly rows: readonly { readonly id: string; readonly state: string; readonly operator?: string }[];
  readonly facets: { readonly cluster: Readonly<Record<string, number>> };
}

test('objects of another cluster are shown beside those of the own one, without its Secrets and without a write', async () => {
  const [own, east] = await Promise.all(
    [1, 2].map((seed) => createTestCluster({ clock: systemClock, random: createRandom(seed), operators: [sites] })),
  );
  assert.ok(own !== undefined && east !== undefined);
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: at('token'), stringData: { value: 'canary-77aa' } };
  for (const { client } of [own, east]) {
    await client.create(Site, { apiVersion: Site.apiVersion, kind: 'Site', metadata: at('home'), spec: { text: 'a' } });
    await client.create(Secret, secret);
  }
  const ports = [{ port: 80, protocol: 'TCP' as const }];
  await east.client.create(Service, { apiVersion: 'v1', kind: 'Service', metadata: at('shop'), spec: { ports } });
  const transport = recordingTransport(east.transport());
  const client = createClient({ transport, clock: systemClock, logger: silentLogger });
  const stopping = new AbortController();
  const opened = await openSource({
    operators: [sites],
    client: own.client,
    others: [{ name: 'east', client }],
    context: 'capstan',
    namespace: 'default',
    clock: systemClock,
    random: createRandom(3),
    logger: silentLogger,
    signal: stopping.signal,
    timeoutMs: 30_000,
    writes: true,
  });
  const source = () => opened.source;
  const server = await startConsole({ source, clock: systemClock, logger: silentLogger, host: '127.0.0.1', port: 0 });
  try {
    const login = await fetch(`${server.url}api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: server.createCode() }),
    });
    const { token } = (await login.json()) as { token: string };
    const get = async (path: string) => {
      const response = await fetch(server.url + path, { headers: { 'capstan-token': token } });
      return { status: response.status, text: await response.text() };
    };
    const objects = async (q: string) =>
      JSON.parse((await get(`api/objects?q=${encodeURIComponent(q)}`)).text) as Objects;
    while ((await objects('cluster:east')).rows.length < 2) await systemClock.yield();
    const found = await objects('cluster:east');
    assert.deepEqual(
      found.rows
        .map(({ id }) => id)
        .filter((id) => !id.includes('kubernetes'))
        .toSorted(),
      ['east/Service default/shop', `east/Site.${Site.group} default/home`],
    );
    assert.equal(found.rows.find(({ id }) => id.includes('Site'))?.operator, 'sites');
    assert.deepEqual(Object.keys((await objects('')).facets.cluster).toSorted(), ['-', 'east']);
    const graph = await get(`api/graph/east/Site.${Site.group}/default/home`);
    assert.equal(graph.status, 200);
    const object = await get('api/object/east/Service/default/shop');
    assert.match(object.text, /"name":"shop"/);
    const hidden = await get('api/object/east/Secret/default/token');
    assert.equal(hidden.status, 404);
    assert.doesNotMatch(hidden.text, /canary/);
    assert.deepEqual(transport.writes, []);
  } finally {
    stopping.abort();
    await server.close();
    await opened.stop();
    await Promise.all([own, east].map((one) => one.close()));
  }
});
