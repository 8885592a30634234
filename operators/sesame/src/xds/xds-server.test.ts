import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { suite, test } from 'node:test';
import { typeUrl } from '../envoy/index.ts';
import { cluster, createXdsStage, endpoints, listener, put, remove, routes } from './xds.test-support.ts';

const world = (type: 'cds' | 'eds' | 'lds' | 'rds' | 'sds') => ({ type, isDelta: false });
const delta = (type: 'cds' | 'eds' | 'lds' | 'rds' | 'sds') => ({ type, isDelta: true });
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

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
