// Every protocol that goes through Envoy: HTTP/1.1, HTTP/2, gRPC, WebSocket, TLS by name, TLS to services, and TCP.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp, request as requestHttp } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import {
  type CallOptions,
  Client,
  credentials,
  status as GrpcStatus,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { createAuthority, tlsData } from './certificates.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { BACKENDS, createIngressStage, type IngressStage, listen } from './ingress-stage.ts';

suite('protocols through a real Envoy', { skip: missingEnvoy() }, () => {
  test('each protocol reaches its service', async (context) => {
    const authority = await createAuthority();
    const stage = await createIngressStage(context, 'delta-ads', (settings) => {
      settings.envoy.clientCertificate = { name: 'envoy', namespace: 'default' };
    });
    await stage.secret('envoy', tlsData(await authority.issue('envoy.test')));
    await stage.backend('web', (request, response) =>
      response.end(`${request.httpVersion} ${request.headers.host ?? ''}`),
    );
    const host = async (name: string, more: object = {}, tls: object = {}): Promise<void> => {
      await stage.secret(name, tlsData(await authority.issue(`${name}.test`)));
      await stage.proxy(name, {
        virtualhost: { fqdn: `${name}.test`, tls: { secretName: name, ...tls } },
        routes: [{ services: [{ name: 'web', port: 80, ...more }] }],
      });
    };
    const ca = authority.ca.certificate;
    const reach = (name: string) =>
      waitFor(
        async () => (await send({ port: stage.httpsPort, host: `${name}.test`, tls: { ca } })).status === 200,
        `https://${name}.test; ${stage.refusals().join('\n')}`,
      );

    await context.test('HTTP/2 from the client over TLS', async () => {
      await host('two');
      await reach('two');
      const session = connectHttp2(`https://127.0.0.1:${stage.httpsPort}`, { ca, servername: 'two.test' });
      const stream = session.request({ ':path': '/', ':authority': 'two.test' });
      let body = '';
      stream.on('data', (chunk) => (body += String(chunk)));
      await once(stream, 'end');
      assert.equal(session.alpnProtocol, 'h2');
      assert.equal(body, '1.1 two.test');
      session.destroy();
    });

    await context.test('HTTP/2 without TLS to the service', async () => {
      const http2 = createHttp2((request, response) => response.end(request.httpVersion));
      await stage.service('h2c', await listen(context, http2));
      await stage.proxy('h2c', {
        virtualhost: { fqdn: 'h2c.test' },
        routes: [{ services: [{ name: 'h2c', port: 80, protocol: 'h2c' }] }],
      });
      const get = () => send({ port: stage.httpPort, host: 'h2c.test' });
      await waitFor(async () => (await get()).status === 200, 'the service with h2c');
      assert.equal((await get()).body, '2.0');
    });

    await context.test('gRPC: calls, streams, trailers with an error', async () => {
      await stage.service('grpc', await startEcho(context));
      await stage.secret('grpc', tlsData(await authority.issue('grpc.test')));
      await stage.proxy('grpc', {
        virtualhost: { fqdn: 'grpc.test', tls: { secretName: 'grpc' } },
        routes: [{ services: [{ name: 'grpc', port: 80, protocol: 'h2c' }] }],
      });
      const client = new Client(`127.0.0.1:${stage.httpsPort}`, credentials.createSsl(Buffer.from(ca)), {
        'grpc.ssl_target_name_override': 'grpc.test',
        'grpc.default_authority': 'grpc.test',
      });
      context.after(() => client.close());
      await waitFor(async () => (await unary(client, '/echo/Unary', 'hi')) === 'hi', 'the gRPC service');
      const stream = client.makeServerStreamRequest('/echo/Stream', bytes, bytes, Buffer.from('abc'));
      const parts: string[] = [];
      for await (const part of stream) parts.push(String(part));
      assert.deepEqual(parts, ['a', 'b', 'c']);
      assert.equal(await unary(client, '/echo/Unary', 'missing'), `${GrpcStatus.NOT_FOUND} nothing there`);
    });

    await context.test('WebSocket: upgraded where the route allows it, refused elsewhere', async () => {
      const http = createHttp((_, response) => response.end('plain'));
      http.on('upgrade', (_, socket: Socket) => {
        socket.on('error', () => undefined);
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
        socket.pipe(socket);
      });
      await stage.service('socket', await listen(context, http, () => http.closeAllConnections()));
      const services = [{ name: 'socket', port: 80 }];
      await stage.proxy('socket', {
        virtualhost: { fqdn: 'socket.test' },
        routes: [{ services }, { conditions: [{ prefix: '/ws' }], services, enableWebsockets: true }],
      });
      await waitFor(async () => (await send({ port: stage.httpPort, host: 'socket.test' })).status === 200, 'the host');
      assert.equal(await upgrade(stage, '/ws'), 'echoed');
      assert.equal(await upgrade(stage, '/'), 403);
    });

    await context.test(
      'TLS: the certificate is found by name, unknown names and old versions are refused',
      async () => {
        await host('strict', {}, { minimumProtocolVersion: '1.3' });
        await reach('strict');
        await reach('two');
        const subject = async (servername: string, more: ConnectionOptions = {}) => {
          const socket = await secure(stage, { servername, ca, ...more });
          const name = socket?.getPeerCertificate().subject.CN;
          socket?.destroy();
          return name;
        };
        assert.equal(await subject('strict.test'), 'strict.test');
        assert.equal(await subject('two.test'), 'two.test');
        assert.equal(await subject('unknown.test'), undefined);
        assert.equal(await subject('strict.test', { maxVersion: 'TLSv1.2' }), undefined);
        assert.equal(await subject('two.test', { maxVersion: 'TLSv1.2' }), 'two.test');
      },
    );

    await context.test('TLS to the service: verified by CA and name, with a certificate of Envoy', async () => {
      const { certificate: cert, key } = await authority.issue('inner.test');
      const https = createHttps({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (request, response) =>
        response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
      );
      await stage.service('inner', await listen(context, https, () => https.closeAllConnections()));
      await stage.secret('ca', { 'ca.crt': ca }, 'Opaque');
      const other = (await createAuthority('other')).ca.certificate;
      await stage.secret('other-ca', { 'ca.crt': other }, 'Opaque');
      const to = (caSecret: string, subjectName: string) => [
        { name: 'inner', port: 80, protocol: 'tls', validation: { caSecret, subjectName } },
      ];
      await stage.proxy('inner', {
        virtualhost: { fqdn: 'inner.test' },
        routes: [
          { services: to('ca', 'inner.test') },
          { conditions: [{ prefix: '/name' }], services: to('ca', 'somebody-else.test') },
          { conditions: [{ prefix: '/ca' }], services: to('other-ca', 'inner.test') },
        ],
      });
      const get = (path: string) => send({ port: stage.httpPort, host: 'inner.test', path });
      await waitFor(async () => (await get('/')).status === 200, 'the verified service');
      assert.equal((await get('/')).body, 'envoy.test');
      assert.equal((await get('/name')).status, 503);
      assert.equal((await get('/ca')).status, 503);
    });

    await context.test('TCP: TLS ends at Envoy, bytes go to services by weight', async () => {
      const counts = { one: 0, two: 0 };
      for (const name of ['one', 'two'] as const) {
        const tcp = createTcp((socket) => {
          counts[name] += 1;
          socket.on('error', () => undefined);
          socket.on('data', (data) => socket.end(`${name} ${String(data)}`));
        });
        await stage.service(`tcp-${name}`, await listen(context, tcp));
      }
      await stage.secret('tcp', tlsData(await authority.issue('tcp.test')));
      await stage.proxy('tcp', {
        virtualhost: { fqdn: 'tcp.test', tls: { secretName: 'tcp' } },
        tcpproxy: {
          services: [
            { name: 'tcp-one', port: 80, weight: 3 },
            { name: 'tcp-two', port: 80, weight: 1 },
          ],
        },
      });
      const talk = async () => {
        const socket = await secure(stage, { servername: 'tcp.test', ca });
        if (!socket) return '';
        let answer = '';
        socket.on('data', (data) => (answer += String(data)));
        socket.write('hello');
        await once(socket, 'close');
        return answer;
      };
      await waitFor(async () => /^(one|two) hello$/.test(await talk()), 'the TCP service');
      Object.assign(counts, { one: 0, two: 0 });
      for (let index = 0; index < 80; index += 1) assert.match(await talk(), /^(one|two) hello$/);
      assert.ok(counts.one > counts.two && counts.two > 0, JSON.stringify(counts));
      assert.equal(counts.one + counts.two, 80);
    });

    await context.test('a certificate of another namespace, delegated', async () => {
      await stage.create(TLSCertificateDelegation, {
        apiVersion: 'projectsesame.io/v1',
        kind: 'TLSCertificateDelegation',
        metadata: { name: 'shared', namespace: 'kube-public' },
        spec: { delegations: [{ secretName: 'shared', targetNamespaces: ['default'] }] },
      });
      await stage.secret('shared', tlsData(await authority.issue('shared.test')), 'kubernetes.io/tls', 'kube-public');
      await stage.proxy('shared', {
        virtualhost: { fqdn: 'shared.test', tls: { secretName: 'kube-public/shared' } },
        routes: [{ services: [{ name: 'web', port: 80 }] }],
      });
      await reach('shared');
    });

    await context.test('answers are compressed for clients that ask for it', async () => {
      const text = 'compress me '.repeat(200);
      await stage.backend('text', (_, response) => response.setHeader('content-type', 'text/plain').end(text));
      await stage.proxy('text', {
        virtualhost: { fqdn: 'text.test' },
        routes: [{ services: [{ name: 'text', port: 80 }] }],
      });
      await waitFor(async () => (await send({ port: stage.httpPort, host: 'text.test' })).status === 200, 'the host');
      const answer = await compressed(stage, 'text.test');
      assert.equal(answer.encoding, 'gzip');
      assert.equal(gunzipSync(answer.body).toString(), text);
    });
  });
});

const bytes = (value: Buffer) => value;

async function startEcho(context: TestContext): Promise<number> {
  const server = new Server();
  const method = (path: string, responseStream: boolean) => ({
    path,
    requestStream: false,
    responseStream,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  });
  server.addService(
    { unary: method('/echo/Unary', false), stream: method('/echo/Stream', true) },
    {
      unary: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
        String(request) === 'missing'
          ? done({ code: GrpcStatus.NOT_FOUND, details: 'nothing there' })
          : done(null, request),
      stream: (call: ServerWritableStream<Buffer, Buffer>) => {
        for (const letter of String(call.request)) call.write(Buffer.from(letter));
        call.end();
      },
    },
  );
  context.after(() => server.forceShutdown());
  return new Promise((resolve, reject) =>
    server.bindAsync(`${BACKENDS}:0`, ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
}

function unary(client: Client, path: string, text: string): Promise<string> {
  const options: CallOptions = { deadline: Date.now() + 5_000 };
  return new Promise((resolve) =>
    client.makeUnaryRequest(path, bytes, bytes, Buffer.from(text), options, (error, value) =>
      resolve(error ? `${error.code} ${error.details}` : String(value)),
    ),
  );
}

/** Returns the status of a refused upgrade; else the echo through the open socket. */
function upgrade(stage: IngressStage, path: string): Promise<string | number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'socket.test', connection: 'Upgrade', upgrade: 'websocket' };
    const sent = requestHttp({ host: '127.0.0.1', port: stage.httpPort, path, headers, agent: false });
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('upgrade', (_, socket) => {
      socket.on('data', (data) => {
        resolve(String(data));
        socket.destroy();
      });
      socket.write('echoed');
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Undefined when the handshake fails. */
function secure(stage: IngressStage, options: ConnectionOptions): Promise<TLSSocket | undefined> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port: stage.httpsPort, ...options }, () => resolve(socket));
    socket.on('error', () => resolve(undefined));
  });
}

function compressed(stage: IngressStage, host: string): Promise<{ encoding: string | undefined; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { host, 'accept-encoding': 'gzip' };
    const sent = requestHttp({ host: '127.0.0.1', port: stage.httpPort, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ encoding: response.headers['content-encoding'], body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}
