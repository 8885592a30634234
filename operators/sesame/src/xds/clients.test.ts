import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { RESOURCE_TYPES, type Struct, typeUrl } from '../envoy/index.ts';
import type { DiscoveryMethod } from './discovery-stream.ts';
import { placeMetadata } from './listener-place.ts';
import { cluster, createXdsStage, endpoints, listener, put, routes } from './xds.test-support.ts';
import { connectXds, type XdsClient } from './xds-client.ts';

const METHODS: Readonly<Record<string, DiscoveryMethod>> = {
  'state of the world': { type: 'cds', isDelta: false },
  delta: { type: 'cds', isDelta: true },
  'the aggregated stream': { type: undefined, isDelta: false },
  'the aggregated delta stream': { type: undefined, isDelta: true },
};
const CDS = typeUrl('cds');

function another(context: TestContext, port: number, metadata?: Struct): XdsClient {
  const client = connectXds({ host: '127.0.0.1', port, nodeId: 'envoy-1', ...(metadata && { metadata }) });
  context.after(() => client.close());
  return client;
}

suite('two clients that name the same node', () => {
  for (const [name, method] of Object.entries(METHODS))
    test(`a refusal of one of them keeps nothing from the other, with ${name}`, async (context) => {
      const { store, server, client } = await createXdsStage(context);
      put(store, cluster('shop', 1));
      const refusing = client.open(method);
      refusing.request({ type_url: CDS });
      refusing.ack(await refusing.next());
      const good = another(context, server.port).open(method);
      good.request({ type_url: CDS });
      good.ack(await good.next());
      await client.roundTrip();
      put(store, cluster('shop', 2));
      refusing.nack(await refusing.next(), 'it is refused');
      await client.roundTrip();
      const edited = await good.next();
      assert.equal(edited.resources.get('shop')?.['connect_timeout'], '2s');
      good.ack(edited);
      put(store, cluster('other', 1));
      const later = await good.next();
      assert.ok(later.resources.has('other'));
      assert.notEqual(later.resources.get('shop')?.['connect_timeout'], '1s', 'it gets no version that it replaced');
      const [report, ...more] = server.reports();
      assert.deepEqual([report?.node, report?.streams, more.length], ['envoy-1', 2, 0], 'one report names the node');
      assert.deepEqual(
        report?.rejections.map(({ key }) => key),
        ['cds/shop'],
      );
    });

  test('a client that refuses everything of every type keeps nothing from the other', async (context) => {
    const { store, server, client } = await createXdsStage(context);
    const fill = (version: number) =>
      put(
        store,
        cluster('shop', version),
        endpoints('shop-endpoints', version),
        routes('shop', 'shop', `/${version}`),
        listener('shop', version, 'shop'),
      );
    fill(1);
    const urls = RESOURCE_TYPES.map(typeUrl);
    const names = { 'shop-endpoints': true, shop: true };
    const open = (each: XdsClient) => {
      const stream = each.open({ type: undefined, isDelta: true });
      for (const type_url of urls)
        stream.request({
          type_url,
          resource_names_subscribe: /Cluster$|Listener$/.test(type_url) ? ['*'] : Object.keys(names),
        });
      return stream;
    };
    const refusing = open(client);
    const good = open(another(context, server.port));
    const seen = new Map<string, string>();
    const refuse = async () => {
      for (;;) refusing.nack(await refusing.next(), 'no');
    };
    refuse().catch(() => undefined);
    const read = async () => {
      for (;;) {
        const response = await good.next();
        for (const [name, value] of response.resources) seen.set(`${response.typeUrl} ${name}`, JSON.stringify(value));
        good.ack(response);
      }
    };
    read().catch(() => undefined);
    for (let version = 2; version < 30; version += 1) {
      fill(version);
      const isThere = () =>
        seen.get(`${CDS} shop`)?.includes(`"${version}s"`) &&
        seen.get(`${typeUrl('eds')} shop-endpoints`)?.includes(`"port_value":${version}`) &&
        seen.get(`${typeUrl('rds')} shop`)?.includes(`"/${version}"`) &&
        seen.get(`${typeUrl('lds')} shop`)?.includes(`"port_value":${version}`);
      while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
    }
  });

  for (const isDelta of [false, true])
    test(`aggregated streams of one connection are clients of their own (${isDelta ? 'delta' : 'state of the world'})`, async (context) => {
      const { store, server, client } = await createXdsStage(context);
      put(store, cluster('shop', 1));
      const open = async () => {
        const stream = client.open({ type: undefined, isDelta });
        stream.request({ type_url: CDS });
        stream.ack(await stream.next());
        await client.roundTrip();
        return stream;
      };
      const [refusing, good] = [await open(), await open()];
      assert.equal(server.statistics().nodes, 2);
      put(store, cluster('shop', 2));
      refusing.nack(await refusing.next(), 'it is refused');
      assert.equal((await good.next()).resources.get('shop')?.['connect_timeout'], '2s');
      good.close();
      await client.roundTrip();
      assert.equal(server.statistics().nodes, 1, 'the first goes on alone');
      const third = await open();
      assert.equal(server.statistics().nodes, 2);
      third.close();
      refusing.close();
      await client.roundTrip();
      assert.equal(server.statistics().nodes, 0);
    });

  test('each has its listeners at its own place', async (context) => {
    const { store, server, client } = await createXdsStage(context);
    put(store, listener('shop', 8080, 'shop'));
    const method = { type: 'lds', isDelta: false } as const;
    const first = client.open(method);
    first.request({});
    assert.match(JSON.stringify([...(await first.next()).resources]), /"127\.0\.0\.1"/);
    const moved = another(context, server.port, placeMetadata({ address: '127.64.0.9' }) as Struct);
    const other = moved.open({ type: 'eds', isDelta: false });
    other.request({ resource_names: ['none'] });
    await other.next();
    assert.equal(server.statistics().nodes, 2);
    const second = moved.open(method);
    second.request({});
    assert.match(JSON.stringify([...(await second.next()).resources]), /"127\.64\.0\.9"/);
  });
});

suite('a client with several connections', () => {
  test('its streams are one client: what it accepts on one connection releases what another waits for', async (context) => {
    const { store, server, client } = await createXdsStage(context);
    const more = another(context, server.port);
    put(store, cluster('shop'), endpoints('shop-endpoints', 1), routes('shop', 'shop'));
    const clusters = client.open({ type: 'cds', isDelta: false });
    clusters.request({});
    clusters.ack(await clusters.next());
    const rds = more.open({ type: 'rds', isDelta: false });
    rds.request({ resource_names: ['shop'] });
    rds.ack(await rds.next(), ['shop']);
    const eds = more.open({ type: 'eds', isDelta: false });
    eds.request({ resource_names: ['shop-endpoints'] });
    eds.ack(await eds.next(), ['shop-endpoints']);
    await more.roundTrip();
    assert.equal(server.statistics().nodes, 1);
    put(store, cluster('new'), endpoints('new-endpoints', 2), routes('shop', 'new'));
    const added = await clusters.next();
    await more.roundTrip();
    assert.equal(rds.pending, 0, 'routes wait for their cluster');
    clusters.ack(added);
    eds.request({ resource_names: ['shop-endpoints', 'new-endpoints'], response_nonce: '1', version_info: 'x' });
    eds.ack(await eds.next(), ['shop-endpoints', 'new-endpoints']);
    assert.match(JSON.stringify([...(await rds.next()).resources]), /"new"/);
  });

  test('a client that comes back before its old connection ends begins as a new one', async (context) => {
    const { store, server, client } = await createXdsStage(context);
    put(store, cluster('shop', 1));
    const old = client.open({ type: undefined, isDelta: true });
    old.request({ type_url: CDS });
    await old.next();
    const back = another(context, server.port).open({ type: undefined, isDelta: true });
    back.request({ type_url: CDS });
    back.ack(await back.next());
    // The old connection has not answered, and is waited for by none.
    put(store, cluster('shop', 2));
    assert.equal((await back.next()).resources.get('shop')?.['connect_timeout'], '2s');
    old.close();
    await client.roundTrip();
    while (server.statistics().nodes > 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(
      server.reports().map(({ streams }) => streams),
      [1],
    );
  });

  test('a connection whose streams name a thousand nodes leaves nothing behind', async (context) => {
    const { store, server, client } = await createXdsStage(context);
    put(store, cluster('shop'));
    for (let at = 0; at < 1_000; at += 1) {
      const stream = client.open({ type: 'cds', isDelta: false });
      stream.request({ node: { id: `node-${at}` } });
      await stream.next();
      stream.close();
    }
    await client.roundTrip();
    while (server.statistics().nodes > 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(server.reports(), []);
  });
});
