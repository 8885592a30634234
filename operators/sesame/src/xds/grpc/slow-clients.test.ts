import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { suite, test } from 'node:test';
import { type Envoy, encode, Fragment, FragmentChunk, typeUrl } from '../../envoy/index.ts';
import { createResource, type Resource } from '../resource.ts';
import { createXdsStage, endpoints, put, routes, startSlowConnection } from '../xds.test-support.ts';
import { discoveryPath } from '../xds-server.ts';

const world = (type: 'cds' | 'eds' | 'lds' | 'rds' | 'sds') => ({ type, isDelta: false });
const DELTA_ADS = { type: undefined, isDelta: true };

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
