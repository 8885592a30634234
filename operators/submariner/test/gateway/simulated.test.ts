// Two members with simulated cables: everything but packets.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isForbidden, Secret, systemClock } from '@capstan/kube';
import { connectBroker } from '../../src/gateway/broker/broker-connection.ts';
import { renewToken } from '../../src/gateway/broker/broker-token.ts';
import { readConfiguration } from '../../src/gateway/configuration.ts';
import { BROKER_NAMESPACE, Cluster, Endpoint, Gateway, MEMBER_NAMESPACE } from '../../src/kinds/index.ts';
import { until } from '../until.ts';
import { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess } from './set.ts';

const place = { namespace: MEMBER_NAMESPACE };

describe('gateways of two clusters', () => {
  let set: ClusterSet;
  const gateways: GatewayProcess[] = [];
  const logs = () => gateways.map((each) => each.log().slice(-1500));
  const driverOf = async (member: string) =>
    (await connectionsOf(set, member))
      .map(({ usingCableDriver, usingPolicy }) => `${usingCableDriver} ${usingPolicy}`)
      .join();

  before(async () => {
    set = await createClusterSet({ east: ['env=production'], west: ['env=production'] });
    for (const member of ['east', 'west']) gateways.push(await set.gateway(member));
  });
  after(() => set?.close());

  test('find each other over the broker and are connected by the default policy', async () => {
    for (const member of ['east', 'west'])
      await until(`${member} is connected`, 30_000, async () => (await driverOf(member)) === 'vxlan default', logs);
    const { items } = await set.client('west').list(Endpoint, { namespace: MEMBER_NAMESPACE });
    assert.deepEqual(items.map(({ spec }) => spec.cluster_id).toSorted(), ['east', 'west']);
    const labels = (await set.client('west').get(Cluster, { namespace: MEMBER_NAMESPACE, name: 'east' })).metadata
      .labels;
    assert.equal(labels?.['env'], 'production');
  });

  test('follow a policy that is created on one of them within two seconds', async () => {
    const flags = [
      '--left-cluster-selector',
      'env=production',
      '--right-cluster-selector',
      'env=production',
      '--cable-driver',
      'ipsec',
    ];
    const { code, stderr } = await set.subctl(
      'cable-policy',
      'add',
      '--name',
      'on-prem-to-cloud',
      ...flags,
      '--context',
      'west',
    );
    assert.equal(code, 0, stderr);
    assert.match(stderr, /east - west: vxlan -> ipsec/);
    for (const member of ['east', 'west'])
      await until(`${member} follows`, 3000, async () => (await driverOf(member)) === 'ipsec on-prem-to-cloud', logs);
  });

  test('are shown by subctl, marked as simulated', async () => {
    // An end that has not heard of the other's decision yet reports that they differ.
    const isConnected = async () => (await connectionsOf(set, 'east'))[0]?.status === 'connected';
    await until('both ends agree', 5000, isConnected, logs);
    const shown = await set.subctl('show', 'connections', '--context', 'east');
    assert.match(shown.stdout, /gateway-east +west +\S+ +no +ipsec +on-prem-to-cloud +connected/);
    const gatewaysShown = await set.subctl('show', 'gateways', '--context', 'east');
    assert.match(gatewaysShown.stdout, /gateway-east +active +All connections \(1\) are established/);
    const explained = await set.subctl('cable-policy', 'explain', 'east', 'west', '-o', 'json', '--context', 'east');
    assert.equal((JSON.parse(explained.stdout) as { driver: string }).driver, 'ipsec');
    assert.equal((await connectionsOf(set, 'east'))[0]?.statusMessage, 'simulated: no packet passes');
  });

  test('report a broker that cannot be reached, and go on without it', async () => {
    const lost = await set.gateway('east', undefined, {
      node: 'lost',
      env: { BROKER_K8S_APISERVER: 'https://127.0.0.1:1' },
    });
    gateways.push(lost);
    const statusOf = async () => (await set.client('east').find(Gateway, { ...place, name: 'lost' }))?.status;
    await until(
      'it is reported',
      40_000,
      async () => /broker .* cannot be reached since/.test((await statusOf())?.statusFailure ?? ''),
      logs,
    );
    assert.equal((await statusOf())?.haStatus, 'passive');
    assert.equal((await connectionsOf(set, 'east'))[0]?.status, 'connected');
    await lost.kill('SIGTERM');
    assert.equal(await statusOf(), undefined, 'a gateway that ends removes its Gateway');
  });

  test('renew their token for the broker, each its own alone', async () => {
    const folder = join(set.folder, 'secrets-east', 'submariner-broker-secret');
    const configuration = readConfiguration({
      SUBMARINER_CLUSTERID: 'east',
      BROKER_K8S_APISERVER: set.brokerURL,
      BROKER_K8S_SECRET: 'submariner-broker-secret',
      SUBMARINER_SECRETS_DIR: join(set.folder, 'secrets-east'),
    });
    const broker = await connectBroker(configuration, systemClock);
    assert.ok(broker);
    try {
      const secret = { ...place, name: 'submariner-broker-secret' };
      const options = { broker: broker.client, client: set.client('east'), secret, folder };
      assert.equal(await renewToken({ ...options, clock: systemClock }), false, 'it is new');
      const later = Date.now() + 250 * 24 * 3_600_000;
      const clock = { ...systemClock, now: () => later };
      const before = readFileSync(join(folder, 'token'), 'utf8');
      assert.equal(await renewToken({ ...options, clock }), true);
      const { data } = await set.client('east').get(Secret, secret);
      const renewed = Buffer.from(data?.['token'] ?? '', 'base64').toString('utf8');
      assert.notEqual(renewed, before);
      // As a kubelet does: the connection takes up the new token without a restart.
      writeFileSync(join(folder, 'token'), renewed);
      assert.ok((await broker.client.list(Cluster, { namespace: BROKER_NAMESPACE })).items.length > 0);
      await assert.rejects(
        broker.client.request({
          method: 'POST',
          path: `/api/v1/namespaces/${BROKER_NAMESPACE}/serviceaccounts/cluster-west/token`,
          body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
        }),
        isForbidden,
      );
    } finally {
      await broker.close();
    }
  });

  test('go back when it is deleted on the other member', async () => {
    await set.subctl('cable-policy', 'delete', '--name', 'on-prem-to-cloud', '--context', 'east');
    for (const member of ['east', 'west'])
      await until(`${member} goes back`, 3000, async () => (await driverOf(member)) === 'vxlan default', logs);
  });
});
