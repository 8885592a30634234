import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { suite, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { type Envoy, encode, Fragment, FragmentChunk, typeUrl } from '../envoy/index.ts';
import { createResource, type Resource } from './resource.ts';
import {
  cluster,
  createXdsStage,
  endpoints,
  listener,
  put,
  remove,
  routes,
  type Stage,
  startSlowConnection,
} from './xds.test-support.ts';
import { connectXds, type XdsClient } from './xds-client.ts';
import { discoveryPath } from './xds-server.ts';

const world = (type: 'cds' | 'eds' | 'lds' | 'rds' | 'sds') => ({ type, isDelta: false });
const delta = (type: 'cds' | 'eds' | 'lds' | 'rds' | 'sds') => ({ type, isDelta: true });
const ADS = { type: undefined, isDelta: false };
const DELTA_ADS = { type: undefined, isDelta: true };

suite('state of the world', () => {
  test('a request without names gets the whole type, and again when it changes', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const stream = client.open(world('cds'));
    stream.request({});
    const first = await stream.next();
    assert.deepEqual([...first.resources.keys()], ['a', 'b']);
    stream.ack(first);
    put(store, cluster('c'));
    const second = await stream.next();
    assert.deepEqual([...second.resources.keys()], ['a', 'b', 'c']);
    assert.notEqual(second.version, first.version);
  });

  test('nothing is answered before the first complete set is there', async (context) => {
    const { store, client, server } = await createXdsStage(context);
    const stream = client.open(world('cds'));
    stream.request({});
    const response = stream.next();
    const isFirst = await Promise.race([
      response.then(() => 'answered'),
      until(() => server.statistics().streams === 1),
    ]);
    assert.notEqual(isFirst, 'answered');
    put(store, cluster('a'));
    assert.deepEqual([...(await response).resources.keys()], ['a']);
  });

  test('a name gets its resource only, and changes of others send nothing', async (context) => {
    const { store, client, server } = await createXdsStage(context);
    put(store, endpoints('a', 1), endpoints('b', 2));
    const stream = client.open(world('eds'));
    stream.request({ resource_names: ['a'] });
    const first = await stream.next();
    assert.deepEqual([...first.resources.keys()], ['a']);
    stream.ack(first, ['a']);
    put(store, endpoints('b', 3));
    put(store, endpoints('a', 4));
    const second = await stream.next();
    assert.deepEqual([...second.resources.keys()], ['a']);
    assert.equal(server.statistics().responses.eds, 2);
  });

  test('a client that comes back with the version that it would get is sent nothing', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, routes('r', 'a'), cluster('a'));
    const stream = client.open(world('rds'));
    stream.request({ resource_names: ['r'] });
    const { version } = await stream.next();
    stream.close();
    const again = client.open(world('rds'));
    again.request({ resource_names: ['r'], version_info: version });
    const response = again.next();
    put(store, routes('r', 'a', '/new'));
    assert.notEqual((await response).version, version);
  });

  test('changes that arrive before the answer become one response', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, endpoints('a', 1));
    const stream = client.open(world('eds'));
    stream.request({ resource_names: ['a'] });
    const first = await stream.next();
    for (let port = 2; port < 50; port += 1) put(store, endpoints('a', port));
    stream.ack(first, ['a']);
    const second = await stream.next();
    assert.match(JSON.stringify([...second.resources.values()]), /"port_value":49/);
    assert.equal(stream.pending, 0);
  });

  test('equal content is not sent, whatever object it comes from', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'));
    const stream = client.open(world('cds'));
    stream.request({});
    stream.ack(await stream.next());
    put(store, cluster('a'));
    put(store, cluster('b'));
    assert.deepEqual([...(await stream.next()).resources.keys()], ['a', 'b']);
  });
});

suite('delta', () => {
  test('only what changed is sent, and what is gone is named', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const stream = client.open(delta('cds'));
    stream.request({});
    const first = await stream.next();
    assert.deepEqual([...first.resources.keys()], ['a', 'b']);
    stream.ack(first);
    put(store, cluster('b', 5));
    const second = await stream.next();
    assert.deepEqual([...second.resources.keys()], ['b']);
    stream.ack(second);
    remove(store, 'cds', 'a');
    assert.deepEqual((await stream.next()).removed, ['a']);
  });

  test('a client that comes back gets the difference to what it has', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const stream = client.open(delta('cds'));
    stream.request({});
    const { versions } = await stream.next();
    stream.close();
    put(store, cluster('b', 7));
    const again = client.open(delta('cds'));
    again.request({ initial_resource_versions: { ...versions, gone: 'x' } });
    const response = await again.next();
    assert.deepEqual([...response.resources.keys()], ['b']);
    assert.deepEqual(response.removed, ['gone']);
  });

  test('a name that does not exist is answered as removed, and sent when it appears', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, cluster('a'));
    const stream = client.open(delta('eds'));
    stream.request({ resource_names_subscribe: ['later'] });
    const first = await stream.next();
    assert.deepEqual(first.removed, ['later']);
    stream.ack(first);
    put(store, endpoints('later', 1));
    assert.deepEqual([...(await stream.next()).resources.keys()], ['later']);
  });
});

test('a name that a delta client drops beside a wildcard is sent again, or named as gone', async (context) => {
  const { store, client } = await createXdsStage(context);
  put(store, cluster('a'), cluster('b'));
  const stream = client.open({ type: 'cds', isDelta: true });
  stream.request({ resource_names_subscribe: ['*', 'a', 'gone'] });
  stream.ack(await stream.next());
  stream.request({ resource_names_unsubscribe: ['a', 'gone'] });
  const response = await stream.next();
  assert.deepEqual([[...response.resources.keys()], response.removed], [['a'], ['gone']]);
});

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

test('a client that comes back with what it should have is listed, although it has nothing to answer', async (context) => {
  const { store, client, server } = await createXdsStage(context);
  put(store, listener('one', 1, 'r'));
  const first = client.open(world('lds'));
  first.request({});
  const { version } = await first.next();
  first.close();
  await until(() => server.reports().length === 0);
  client.open(world('lds')).request({ version_info: version });
  await until(() => server.reports().length === 1);
});

suite('refusals', () => {
  test('a refused resource is reported with its origin, and the last accepted one stays in full responses', async (context) => {
    const { store, client, report } = await createXdsStage(context);
    put(store, listener('one', 1, 'r'), listener('two', 2, 'r'));
    const stream = client.open(world('lds'));
    stream.request({});
    stream.ack(await stream.next());
    put(store, listener('one', 77, 'r'));
    stream.nack(await stream.next(), 'Error adding/updating listener(s) one: cannot bind');
    const { rejections } = await report(({ rejections: found }) => found.length > 0);
    assert.deepEqual(
      rejections.map(({ key, message }) => [key, message]),
      [['lds/one', 'Error adding/updating listener(s) one: cannot bind']],
    );
    put(store, listener('two', 3, 'r'));
    const third = await stream.next();
    assert.match(JSON.stringify(third.resources.get('one')), /"port_value":1\b/);
    assert.match(JSON.stringify(third.resources.get('two')), /"port_value":3\b/);
    stream.ack(third);
    put(store, listener('one', 5, 'r'));
    const fixed = await stream.next();
    assert.match(JSON.stringify(fixed.resources.get('one')), /"port_value":5\b/);
    stream.ack(fixed);
    await report(({ rejections: found, acknowledged }) => found.length === 0 && acknowledged.lds === fixed.version);
  });

  test('all acceptable resources of a response that is refused without a name are accepted', async (context) => {
    const { store, client, report } = await createXdsStage(context);
    const names = ['a', 'b', 'c', 'bad', 'd', 'e', 'f'];
    put(store, ...names.map((name) => endpoints(name, 1)));
    const stream = client.open(DELTA_ADS);
    stream.request({ type_url: typeUrl('eds'), resource_names_subscribe: ['*'] });
    const accepted = new Set<string>();
    let hasRefused = false;
    while (accepted.size < names.length - 1 || !hasRefused) {
      const response = await stream.next();
      const has = [...response.resources.keys()];
      if (has.includes('bad')) stream.nack(response, 'one of them does not please me');
      else stream.ack(response);
      if (has.includes('bad')) hasRefused = has.length === 1;
      else for (const name of has) accepted.add(name);
    }
    const { rejections } = await report(({ rejections: found }) => found.length > 0);
    assert.deepEqual(
      rejections.map(({ key }) => key),
      ['eds/bad'],
    );
    put(store, endpoints('bad', 2));
    stream.ack(await stream.next());
    await report(({ rejections: found }) => found.length === 0);
  });

  test('a name within another one is not refused, and the reason stands without what Envoy prints before it', async (context) => {
    const { store, client, report } = await createXdsStage(context);
    put(store, listener('ingress_http', 1, 'r'), listener('ingress_https', 2, 'r'));
    const stream = client.open(world('lds'));
    stream.request({});
    const message = `Error adding/updating listener(s) ingress_https: goo.gle/debugproto  \nstat_prefix: "x"\n${'filter {\n}\n'.repeat(99)}: Proto constraint validation failed (Domain: too short)\n`;
    stream.nack(await stream.next(), message);
    // The other one alone, then the one that is named.
    const others = await stream.next();
    assert.deepEqual([...others.resources.keys()], ['ingress_http']);
    stream.ack(others);
    const named = await stream.next();
    assert.deepEqual([...named.resources.keys()].sort(), ['ingress_http', 'ingress_https']);
    stream.nack(named, message);
    const { rejections } = await report(({ rejections: found }) => found.length > 0);
    assert.deepEqual(
      rejections.map(({ key, message: reason }) => [key, reason]),
      [
        [
          'lds/ingress_https',
          'Error adding/updating listener(s) ingress_https: Proto constraint validation failed (Domain: too short)',
        ],
      ],
    );
  });

  test('a method that is not there ends with the status for it', async (context) => {
    const { server } = await createXdsStage(context);
    const session = connect(`http://127.0.0.1:${server.port}`);
    context.after(() => session.destroy());
    const stream = session.request({ ':method': 'POST', ':path': '/envoy.service.listener.v3.No/Such' });
    const status = await new Promise((resolve) => stream.on('response', (headers) => resolve(headers['grpc-status'])));
    assert.equal(status, '12');
  });
});

suite('slow clients', () => {
  test('one that does not read gets the newest state once, when it reads again', async (context) => {
    const { store, client, server } = await createXdsStage(context);
    const many = (port: number) => Array.from({ length: 3_000 }, (_, index) => endpoints(`service-${index}`, port));
    put(store, ...many(1));
    const stream = client.open(DELTA_ADS);
    stream.pause();
    stream.request({ type_url: typeUrl('eds'), resource_names_subscribe: ['*'] });
    await until(() => server.statistics().responses.eds === 1);
    for (let port = 2; port <= 60; port += 1) put(store, ...many(port));
    const sentWhilePaused = server.statistics().bytes.eds ?? 0;
    stream.resume();
    let isNewest = false;
    while (!isNewest) {
      const response = await stream.next();
      stream.ack(response);
      isNewest = JSON.stringify(response.resources.get('service-0'))?.includes('"port_value":60') ?? false;
    }
    assert.ok(sentWhilePaused < 12 * 1024 * 1024, `${sentWhilePaused} bytes were buffered`);
  });

  test('a composed resource is sent again when the last one is acknowledged, with all changes since', async (context) => {
    const { store, client } = await createXdsStage(context);
    put(store, pages('large', 1), routes('other', 'a'));
    const stream = client.open(DELTA_ADS);
    stream.request({ type_url: typeUrl('rds'), resource_names_subscribe: ['large', 'other'] });
    const first = await stream.next();
    for (let count = 2; count < 6; count += 1) put(store, pages('large', count));
    put(store, routes('other', 'b'));
    const second = await stream.next();
    assert.deepEqual([...second.resources.keys()], ['other']);
    stream.ack(second);
    await client.roundTrip();
    assert.equal(stream.pending, 0);
    stream.ack(first);
    const third = await stream.next();
    assert.match(JSON.stringify(third.resources.get('large')), /large-63-4.example.com/);
    stream.ack(third);
    await client.roundTrip();
    assert.equal(stream.pending, 0);
  });

  test('a small response does not wait for a large one that is under way', async (context) => {
    const { store, server } = await createXdsStage(context);
    const connection = await startSlowConnection(context, server.port);
    put(store, pages('large', 1), pages('small', 1));
    // Windows as large as Envoy's: bytes that are written too early are in the socket, and the client cannot prefer others to them.
    const session = connect(`http://127.0.0.1:${connection.port}`, { settings: { initialWindowSize: 2 ** 28 } });
    context.after(() => session.destroy());
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    session.setLocalWindowSize(2 ** 28);
    const large = rawStream(session, 'large');
    const small = rawStream(session, 'small');
    await until(() => large.received > 0 && small.received > 0);
    await new Promise((resolve) => session.ping(resolve));
    const first = small.received;
    connection.halt();
    put(store, pages('large', 10_000));
    await new Promise((resolve) => setImmediate(resolve));
    const size = server.statistics().bytes.rds ?? 0;
    put(store, pages('small', 2));
    connection.resume();
    await until(() => small.received > first);
    assert.ok(large.received < size / 2, `${large.received} of ${size} bytes came before the small response`);
  });

  test('thousands of streams on one connection each get their change', async (context) => {
    const { store, client } = await createXdsStage(context);
    const count = 3_000;
    put(store, ...Array.from({ length: count }, (_, index) => endpoints(`service-${index}`, 1)));
    const streams = Array.from({ length: count }, (_, index) => {
      const stream = client.open(world('eds'));
      stream.request({ resource_names: [`service-${index}`] });
      return stream;
    });
    const answers = await Promise.all(streams.map((stream) => stream.next()));
    answers.forEach((answer, index) => streams[index]?.ack(answer, [`service-${index}`]));
    put(store, endpoints('service-1234', 9));
    const changed = await streams[1234]?.next();
    assert.match(JSON.stringify(changed?.resources.get('service-1234')), /"port_value":9/);
    assert.equal(streams.filter(({ pending }) => pending > 0).length, 0);
  });
});

/** Routes of 64 hosts with so many domains each. */
function pages(name: string, count: number): Resource {
  const chunks = Array.from({ length: 64 }, (_, index) => {
    const domains = Array.from({ length: count }, (_each, domain) => `${name}-${index}-${domain}.example.com`);
    return new FragmentChunk([
      new Fragment('envoy.config.route.v3.VirtualHost', { name: `${name}-${index}`, domains }, true),
    ]);
  });
  const value = () => ({ name, virtual_hosts: chunks });
  return createResource({ type: 'rds', name, value, contentHash: `${name} ${count}` });
}

/** A stream for one route configuration that acknowledges the first response. */
function rawStream(session: ClientHttp2Session, name: string): { readonly received: number } {
  const stream = session.request({ ':method': 'POST', ':path': discoveryPath(world('rds')) });
  const request = (fields: Envoy.DiscoveryRequest) => {
    const message = encode('envoy.service.discovery.v3.DiscoveryRequest', { node: { id: 'raw' }, ...fields });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.write(Buffer.concat([prefix, message]));
  };
  request({ resource_names: [name] });
  const state = { received: 0 };
  stream.on('data', (chunk: Buffer) => {
    if (state.received === 0) request({ resource_names: [name], response_nonce: '1' });
    state.received += chunk.length;
  });
  return state;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
