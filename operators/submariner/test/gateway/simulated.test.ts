// Two members with simulated cables: everything but packets.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Cluster, Endpoint, MEMBER_NAMESPACE } from '../../src/kinds/index.ts';
import { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess, until } from './set.ts';

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
    const shown = await set.subctl('show', 'connections', '--context', 'east');
    assert.match(shown.stdout, /gateway-east +west +\S+ +no +ipsec +on-prem-to-cloud +connected/);
    const gatewaysShown = await set.subctl('show', 'gateways', '--context', 'east');
    assert.match(gatewaysShown.stdout, /gateway-east +active +All connections \(1\) are established/);
    const explained = await set.subctl('cable-policy', 'explain', 'east', 'west', '-o', 'json', '--context', 'east');
    assert.equal((JSON.parse(explained.stdout) as { driver: string }).driver, 'ipsec');
    assert.equal((await connectionsOf(set, 'east'))[0]?.statusMessage, 'simulated: no packet passes');
  });

  test('go back when it is deleted on the other member', async () => {
    await set.subctl('cable-policy', 'delete', '--name', 'on-prem-to-cloud', '--context', 'east');
    for (const member of ['east', 'west'])
      await until(`${member} goes back`, 3000, async () => (await driverOf(member)) === 'vxlan default', logs);
  });
});
