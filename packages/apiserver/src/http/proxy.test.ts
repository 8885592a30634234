import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, Pod, systemClock } from '@capstan/kube';
import { openPki } from '../cluster/pki.ts';
import { memorySecretStore } from '../cluster/secret-store.ts';
import { ADMIN } from '../core.ts';
import { testServer } from '../server.test-support.ts';
import { startHttpServer } from './http-server.ts';

const LARGE = 8 * 1024 * 1024;

/** A program in a pod, and a session of HTTP/2 with the API server before it. `hold` delays connections to the pod. */
async function serve(t: TestContext, { drainMs = 30_000, hold = Promise.resolve() } = {}) {
  const toPod: Socket[] = [];
  const program = createServer((request, response) => {
    if (request.url === '/broken') {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    } else response.end(Buffer.alloc(LARGE, 'x'));
  });
  await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
  const { server } = testServer({
    authorization: 'RBAC',
    staticTokens: [{ token: 'sesame', user: ADMIN }],
    podStreams: {
      exec: () => Promise.reject(new Error('no commands')),
      attach: () => Promise.reject(new Error('no output')),
      portForward: () =>
        Promise.resolve(async (port) => {
          const socket = connect(port, '127.0.0.1');
          toPod.push(socket);
          await Promise.all([once(socket, 'connect'), hold]);
          return socket;
        }),
    },
  });
  const client = createClient({ transport: server.transport(), clock: systemClock });
  const metadata = { name: 'web', namespace: 'default' };
  const spec = { containers: [{ name: 'main', image: 'x' }] };
  await client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  const pki = await openPki({ keep: memorySecretStore(), clock: systemClock, host: '127.0.0.1', clusters: ['one'] });
  const tls = { certificate: pki.server.certificate, key: pki.server.key, ca: pki.ca };
  const clusters = [{ name: 'one', server }];
  const http = await startHttpServer({ clusters, clock: systemClock, port: 0, tls, drainMs });
  const session = connectHttp2(`https://127.0.0.1:${http.port}`, { ca: pki.ca });
  t.after(async () => {
    session.destroy();
    await http.close();
    await server.close();
    program.close();
  });
  const { port } = program.address() as AddressInfo;
  const proxied = `/api/v1/namespaces/default/pods/web:${port}/proxy`;
  const get = (rest: string, before = proxied) => {
    const path = `${before}${rest}`;
    const stream = session.request({ ':path': path, authorization: 'Bearer sesame' });
    stream.on('error', () => {});
    return stream;
  };
  return { get, toPod };
}

test('a large answer of a pod passes whole over HTTP/2, and no emitter has too many listeners', async (t) => {
  const warnings: string[] = [];
  const note = (warning: Error) => warnings.push(warning.message);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const { get } = await serve(t);
  let size = 0;
  for await (const chunk of get('/large') as AsyncIterable<Buffer>) size += chunk.length;
  assert.equal(size, LARGE);
  assert.deepEqual(warnings, []);
});

test('an answer that a pod breaks off is broken off for the client too', async (t) => {
  const { get } = await serve(t);
  const stream = get('/broken');
  stream.resume();
  await new Promise((resolve) => stream.once('close', resolve));
  assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
});

test('a client that reads nothing of a pod loses its stream, and the pod its connection', async (t) => {
  const { get, toPod } = await serve(t, { drainMs: 50 });
  const stream = get('/large');
  await once(stream, 'response');
  await until(() => toPod[0]?.destroyed === true);
  stream.destroy();
});

test('a client that goes while the connection to the pod is opened leaves no connection behind', async (t) => {
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  const { get, toPod } = await serve(t, { hold });
  const stream = get('/large');
  await until(() => toPod[0]?.connecting === false);
  stream.close();
  await once(stream, 'close');
  // The server has read the end of the stream when it has answered another request.
  await once(get('/version', ''), 'response');
  release();
  await until(() => toPod[0]?.destroyed === true);
});

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isSo()) {
    assert.ok(Date.now() < deadline, 'the condition was not reached in 20 s');
    await sleep(5);
  }
}
