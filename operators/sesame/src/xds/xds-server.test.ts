import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { suite, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { typeUrl } from '../envoy/index.ts';
import { cluster, createXdsStage, endpoints, listener, put, remove, routes } from './xds.test-support.ts';

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

suite('order', () => {
  test('on the aggregated stream a route waits until its new cluster and endpoints are acknowledged', async (context) => {
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

  test('on separate streams of one node a cluster goes only after the routes that used it', async (context) => {
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

  test('a client that never acknowledges a cluster gets the route after two seconds', async (context) => {
    const clock = createVirtualClock();
    const { store, client } = await createXdsStage(context, { clock });
    put(store, cluster('a'), routes('r', 'a'));
    const clusters = client.open(world('cds'));
    clusters.request({});
    clusters.ack(await clusters.next());
    const routeStream = client.open(world('rds'));
    routeStream.request({ resource_names: ['r'] });
    routeStream.ack(await routeStream.next(), ['r']);
    put(store, cluster('b'), routes('r', 'b'));
    await clusters.next();
    await clock.advance(1_900);
    assert.equal(routeStream.pending, 0);
    await clock.advance(200);
    assert.deepEqual([...(await routeStream.next()).resources.keys()], ['r']);
  });
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

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
