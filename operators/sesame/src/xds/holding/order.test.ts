import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { typeUrl } from '../../envoy/index.ts';
import {
  cluster,
  createXdsStage,
  endpoints,
  put,
  routes,
  type Stage,
  startSlowConnection,
} from '../xds.test-support.ts';
import { connectXds, type XdsClient } from '../xds-client.ts';

const world = (type: 'cds' | 'eds' | 'lds' | 'rds' | 'sds') => ({ type, isDelta: false });
const ADS = { type: undefined, isDelta: false };
const DELTA_ADS = { type: undefined, isDelta: true };

suite('order', () => {
  test('a route on the aggregated stream waits until its new cluster and endpoints are acknowledged', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), endpoints('a-endpoints', 1), routes('r', 'a'));
    const stream = client.open(ADS);
    stream.request({ type_url: typeUrl('cds') });
    stream.ack(await stream.next());
    stream.request({ type_url: typeUrl('eds'), resource_names: ['a-endpoints'] });
    stream.ack(await stream.next(), ['a-endpoints']);
    stream.request({ type_url: typeUrl('rds'), resource_names: ['r'] });
    stream.ack(await stream.next(), ['r']);

    put(store, routes('r', 'b'), cluster('b'), endpoints('b-endpoints', 2));
    const clusters = await stream.next();
    assert.equal(clusters.typeUrl, typeUrl('cds'));
    stream.ack(clusters);
    stream.request({ type_url: typeUrl('eds'), resource_names: ['a-endpoints', 'b-endpoints'], response_nonce: '2' });
    const assignments = await stream.next();
    assert.equal(assignments.typeUrl, typeUrl('eds'));
    assert.equal(stream.pending, 0);
    stream.ack(assignments, ['a-endpoints', 'b-endpoints']);
    assert.equal((await stream.next()).typeUrl, typeUrl('rds'));
  });

  for (const isDelta of [false, true])
    test(`${isDelta ? 'delta' : 'state of the world'}: a new cluster gets endpoints that another has already, and its route waits for them`, async (context) => {
      const { store, client } = await createXdsStage(context);
      put(store, cluster('a'), endpoints('a-endpoints', 1), routes('r', 'a'));
      const stream = client.open({ type: undefined, isDelta });
      const ask = (type: 'cds' | 'eds' | 'rds', name?: string) => {
        const names = name === undefined ? [] : [name];
        stream.request({
          type_url: typeUrl(type),
          ...(isDelta ? { resource_names_subscribe: names } : { resource_names: names }),
        });
      };
      ask('cds');
      stream.ack(await stream.next());
      ask('eds', 'a-endpoints');
      stream.ack(await stream.next(), ['a-endpoints']);
      ask('rds', 'r');
      stream.ack(await stream.next(), ['r']);

      // As Envoy does, the client asks for no endpoints that it knows.
      put(store, routes('r', 'b'), cluster('b', 2, 'a-endpoints'));
      const clusters = await stream.next();
      assert.equal(clusters.typeUrl, typeUrl('cds'));
      const assignments = await stream.next();
      assert.deepEqual([assignments.typeUrl, ...assignments.resources.keys()], [typeUrl('eds'), 'a-endpoints']);
      stream.ack(clusters);
      assert.equal(stream.pending, 0);
      stream.ack(assignments, ['a-endpoints']);
      assert.equal((await stream.next()).typeUrl, typeUrl('rds'));
    });

  test('endpoints of an older cluster are no evidence about a new one on separate streams', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), endpoints('a-endpoints', 1), routes('r', 'a'));
    const open = async (type: 'cds' | 'eds' | 'rds', name?: string) => {
      const stream = client.open(world(type));
      stream.request(name === undefined ? {} : { resource_names: [name] });
      stream.ack(await stream.next(), name === undefined ? [] : [name]);
      return stream;
    };
    const clusters = await open('cds');
    const older = await open('eds', 'a-endpoints');
    const routeStream = await open('rds', 'r');
    put(store, routes('r', 'b'), cluster('b', 2, 'a-endpoints'));
    clusters.ack(await clusters.next());
    put(store, endpoints('a-endpoints', 2));
    older.ack(await older.next(), ['a-endpoints']);
    // Another response on the connection: earlier ones have arrived.
    await open('eds', 'unrelated');
    assert.equal(routeStream.pending, 0);
    await open('eds', 'a-endpoints');
    assert.equal((await routeStream.next()).resources.size, 1);
  });

  test('a route on separate streams waits for all new clusters with the same endpoints', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), endpoints('a-endpoints', 1), endpoints('shared', 1), routes('r', 'a'));
    const open = async (type: 'cds' | 'eds' | 'rds', name?: string) => {
      const stream = client.open(world(type));
      stream.request(name === undefined ? {} : { resource_names: [name] });
      stream.ack(await stream.next(), name === undefined ? [] : [name]);
      await client.roundTrip();
      return stream;
    };
    const clusters = await open('cds');
    await open('eds', 'a-endpoints');
    const routeStream = await open('rds', 'r');
    for (const name of ['b', 'c']) {
      put(store, routes('r', name), cluster(name, 2, 'shared'));
      clusters.ack(await clusters.next());
    }
    // As Envoy does when it has much to do: the stream is that of the first of the two clusters, and comes late.
    const first = await open('eds', 'shared');
    assert.equal(routeStream.pending, 0);
    // The first cluster goes, and its stream with it.
    first.close();
    await client.roundTrip();
    assert.equal(routeStream.pending, 0);
    await open('eds', 'shared');
    assert.match(JSON.stringify([...(await routeStream.next()).resources.values()]), /"cluster":"c"/);
  });

  test('a route configuration that changes again while it is held still waits for what it was held for', async (context) => {
    const stage = await createXdsStage(context);
    const { clusters, routeStream, added } = await withHeldRoute(stage, stage.client);
    // A composed one names the clusters of the hosts that changed last.
    put(stage.store, routes('r', 'a', '/other'));
    await stage.client.roundTrip();
    assert.equal(routeStream.pending, 0);
    clusters.ack(added);
    const assignments = stage.client.open(world('eds'));
    assignments.request({ resource_names: ['b-endpoints'] });
    const response = await assignments.next();
    assert.equal(routeStream.pending, 0);
    assignments.ack(response, ['b-endpoints']);
    assert.match(JSON.stringify([...(await routeStream.next()).resources.values()]), /"prefix":"\/other"/);
  });

  test('a cluster on separate streams of one node goes only after the routes that used it', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'), endpoints('a-endpoints', 1), endpoints('b-endpoints', 1), routes('r', 'a'));
    const clusters = client.open(world('cds'));
    clusters.request({});
    clusters.ack(await clusters.next());
    const routeStream = client.open(world('rds'));
    routeStream.request({ resource_names: ['r'] });
    routeStream.ack(await routeStream.next(), ['r']);

    // A new cluster too: the response with it must not leave out the one that is still used.
    store.take([
      ['cds/a', undefined],
      ['cds/c', cluster('c')],
      ['rds/r', routes('r', 'b')],
    ]);
    const added = await clusters.next();
    assert.deepEqual([...added.resources.keys()].sort(), ['a', 'b', 'c']);
    const changed = await routeStream.next();
    clusters.ack(added);
    assert.equal(clusters.pending, 0);
    routeStream.ack(changed, ['r']);
    assert.deepEqual([...(await clusters.next()).resources.keys()].sort(), ['b', 'c']);
  });

  test('an answer is compared with what waits for it, not with everything that is held', async (context) => {
    // Time does not go on: with it everything that is held is reviewed.
    const { store, client } = await createXdsStage(context, { clock: createVirtualClock() });
    const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    put(store, cluster('a'));
    const stream = client.open(DELTA_ADS);
    stream.request({ type_url: typeUrl('cds') });
    stream.ack(await stream.next());
    stream.request({ type_url: typeUrl('rds'), resource_names_subscribe: names });
    stream.ack(await stream.next());
    await client.roundTrip();
    put(store, ...names.map((name) => endpoints(`${name}-endpoints`, 1)));
    put(store, ...names.flatMap((name) => [cluster(name), routes(name, name)]));
    stream.ack(await stream.next());
    stream.request({ type_url: typeUrl('eds'), resource_names_subscribe: ['n7-endpoints'] });
    const assigned = await stream.next();
    let looks = 0;
    const { get } = store;
    Object.assign(store, { get: (key: string) => ((looks += 1), get(key)) });
    stream.ack(assigned);
    assert.deepEqual([...(await stream.next()).resources.keys()], ['n7']);
    assert.ok(looks < 20, `${looks} resources were looked at`);
  });

  test('a client that acknowledges nothing at all gets the route after a minute, which is counted', async (context) => {
    const clock = createVirtualClock();
    const stage = await createXdsStage(context, { clock });
    const { routeStream } = await withHeldRoute(stage, stage.client);
    for (let waited = 0; waited < 60; waited += 5) {
      assert.equal(routeStream.pending, 0, `after ${waited} s`);
      await clock.advance(5_000);
      await stage.client.roundTrip();
    }
    assert.deepEqual([...(await routeStream.next()).resources.keys()], ['r']);
    assert.equal(stage.server.statistics().overdue, 1);
  });

  test('a client that answers other things and not a cluster waits for it, however long', async (context) => {
    const clock = createVirtualClock();
    const stage = await createXdsStage(context, { clock });
    const { routeStream, clusters, added } = await withHeldRoute(stage, stage.client);
    const other = stage.client.open(world('eds'));
    put(stage.store, endpoints('other', 1));
    other.request({ resource_names: ['other'] });
    other.ack(await other.next(), ['other']);
    for (let port = 2; port < 12; port += 1) {
      await clock.advance(20_000);
      put(stage.store, endpoints('other', port));
      other.ack(await other.next(), ['other']);
    }
    await stage.client.roundTrip();
    assert.equal(routeStream.pending, 0);
    // A cluster that is refused is not waited for.
    clusters.nack(added, 'Error adding/updating cluster(s) b: it is bad');
    assert.deepEqual([...(await routeStream.next()).resources.keys()], ['r']);
    assert.equal(stage.server.statistics().overdue, 0);
  });

  test('a removal waits for the routes that were under way, not for those that come later', async (context) => {
    const stage = await createXdsStage(context, { clock: createVirtualClock() });
    const { store, client } = stage;
    put(store, cluster('a'), cluster('b'), routes('r', 'a'), routes('busy', 'b'));
    const clusters = client.open(world('cds'));
    clusters.request({});
    clusters.ack(await clusters.next());
    const open = async (name: string) => {
      const stream = client.open(world('rds'));
      stream.request({ resource_names: [name] });
      stream.ack(await stream.next(), [name]);
      return stream;
    };
    const [changing, busy] = [await open('r'), await open('busy')];
    await client.roundTrip();
    store.take([
      ['cds/a', undefined],
      ['rds/r', routes('r', 'b')],
    ]);
    const changed = await changing.next();
    // Another route changes all the time.
    put(store, routes('busy', 'b', '/1'));
    const unanswered = await busy.next();
    assert.equal(clusters.pending, 0);
    changing.ack(changed, ['r']);
    assert.deepEqual([...(await clusters.next()).resources.keys()], ['b']);
    busy.ack(unanswered, ['busy']);
  });

  test('thousands of removals are not looked at for each answer', async (context) => {
    const { store, client } = await createXdsStage(context, { clock: createVirtualClock() });
    const names = Array.from({ length: 2_000 }, (_, index) => `n${index}`);
    const every = names.slice(0, 200);
    put(store, endpoints('next-endpoints', 1), cluster('next'));
    put(store, ...names.map((name) => cluster(name)), ...every.map((name) => routes(name, name)));
    const stream = client.open(DELTA_ADS);
    stream.request({ type_url: typeUrl('cds') });
    stream.ack(await stream.next());
    stream.request({ type_url: typeUrl('eds'), resource_names_subscribe: ['next-endpoints'] });
    stream.ack(await stream.next());
    stream.request({ type_url: typeUrl('rds'), resource_names_subscribe: every });
    stream.ack(await stream.next());
    await client.roundTrip();
    store.take([
      ...names.map((name) => [`cds/${name}`, undefined] as const),
      ...every.map((name) => [`rds/${name}`, routes(name, 'next')] as const),
    ]);
    let looks = 0;
    const { get } = store;
    Object.assign(store, { get: (key: string) => ((looks += 1), get(key)) });
    const changed = await stream.next();
    // One more route is under way all the time; its answers concern no removal.
    for (let path = 0; path < 20; path += 1) {
      put(store, routes('n0', 'next', `/${path}`));
      stream.ack(await stream.next());
    }
    await client.roundTrip();
    assert.ok(looks < 1_000, `${looks} resources were looked at`);
    stream.ack(changed);
    assert.equal((await stream.next()).removed.length, 2_000);
  });

  test('a client that does not run gets no route before it has acknowledged the cluster', async (context) => {
    const clock = createVirtualClock();
    const stage = await createXdsStage(context, { clock });
    const connection = await startSlowConnection(context, stage.server.port);
    const client = connectXds({ host: '127.0.0.1', port: connection.port, nodeId: 'envoy-2' });
    context.after(() => client.close());
    const { clusters, routeStream, added } = await withHeldRoute(stage, client);
    connection.halt();
    for (let seconds = 0; seconds < 55; seconds += 1) await clock.advance(1_000);
    connection.resume();
    await client.roundTrip();
    assert.equal(routeStream.pending, 0);
    clusters.ack(added);
    const assignments = client.open(world('eds'));
    assignments.request({ resource_names: ['b-endpoints'] });
    const response = await assignments.next();
    assert.equal(routeStream.pending, 0);
    assignments.ack(response, ['b-endpoints']);
    assert.deepEqual([...(await routeStream.next()).resources.keys()], ['r']);
  });
});

/** A client with a cluster and a route, and another cluster sent whose route waits for it. */
async function withHeldRoute({ store }: Stage, client: XdsClient) {
  put(store, cluster('a'), routes('r', 'a'));
  const clusters = client.open(world('cds'));
  clusters.request({});
  clusters.ack(await clusters.next());
  const routeStream = client.open(world('rds'));
  routeStream.request({ resource_names: ['r'] });
  routeStream.ack(await routeStream.next(), ['r']);
  await client.roundTrip();
  put(store, cluster('b'), routes('r', 'b'));
  return { clusters, routeStream, added: await clusters.next() };
}
