// Fields of the SesameConfiguration that a request feels, through a real Envoy. The xDS of every field is tested elsewhere.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { type Mutable } from '../../src/routing/default-settings.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { createAuthority, tlsData } from './certificates.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { createIngressStage, type IngressStage } from './ingress-stage.ts';

suite('settings through a real Envoy', { skip: missingEnvoy() }, () => {
  test('access logs, fingerprints, HTTP versions, headers and slashes', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'sesame-log-'));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const log = join(folder, 'access.log');
    const { stage, ca } = await start(context, (settings) => {
      settings.envoy.https.accessLog = log;
      settings.envoy.logging.accessLogFormat = 'json';
      settings.envoy.logging.jsonFields = ['path', 'ja3=%TLS_JA3_FINGERPRINT%', 'ja4=%TLS_JA4_FINGERPRINT%'];
      settings.envoy.listener.tls.fingerprint = { ja3: true, ja4: true };
      settings.envoy.listener.serverHeaderTransformation = 'pass_through';
      settings.envoy.listener.disableMergeSlashes = true;
      settings.envoy.defaultHTTPVersions = ['HTTP/1.1'];
      settings.envoy.network.stripTrailingHostDot = true;
      settings.policy = {
        applyToIngress: true,
        requestHeaders: { set: { 'X-Edge': 'yes' }, remove: [] },
        responseHeaders: { set: {}, remove: ['x-internal'] },
      };
    });
    const ask = () => send({ port: stage.httpsPort, host: 'own.test', path: '/a//b', tls: { ca } });
    // Its listener waits for the certificate and for routes of its own, the plain one does not.
    await waitFor(async () => (await ask()).status === 200, 'the listener with TLS');
    const answer = await ask();
    const seen = JSON.parse(answer.body) as Record<string, string>;
    assert.deepEqual([seen['path'], seen['x-edge']], ['/a//b', 'yes']);
    assert.deepEqual([answer.headers.server, answer.headers['x-internal']], ['backend', undefined]);
    const dotted = await send({ port: stage.httpPort, host: 'own.test.', path: '/open' });
    assert.equal(dotted.status, 200);
    const socket = connectTls({
      host: '127.0.0.1',
      port: stage.httpsPort,
      servername: 'own.test',
      ca,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    await once(socket, 'secureConnect');
    assert.equal(socket.alpnProtocol, 'http/1.1');
    socket.destroy();
    const lines = () =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
        : [];
    await waitFor(() => lines().some((line) => line.includes('/a//b')), 'the access log');
    const entry = JSON.parse(lines().find((line) => line.includes('/a//b')) ?? '{}') as Record<string, string>;
    assert.match(entry['ja3'] ?? '', /^[0-9a-f]{32}$/);
    assert.match(entry['ja4'] ?? '', /^t1[23]d\d{4}[0-9a-z]{2}_[0-9a-f]{12}_[0-9a-f]{12}$/);
  });

  test('timeouts, limits of connections and streams, and the PROXY protocol', async (context) => {
    const { stage, ca } = await start(
      context,
      (settings) => {
        settings.envoy.timeouts.requestTimeout = '300ms';
        settings.envoy.timeouts.connectionIdleTimeout = '500ms';
        settings.envoy.listener.maxRequestsPerConnection = 2;
        settings.envoy.listener.httpMaxConcurrentStreams = 7;
        settings.envoy.listener.useProxyProtocol = true;
      },
      'PROXY TCP4 203.0.113.9 127.0.0.1 4711 80\r\n',
    );
    const first = await talk(stage.httpPort, GET);
    assert.match(first, /^HTTP\/1\.1 200[\s\S]*"x-forwarded-for":"203\.0\.113\.9"/);
    assert.equal(
      await talk(stage.httpPort, 'GET /open HTTP/1.1\r\nhost: own.test\r\n\r\n', ''),
      '',
      'without the PROXY line',
    );
    // Envoy permits two requests, and announces the end with the second.
    const twice = await talk(stage.httpPort, GET.replace('connection: close\r\n', '').repeat(2));
    assert.equal(twice.match(/HTTP\/1\.1 200/g)?.length, 2);
    assert.match(twice, /connection: close/);
    // A body that never comes.
    const slow = 'POST /open HTTP/1.1\r\nhost: own.test\r\ncontent-length: 10\r\n\r\n';
    assert.match(await talk(stage.httpPort, slow), /^HTTP\/1\.1 408/);
    const socket = connectTcp(stage.httpsPort, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('PROXY TCP4 203.0.113.9 127.0.0.1 4711 443\r\n');
    const tls = connectTls({ socket, servername: 'own.test', ca, ALPNProtocols: ['h2'] });
    await once(tls, 'secureConnect');
    const session = connectHttp2('https://own.test', { createConnection: () => tls });
    const [settings] = (await once(session, 'remoteSettings')) as [{ maxConcurrentStreams?: number }];
    assert.equal(settings.maxConcurrentStreams, 7);
    // Nothing is asked: it is closed by itself.
    await once(session, 'close');
  });
});

const PROXY = 'PROXY TCP4 203.0.113.9 127.0.0.1 4711 80\r\n';
const GET = 'GET /open HTTP/1.1\r\nhost: own.test\r\nconnection: close\r\n\r\n';

/** Everything that comes back until the connection is closed. */
function talk(port: number, request: string, before = PROXY): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connectTcp(port, '127.0.0.1', () => socket.write(before + request));
    socket.on('data', (data) => (answer += String(data)));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}

async function start(
  context: TestContext,
  change: (settings: Mutable<RoutingSettings>) => void,
  before = '',
): Promise<{ stage: IngressStage; ca: string }> {
  const authority = await createAuthority();
  const stage = await createIngressStage(context, 'grpc', change);
  // It answers when it has the whole request.
  await stage.backend('web', (request, response) => {
    request.resume();
    request.on('end', () =>
      response
        .setHeader('server', 'backend')
        .setHeader('x-internal', 'secret')
        .end(JSON.stringify({ path: request.url, ...request.headers })),
    );
  });
  await stage.secret('own', tlsData(await authority.issue('own.test')));
  const services = [{ name: 'web', port: 80 }];
  await stage.proxy('own', {
    virtualhost: { fqdn: 'own.test', tls: { secretName: 'own' } },
    routes: [{ services }, { conditions: [{ prefix: '/open' }], permitInsecure: true, services }],
  });
  await waitFor(
    async () => (await talk(stage.httpPort, GET, before)).startsWith('HTTP/1.1 200'),
    `the host; ${stage.refusals().join('\n')}`,
  );
  return { stage, ca: authority.ca.certificate };
}
