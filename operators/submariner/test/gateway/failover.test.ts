// Two gateways of one cluster, one active and one passive, on real cables; and options that change while they run.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readRoutes } from '../../src/drivers/routes.ts';
import { Endpoint, Gateway, MEMBER_NAMESPACE } from '../../src/kinds/index.ts';
import { startTraffic } from '../cables/capture.ts';
import { ping } from '../cables/traffic.ts';
import { createUnderlay, skip, type TestGateway, type Underlay } from '../cables/underlay.ts';
import { until } from '../until.ts';
import { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess } from './set.ts';

/** Longer than in a cluster: on a busy machine a short Lease is lost without a reason, and this test measures no time. */
const LEASE = { LEADERSHIP_LEASEDURATION: '15', LEADERSHIP_RENEWDEADLINE: '10', LEADERSHIP_RETRYPERIOD: '1' };
/** Long enough for a busy machine; no test asserts it. */
const WAIT_MS = 120_000;
const place = { namespace: MEMBER_NAMESPACE };

describe('a cluster with two gateways', { skip }, () => {
  let underlay: Underlay;
  let set: ClusterSet;
  const processes = new Map<string, GatewayProcess>();
  const network = (id: string): TestGateway => {
    const found = underlay.gateways.find((each) => each.id === id);
    assert.ok(found);
    return found;
  };
  const options = (member: string) => join(set.folder, `options-${member}`);
  const start = async (member: string, id: string, env: Record<string, string> = {}) => {
    mkdirSync(options(member), { recursive: true });
    const more = { ...LEASE, SUBMARINER_CABLEDRIVERCUSTOMCONFIGPATH: options(member), ...env };
    processes.set(id, await set.gateway(member, network(id), { node: id, env: more }));
  };
  const states = async (member: string) => {
    const { items } = await set.client(member).list(Gateway, place);
    return items.map(({ metadata, status }) => `${metadata.name} ${status?.haStatus}`).join(', ');
  };
  const become = (what: string, ms: number, member: string, wanted: string) =>
    until(
      what,
      ms,
      async () => (await states(member)) === wanted,
      async () => [await states(member), [...processes].map(([id, each]) => [id, each.log().slice(-1500)])],
    );
  /** Where a member's cables lead, and in which state they are. */
  const cables = async (member: string) =>
    (await connectionsOf(set, member))
      .map(({ usingIP, status, usingNAT }) => `${usingIP} ${status}${usingNAT ? ' NAT' : ''}`)
      .join();
  const connected = (member: string, id: string) =>
    until(
      `${member} is connected to ${id}`,
      WAIT_MS,
      async () => (await cables(member)) === `${network(id).local.privateIP} connected`,
      async () => [
        await connectionsOf(set, member),
        [...processes].map(([name, each]) => [name, each.log().slice(-2000)]),
      ],
    );

  before(async () => {
    underlay = createUnderlay(['east1', 'east2', 'west'], { networkOf: (id) => (id === 'west' ? 2 : 1) });
    set = await createClusterSet({ east: [], west: [] });
    await start('east', 'east1');
    // Its public address leads nowhere: without NAT discovery it would be used.
    await start('west', 'west', { SUBMARINER_PUBLICIP: 'ipv4:172.31.200.200', SUBMARINER_NATENABLED: 'true' });
    await connected('east', 'west');
  });
  after(async () => {
    await set?.close();
    underlay?.close();
  });

  test('uses the private address of a gateway that answers there, and not its public one', async () => {
    const [connection] = await connectionsOf(set, 'east');
    assert.equal(connection?.endpoint.public_ip, '172.31.200.200');
    assert.deepEqual(await ping(network('east1'), network('west').address), { sent: 3, received: 3 });
    assert.deepEqual(await ping(network('east1'), network('west').address6), { sent: 3, received: 3 });
  });

  test('has one active gateway, and one that has no cables', async () => {
    await start('east', 'east2');
    await become('both are there', WAIT_MS, 'east', 'east1 active, east2 passive');
    const { items } = await set.client('east').list(Endpoint, place);
    const own = items.filter(({ spec }) => spec.cluster_id === 'east');
    assert.deepEqual(
      own.map(({ spec }) => spec.hostname),
      ['east1'],
    );
  });

  test('goes over to the other gateway when the active one dies, and the other cluster follows', async () => {
    await processes.get('east1')?.kill('SIGKILL');
    await become('east2 is active', WAIT_MS, 'east', 'east2 active');
    await connected('west', 'east2');
    assert.deepEqual(await ping(network('west'), network('east2').address), { sent: 3, received: 3 });
    const { items } = await set.client('west').list(Endpoint, place);
    const hosts = items.filter(({ spec }) => spec.cluster_id === 'east').map(({ spec }) => spec.hostname);
    assert.deepEqual(hosts, ['east2'], 'the Endpoint of the dead gateway is gone everywhere');
  });

  test('leaves the gateway active that took over, until it ends in order', async () => {
    await start('east', 'east1');
    await become('east1 is back', WAIT_MS, 'east', 'east1 passive, east2 active');
    await processes.get('east2')?.kill('SIGTERM');
    await become('east1 takes over', WAIT_MS, 'east', 'east1 active');
    await connected('west', 'east1');
    assert.deepEqual(await ping(network('west'), network('east1').address), { sent: 3, received: 3 });
    const routes = () => readRoutes(network('east2').host());
    assert.ok((await routes()).size > 0, 'its cables are left for its successor');
    await start('east', 'east2');
    await until('the next gateway on its node removes them', WAIT_MS, async () => (await routes()).size === 0);
  });

  test('names options that differ, and keeps the cable until both have them', async () => {
    const traffic = startTraffic(network('west'), network('east1').address, 20);
    await until('packets pass', WAIT_MS, () => Promise.resolve(traffic.received() > 10));
    writeFileSync(join(options('east'), 'vxlanID'), '100');
    const message = async () => (await connectionsOf(set, 'west'))[0]?.statusMessage ?? '';
    await until('it is named', WAIT_MS, async () =>
      /option vxlanID of vxlan differs: "100" in cluster "east", its default in cluster "west"/.test(await message()),
    );
    writeFileSync(join(options('west'), 'vxlanID'), '100');
    await connected('west', 'east1');
    await connected('east', 'west');
    const before = traffic.received();
    await until(
      'packets pass on the new link',
      WAIT_MS,
      () => Promise.resolve(traffic.received() > before + 25),
      async () => [await traffic.stop(), await ping(network('west'), network('east1').address), await cables('west')],
    );
    const { lostInARow } = await traffic.stop();
    // Less than 60 ms at one packet in 20 ms.
    assert.ok(lostInARow <= 2, `${lostInARow} packets in a row were lost`);
    const links = await network('west').host().query('ip', '-d', 'link', 'show', 'type', 'vxlan');
    assert.match(JSON.stringify(links), /"id":100/);
  });

  test('reports a wrong option, and leaves its cables as they are', async () => {
    const traffic = startTraffic(network('west'), network('east1').address, 20);
    await until('packets pass', WAIT_MS, () => Promise.resolve(traffic.received() > 10));
    writeFileSync(join(options('east'), 'mtu'), 'big');
    const failure = async () =>
      (await set.client('east').get(Gateway, { ...place, name: 'east1' })).status?.statusFailure ?? '';
    await until('it is reported', WAIT_MS, async () => /mtu: Invalid value: "big"/.test(await failure()));
    const before = traffic.received();
    await until('packets pass', WAIT_MS, () => Promise.resolve(traffic.received() > before + 100));
    assert.equal((await traffic.stop()).lost, 0);
    writeFileSync(join(options('east'), 'mtu'), '1300');
    await until('it is solved', WAIT_MS, async () => (await failure()) === '');
    await until('the route has it', WAIT_MS, async () => {
      const routes = await network('east1').host().query('ip', 'route', 'show', 'table', '100', 'proto', '144');
      return JSON.stringify(routes).includes('1300');
    });
    assert.deepEqual(await ping(network('west'), network('east1').address), { sent: 3, received: 3 });
  });
});
