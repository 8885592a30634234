// The objects of the original Gimbal's discoverer are taken over: its Services stay, its Endpoints give way to slices, and objects without
// a counterpart are removed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, Endpoints, Service, type Transport } from '@capstan/kube';
import { addressesOf, createDiscoverStage, discovered, namespace, remoteService } from './stage.ts';

for (const family of ['gimbal.heptio.com', 'gimbal.projectcontour.io'])
  test(`Services and Endpoints of ${family} are taken over and pruned, and no Endpoints stay beside slices`, async () => {
    const stage = await createDiscoverStage();
    try {
      await namespace(stage.local.client, 'team');
      await namespace(stage.remote.client, 'team');
      await remoteService(stage.remote.client, 'team/web', ['10.0.0.1']);
      await upstream(stage.local.client, family, 'web');
      await upstream(stage.local.client, family, 'gone');
      const before = await stage.local.client.get(Service, { namespace: 'team', name: 'east-web' });
      await foreign(stage.local.client);
      stage.start();
      await stage.settle();
      assert.deepEqual(await discovered(stage.local.client), ['team/east-web']);
      const after = await stage.local.client.get(Service, { namespace: 'team', name: 'east-web' });
      assert.equal(after.metadata.uid, before.metadata.uid, 'it is the same Service');
      assert.deepEqual(await addressesOf(stage.local.client, 'team/east-web'), ['10.0.0.1']);
      assert.deepEqual(await endpointsIn(stage.local.client), ['other'], 'only those of another owner are left');
    } finally {
      await stage.end();
    }
  });

test('Endpoints of its own are kept and corrected with --write-endpoints', async () => {
  const stage = await createDiscoverStage();
  try {
    await namespace(stage.local.client, 'team');
    await namespace(stage.remote.client, 'team');
    await remoteService(stage.remote.client, 'team/web', ['10.0.0.1']);
    await upstream(stage.local.client, 'gimbal.heptio.com', 'web');
    stage.start({ settings: { writeEndpoints: true } });
    await stage.settle();
    const found = await stage.local.client.get(Endpoints, { namespace: 'team', name: 'east-web' });
    assert.deepEqual(
      found.subsets?.[0]?.addresses?.map(({ ip }) => ip),
      ['10.0.0.1'],
    );
    assert.equal(found.metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'], 'true');
  } finally {
    await stage.end();
  }
});

test('a discoverer that may not list Endpoints goes on without them', async () => {
  const stage = await createDiscoverStage();
  try {
    await namespace(stage.local.client, 'team');
    await namespace(stage.remote.client, 'team');
    await remoteService(stage.remote.client, 'team/web', ['10.0.0.1']);
    const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'no rule allows it' };
    const localTransport = (inner: Transport): Transport => ({
      ...inner,
      request: (request) =>
        /\/endpoints\b/.test(request.path)
          ? Promise.resolve({ status: 403, headers: { 'content-type': 'application/json' }, body })
          : inner.request(request),
    });
    stage.start({ localTransport });
    await stage.settle();
    assert.deepEqual(await addressesOf(stage.local.client, 'team/east-web'), ['10.0.0.1']);
  } finally {
    await stage.end();
  }
});

/** As its discoverer writes them: labels of one family, no annotation, an old address. */
async function upstream(client: Client, family: string, name: string): Promise<void> {
  const metadata = {
    namespace: 'team',
    name: `east-${name}`,
    labels: { [`${family}/backend`]: 'east', [`${family}/service`]: name },
  };
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { type: 'ClusterIP', clusterIP: 'None', ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  });
  const subsets = [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }];
  await client.create(Endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
}

async function foreign(client: Client): Promise<void> {
  await client.create(Endpoints, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'team', name: 'other', labels: { 'gimbal.heptio.com/backend': 'east' } },
  });
}

async function endpointsIn(client: Client): Promise<(string | undefined)[]> {
  const { items } = await client.list(Endpoints, { namespace: 'team' });
  return items.map(({ metadata }) => metadata.name);
}
