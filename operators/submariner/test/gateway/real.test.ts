// The whole of it on real cables: three clusters that joined by subctl, gateways as processes in network namespaces.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readRejected } from '../../src/drivers/routes.ts';
import { Cluster, MEMBER_NAMESPACE, Submariner } from '../../src/kinds/index.ts';
import { type Capture, routeEverything, startCapture, startTraffic } from '../cables/capture.ts';
import { ping, pingOutage } from '../cables/traffic.ts';
import { createUnderlay, skip, type TestGateway, type Underlay } from '../cables/underlay.ts';
import { until } from '../until.ts';
import { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess } from './set.ts';

const MEMBERS = ['east', 'west', 'north'] as const;

describe('three clusters on real cables', { skip }, () => {
  let underlay: Underlay;
  let set: ClusterSet;
  let capture: Capture;
  const gateways = new Map<string, GatewayProcess>();
  const network = (member: string): TestGateway => {
    const found = underlay.gateways.find(({ id }) => id === member);
    assert.ok(found);
    return found;
  };
  /** With the usual times of Leases: takeovers are not measured here, and a busy machine renews a short Lease too late. */
  const start = (member: string) =>
    set.gateway(member, network(member), {
      env: { LEADERSHIP_LEASEDURATION: '15', LEADERSHIP_RENEWDEADLINE: '10', LEADERSHIP_RETRYPERIOD: '2' },
    });
  const logs = () => [...gateways.values()].map((each) => each.log().slice(-1500));
  const states = async (member: string) =>
    (await connectionsOf(set, member))
      .map(({ endpoint, usingCableDriver, status }) => `${endpoint.cluster_id} ${usingCableDriver} ${status}`)
      .toSorted()
      .join(', ');
  const become = (member: string, wanted: string, ms = 30_000) =>
    until(
      `${member}: ${wanted}`,
      ms,
      async () => (await states(member)) === wanted,
      async () => [await states(member), await connectionsOf(set, member), logs()],
    );
  const label = (member: string, labels: Record<string, string>) =>
    set.client(member).patch(Cluster, { namespace: MEMBER_NAMESPACE, name: member }, 'merge', { metadata: { labels } });

  before(async () => {
    underlay = createUnderlay(MEMBERS);
    set = await createClusterSet({
      east: ['location=cloud'],
      west: ['location=on-premise'],
      north: ['location=cloud'],
    });
    for (const member of MEMBERS) gateways.set(member, await start(member));
    routeEverything(underlay);
    capture = await startCapture(underlay);
  });
  after(async () => {
    await capture?.stop();
    await set?.close();
    underlay?.close();
  });

  test('are connected by the default policy, with latencies', async () => {
    // Three gateways start at once, each from its sources.
    await become('east', 'north vxlan connected, west vxlan connected', 60_000);
    await become('west', 'east vxlan connected, north vxlan connected', 60_000);
    for (const [from, to] of [
      ['east', 'west'],
      ['west', 'north'],
      ['north', 'east'],
    ] as const)
      assert.deepEqual(await ping(network(from), network(to).address), { sent: 3, received: 3 });
    await until('a latency is known', 10_000, async () =>
      (await connectionsOf(set, 'east')).every(({ latencyRTT }) => latencyRTT?.average !== undefined),
    );
  });

  test('follow a policy: only the pairs that it concerns are re-cabled, on both ends', async () => {
    const switched = startTraffic(network('east'), network('west').address, 20);
    const other = ping(network('east'), network('north').address, { count: 250, intervalMs: 20 });
    const selectors = ['--left-cluster-selector', 'location=on-premise', '--right-cluster-selector', 'location=cloud'];
    const { code, stderr } = await set.subctl(
      'cable-policy',
      'add',
      '--name',
      'on-prem',
      ...selectors,
      '--cable-driver',
      'ipsec',
      '--context',
      'north',
    );
    assert.equal(code, 0, stderr);
    await become('east', 'north vxlan connected, west ipsec connected', 15_000);
    await become('west', 'east ipsec connected, north ipsec connected', 15_000);
    await become('north', 'east vxlan connected, west ipsec connected', 15_000);
    assert.deepEqual(await other, { sent: 250, received: 250 }, 'the other pair loses nothing');
    const { clear } = capture.count();
    assert.ok(clear > 0, 'packets were in clear before');
    const received = switched.received();
    await until('packets pass encrypted', 10_000, () => Promise.resolve(switched.received() > received + 50));
    const { outageMs } = await switched.stop();
    assert.equal(capture.count().clear, clear, 'no packet is in clear any more');
    // From clear to encrypted, packets are rejected from the first end that knows the policy until the tunnel is up. The other
    // end opens it after its patience of 3 s at the latest.
    assert.ok(outageMs < 5000, `no answer for ${outageMs} ms`);
  });

  test('follow a label: a cluster that moves to the cloud gets the cloud’s cable', async () => {
    await label('west', { location: 'cloud' });
    await become('east', 'north vxlan connected, west vxlan connected', 15_000);
    await become('north', 'east vxlan connected, west vxlan connected', 15_000);
    await label('west', { location: 'on-premise' });
    await become('east', 'north vxlan connected, west ipsec connected', 15_000);
    await become('west', 'east ipsec connected, north ipsec connected', 15_000);
    await become('north', 'east vxlan connected, west ipsec connected', 15_000);
  });

  test('carry on when a gateway is killed, and its successor adopts its cables without a loss', async () => {
    const pings = ['west', 'north'].map((to) =>
      ping(network('east'), network(to).address, { count: 400, intervalMs: 20 }),
    );
    await gateways.get('east')?.kill('SIGKILL');
    gateways.set('east', await start('east'));
    for (const each of await Promise.all(pings)) assert.deepEqual(each, { sent: 400, received: 400 });
    // Its lease must expire before the next process may act.
    await become('east', 'north vxlan connected, west ipsec connected', 45_000);
    const more = ['west', 'north'].map((to) =>
      ping(network('east'), network(to).address, { count: 100, intervalMs: 20 }),
    );
    for (const each of await Promise.all(more)) assert.deepEqual(each, { sent: 100, received: 100 });
  });

  test('are replaced in order without a loss: a gateway that is stopped leaves its cables to its successor', async () => {
    const pings = ['west', 'north'].map((to) =>
      pingOutage(network('east'), network(to).address, { count: 2000, intervalMs: 5 }),
    );
    await gateways.get('east')?.kill('SIGTERM');
    gateways.set('east', await start('east'));
    // The time that a process needs to start does not count: packets pass meanwhile.
    await become('east', 'north vxlan connected, west ipsec connected', 45_000);
    for (const { received } of await Promise.all(pings)) assert.ok(received >= 1995, `${received} of 2,000 answers`);
  });

  test('leave nothing behind when Submariner is uninstalled', async () => {
    await set.client('north').delete(Submariner, { namespace: MEMBER_NAMESPACE, name: 'submariner' });
    await until('the gateway has seen it', 10_000, async () => {
      const found = await set.client('north').find(Submariner, { namespace: MEMBER_NAMESPACE, name: 'submariner' });
      return found === undefined || found.metadata.deletionTimestamp !== undefined;
    });
    await gateways.get('north')?.kill('SIGTERM');
    const host = network('north').host();
    const links = (await host.query('ip', 'link', 'show')).map(({ ifname }) => String(ifname));
    assert.deepEqual(links.toSorted(), ['cni0', 'lo', 'veth0']);
    assert.deepEqual([...(await readRejected(host))], []);
    assert.deepEqual(await host.query('ip', 'rule', 'show', 'pref', '100'), []);
    assert.equal(existsSync(join(network('north').runDir, 'backstop.json')), false);
  });
});
