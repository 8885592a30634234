// A load balancer is created, changed and deleted through the API of a real Octavia, and a discoverer follows.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Client, createClient, Service, silentLogger, systemClock } from '@capstan/kube';
import { createRedactor } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import { parseFlags } from '../../src/discover/command/flags.ts';
import { createDiscoverer, DEFAULT_SETTINGS } from '../../src/discover/discoverer.ts';
import { cloudOf } from '../../src/discover/openstack/open.ts';
import { createMetrics } from '../../src/discover/report/metrics.ts';
import { addressesOf, discovered, metric, namespace } from '../discover/stage.ts';
import { missing, startRealCloud } from './openstack.ts';

test('a discoverer follows a real Octavia', { skip: missing ?? false, timeout: 180_000 }, async (t) => {
  const cloud = await startRealCloud();
  t.after(() => cloud.close());
  const project = (await cloud.identity('POST', '/projects', { project: { name: 'team1', domain_id: 'default' } }))[
    'project'
  ];
  const subnet = '11111111-1111-4111-8111-111111111111';
  const balancer = { name: 'web:8080', project_id: project?.['id'], vip_subnet_id: subnet, vip_address: '192.0.2.10' };
  const id = (await cloud.balancer('POST', '/loadbalancers', { loadbalancer: balancer }))['loadbalancer']?.['id'] ?? '';
  const pool = { loadbalancer_id: id, protocol: 'HTTP', lb_algorithm: 'ROUND_ROBIN' };
  const poolId = (await cloud.balancer('POST', '/pools', { pool }))['pool']?.['id'] ?? '';
  const listener = { loadbalancer_id: id, protocol: 'HTTP', protocol_port: 80, default_pool_id: poolId };
  await cloud.balancer('POST', '/listeners', { listener });
  const add = async (address: string) => {
    const member = { address, protocol_port: 8080 };
    return (await cloud.balancer('POST', `/pools/${poolId}/members`, { member }))['member']?.['id'] ?? '';
  };
  const first = await add('10.0.0.5');
  await add('10.0.0.6');

  const secret = mkdtempSync(join(tmpdir(), 'gimbal-'));
  t.after(() => rmSync(secret, { recursive: true, force: true }));
  const keys = { username: 'admin', password: cloud.password, 'auth-url': cloud.authUrl, 'tenant-name': 'admin' };
  for (const [key, value] of Object.entries(keys)) writeFileSync(join(secret, key), value);
  const clock = systemClock;
  const local = await createTestCluster({ clock, random: createRandom(1) });
  t.after(() => local.close());
  await namespace(local.client, 'team1');
  const metrics = createMetrics({ backend: 'stack', type: 'openstack', version: 'test', clock });
  const given = parseFlags('openstack', [
    '--backend-name=stack',
    `--credentials-dir=${secret}`,
    '--reconciliation-period=1s',
    '--http-client-timeout=20s',
  ]);
  const source = cloudOf(given, {
    io: { env: {}, files: { read: (path) => readFile(path, 'utf8') } },
    clock,
    random: Math.random,
    logger: silentLogger,
    redactor: createRedactor(),
    metrics,
    settings: DEFAULT_SETTINGS,
  });
  const client = createClient({ transport: local.transport() });
  const parts = { clock, random: Math.random, logger: silentLogger, version: 'test', identity: 'one', metrics };
  const discoverer = createDiscoverer({
    ...parts,
    backend: 'stack',
    client,
    remote: source,
    settings: DEFAULT_SETTINGS,
  });
  const stopping = new AbortController();
  const done = discoverer.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await done;
  });

  const key = `team1/stack-${id}`;
  await eventually(async () => {
    assert.deepEqual(await discovered(local.client, 'stack'), [key]);
    assert.deepEqual(await addressesOf(local.client, key), ['10.0.0.5', '10.0.0.6']);
  });
  await cloud.balancer('DELETE', `/pools/${poolId}/members/${first}`);
  await cloud.balancer('PUT', `/loadbalancers/${id}`, { loadbalancer: { name: 'renamed' } });
  await eventually(async () => {
    assert.deepEqual(await addressesOf(local.client, key), ['10.0.0.6']);
    assert.equal(await labelOf(local.client, key), 'renamed');
  });
  assert.equal(metric(metrics, 'gimbal_discoverer_problems'), undefined);
  await cloud.balancer('DELETE', `/loadbalancers/${id}?cascade=true`);
  await eventually(async () => assert.deepEqual(await discovered(local.client, 'stack'), []));
});

async function labelOf(client: Client, key: string): Promise<string | undefined> {
  const [ns = '', name = ''] = key.split('/');
  const service = await client.get(Service, { namespace: ns, name });
  return service.metadata.labels?.['gimbal.heptio.com/load-balancer-name'];
}

/** Real programs take real time: looks again until it holds. */
async function eventually(check: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await check();
    } catch (error) {
      if (tries >= 150) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
