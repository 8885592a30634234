import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { connect, createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createApiServer } from '@capstan/apiserver';
import {
  type Client,
  createClient,
  EndpointSlice,
  Event,
  Service,
  type EndpointSlice as Slice,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import { createBackends, createChooser } from './backends.ts';
import { NODE_PORTS_CONDITION } from './node-port-clash.ts';
import { createForwarder } from './service-forwarder.ts';

const skip = process.platform === 'linux' ? false : 'needs the loopback addresses 127.96.0.0/12: run it on Linux';
const NAMESPACE = 'default';

async function createPlace(t: TestContext): Promise<Client> {
  const clock = systemClock;
  const random = createRandom(process.pid);
  const server = createApiServer({ clock, random });
  const client = createClient({ transport: server.transport(), clock, random, logger: silentLogger });
  const abort = new AbortController();
  const running = createForwarder({ client, clock, random, logger: silentLogger }).run(abort.signal);
  t.after(async () => {
    abort.abort();
    await running;
    await server.close();
  });
  return client;
}

/** An address of its own for each test and process: tests may run side by side. */
const address = (last: number, net = 96) =>
  `127.${net}.${(process.pid >> 8) % 250}.${((process.pid % 100) + last) % 250 || 1}`;

async function backend(t: TestContext, name: string, host: string): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(name);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.after(() => void server.close());
  const at = server.address();
  return typeof at === 'object' && at !== null ? at.port : 0;
}

function service(clusterIP: string, port: number, more: Partial<Service['spec']> = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: NAMESPACE, name: 'web' },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ name: 'x', port }], ...more },
  };
}

function slice(name: string, port: number, hosts: readonly string[], protocol = 'TCP'): Slice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: NAMESPACE, name, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'x', port, protocol }],
    endpoints: hosts.map((host) => ({ addresses: [host], conditions: { ready: true } })),
  };
}

/** Returns the answer of the other side, or the error. */
function ask(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host, port });
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.once('end', () => resolve(text));
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
  });
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const began = Date.now(); Date.now() - began < 10_000; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('it was not reached in time');
}

test('connections to a service go to its endpoints by turns, past one that does not answer', { skip }, async (t) => {
  const client = await createPlace(t);
  const first = address(1, 64);
  const second = address(2, 64);
  const port = await backend(t, 'first', first);
  const other = await backend(t, 'second', second);
  await client.create(Service, service(address(3), 7070));
  await client.create(EndpointSlice, slice('a', port, [first]));
  await client.create(EndpointSlice, slice('b', other, [second]));
  await until(async () => (await ask(address(3), 7070)) === 'second');
  const answers = [
    await ask(address(3), 7070),
    await ask(address(3), 7070),
    await ask(address(3), 7070),
    await ask(address(3), 7070),
  ];
  assert.deepEqual(answers, ['first', 'second', 'first', 'second']);
  // Nothing listens on this one.
  await client.update(EndpointSlice, slice('b', 1, [second]));
  await until(async () => (await ask(address(3), 7070)) === 'first' && (await ask(address(3), 7070)) === 'first');
  await client.delete(Service, { namespace: NAMESPACE, name: 'web' });
  await until(async () => (await ask(address(3), 7070)) === 'ECONNREFUSED');
});

test('a port that is in use is not shared, and the service says so', { skip }, async (t) => {
  const client = await createPlace(t);
  const holder: Server = createServer((socket) => socket.end('mine'));
  await new Promise<void>((resolve) => holder.listen(7071, address(4), resolve));
  t.after(() => void holder.close());
  await client.create(Service, service(address(4), 7071));
  await until(async () => {
    const { items } = await client.list(Event, { namespace: NAMESPACE });
    return items.some(({ reason, note = '' }) => reason === 'AddressNotForwarded' && note.includes('EADDRINUSE'));
  });
  assert.equal(await ask(address(4), 7071), 'mine');
});

test('a service of type LoadBalancer is reached at its own address, or at the loopback address that it asks for', {
  skip,
}, async (t) => {
  const client = await createPlace(t);
  const own = address(40);
  const asked = address(41, 113);
  const host = address(40, 64);
  const port = await backend(t, 'one', host);
  await client.create(EndpointSlice, slice('web-1', port, [host]));
  await client.create(Service, service(own, 8080, { type: 'LoadBalancer' }));
  const published = (wanted: string) =>
    until(async () => {
      const { status } = await client.get(Service, { namespace: NAMESPACE, name: 'web' });
      return status?.loadBalancer?.ingress?.[0]?.ip === wanted;
    });
  await published(own);
  await client.patch(Service, { namespace: NAMESPACE, name: 'web' }, 'merge', { spec: { loadBalancerIP: asked } });
  await published(asked);
  assert.equal(await ask(asked, 8080), 'one');
});

/** Holds ports as another program would, from the first of the range. */
async function holdPorts(t: TestContext, ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    const holder: Server = createServer((socket) => socket.end('other'));
    // Another test or program may hold it already, which is as good.
    await new Promise<void>((resolve) => {
      holder.once('error', () => resolve());
      holder.listen(port, '127.0.0.1', resolve);
    });
    t.after(() => void holder.close());
  }
}

test('a node port that was drawn and that another program holds is replaced', { skip }, async (t) => {
  const client = await createPlace(t);
  await holdPorts(t, [30_000]);
  const host = address(50, 64);
  const port = await backend(t, 'one', host);
  await client.create(EndpointSlice, slice('web-1', port, [host]));
  const { spec } = await client.create(Service, service(address(50), 7080, { type: 'LoadBalancer' }));
  assert.equal(spec?.ports?.[0]?.nodePort, 30_000);
  let given = 0;
  await until(async () => {
    const { spec: now, status } = await client.get(Service, { namespace: NAMESPACE, name: 'web' });
    given = now?.ports?.[0]?.nodePort ?? 0;
    return given !== 30_000 && status?.loadBalancer?.ingress?.[0]?.ip === address(50);
  });
  await until(async () => (await ask('127.0.0.1', given)) === 'one');
});

test('a node port that the user asked for stays, and the Service reports who has it', { skip }, async (t) => {
  const client = await createPlace(t);
  const asked = 32_000 + (process.pid % 700);
  await holdPorts(t, [asked]);
  const ports = [{ name: 'x', port: 7081, protocol: 'TCP', nodePort: asked }];
  await client.create(Service, service(address(51), 7081, { type: 'LoadBalancer', ports }));
  await until(async () => {
    const { status } = await client.get(Service, { namespace: NAMESPACE, name: 'web' });
    const found = status?.conditions?.find(({ type }) => type === NODE_PORTS_CONDITION);
    return (
      found?.status === 'False' &&
      found.reason === 'PortInUse' &&
      found.message.startsWith(`node port ${asked} (TCP) is in use on this machine`) &&
      status?.loadBalancer?.ingress?.[0]?.ip === address(51)
    );
  });
  const { spec } = await client.get(Service, { namespace: NAMESPACE, name: 'web' });
  assert.equal(spec?.ports?.[0]?.nodePort, asked);
  await client.delete(Service, { namespace: NAMESPACE, name: 'web' });
  await client.create(Service, service(address(51), 7081, { type: 'NodePort' }));
  await until(async () => {
    const { status } = await client.get(Service, { namespace: NAMESPACE, name: 'web' });
    return (status?.conditions ?? []).length === 0;
  });
});

test('datagrams are passed on, and their answers come back', { skip }, async (t) => {
  const client = await createPlace(t);
  const echo = createSocket('udp4');
  echo.on('message', (message, { address: host, port }) => echo.send(`${message.toString()}!`, port, host));
  await new Promise<void>((resolve) => echo.bind(0, address(5, 64), resolve));
  t.after(() => void echo.close());
  await client.create(Service, service(address(6), 7072, { ports: [{ name: 'x', port: 7072, protocol: 'UDP' }] }));
  await client.create(EndpointSlice, slice('a', echo.address().port, [address(5, 64)], 'UDP'));
  const socket = createSocket('udp4');
  t.after(() => void socket.close());
  let answer = '';
  socket.on('message', (message) => {
    answer = message.toString();
  });
  socket.on('error', () => {});
  await until(async () => {
    socket.send('hello', 7072, address(6));
    return answer === 'hello!';
  });
});

test('a client with affinity keeps its backend as long as that is there', () => {
  const clock = { now: () => 0 };
  const a = { address: '1', port: 1 };
  const b = { address: '2', port: 1 };
  const order = createChooser(clock, 1000);
  const [first] = order([a, b], 'me');
  assert.deepEqual(order([a, b], 'me')[0], first);
  assert.notDeepEqual(order([a, b], 'you')[0], first);
  assert.deepEqual(order([b], 'me'), [b]);
  assert.deepEqual(order([a, b], 'me')[0], b);
  assert.deepEqual(order([], 'me'), []);
});

test('endpoints that are going are used only when there are no others', () => {
  const leaving = { addresses: ['2'], conditions: { ready: false, serving: true, terminating: true } };
  const objects: Slice[] = [{ ...slice('a', 80, ['1']), endpoints: [{ addresses: ['1'] }, leaving] }];
  const informer = (list: readonly Slice[]) => ({
    subscribe(listener: (events: readonly { type: 'upsert'; key: string; object: Slice; old: undefined }[]) => void) {
      listener(list.map((object) => ({ type: 'upsert', key: object.metadata.name ?? '', object, old: undefined })));
      return () => {};
    },
  });
  const of = (list: readonly Slice[]) =>
    createBackends(informer(list) as unknown as Parameters<typeof createBackends>[0]).of('default/web', 'x');
  assert.deepEqual(of(objects), [{ address: '1', port: 80 }]);
  assert.deepEqual(of([{ ...slice('a', 80, []), endpoints: [leaving] }]), [{ address: '2', port: 80 }]);
});
