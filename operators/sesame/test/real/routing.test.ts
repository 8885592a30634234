// HTTPProxy through a real Envoy: the answers to requests.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { createCa, issueCertificate, Secret } from '@capstan/kube';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { type Answer, type RequestOptions, send } from './http-client.ts';
import { createIngressStage, type IngressStage } from './ingress-stage.ts';

const skip = missingEnvoy();
const shop = { name: 'shop', port: 80 };

suite('HTTPProxy through a real Envoy', { skip }, () => {
  test('paths, headers, query parameters, rewrites, redirects and direct responses', async (context) => {
    const { stage, get } = await start(context);
    await stage.proxy('shop', {
      virtualhost: { fqdn: 'shop.test' },
      routes: [
        { conditions: [{ prefix: '/' }], services: [shop] },
        { conditions: [{ exact: '/exact' }], directResponsePolicy: { statusCode: 418, body: 'exact' } },
        { conditions: [{ regex: '/item/[0-9]+' }], directResponsePolicy: { statusCode: 200, body: 'regex' } },
        {
          conditions: [{ prefix: '/' }, { header: { name: 'x-beta', exact: 'yes' } }],
          directResponsePolicy: { statusCode: 200, body: 'beta' },
        },
        {
          conditions: [{ prefix: '/' }, { queryParameter: { name: 'q', prefix: 'a' } }],
          directResponsePolicy: { statusCode: 200, body: 'query' },
        },
        {
          conditions: [{ prefix: '/api' }],
          services: [shop],
          pathRewritePolicy: { replacePrefix: [{ replacement: '/v2' }] },
        },
        {
          conditions: [{ regex: '/account/[^/]+/query' }],
          services: [shop],
          pathRewritePolicy: {
            replaceRegex: { pattern: '^/account/([^/]+)/(.*)$', substitution: String.raw`/v3/\2/of/\1` },
          },
        },
        {
          conditions: [{ prefix: '/old' }],
          requestRedirectPolicy: { hostname: 'new.test', statusCode: 301, path: '/new' },
        },
        {
          conditions: [{ prefix: '/headers' }],
          services: [shop],
          requestHeadersPolicy: {
            set: [
              { name: 'X-Set', value: '100%' },
              { name: 'Host', value: 'inner.test' },
            ],
            remove: ['X-Gone'],
          },
          responseHeadersPolicy: { set: [{ name: 'X-Answer', value: 'yes' }] },
        },
      ],
    });
    await waitFor(async () => (await get('shop.test')).status === 200, 'the first route');
    assert.deepEqual(await pathOf(get('shop.test', '/any/path')), '/any/path');
    assert.equal((await get('shop.test', '/exact')).status, 418);
    assert.equal((await get('shop.test', '/exactly')).status, 200);
    assert.equal((await get('shop.test', '/item/42')).body, 'regex');
    assert.equal((await get('shop.test', '/', { 'x-beta': 'yes' })).body, 'beta');
    assert.equal((await get('shop.test', '/?q=abc')).body, 'query');
    assert.equal(await pathOf(get('shop.test', '/api')), '/v2');
    assert.equal(await pathOf(get('shop.test', '/api/')), '/v2/');
    assert.equal(await pathOf(get('shop.test', '/api/x')), '/v2/x');
    assert.equal(await pathOf(get('shop.test', '/account/a7/query')), '/v3/query/of/a7');
    const redirect = await get('shop.test', '/old/thing');
    assert.deepEqual([redirect.status, redirect.headers.location], [301, 'http://new.test/new']);
    const headers = await get('shop.test', '/headers', { 'x-gone': '1' });
    const seen = (JSON.parse(headers.body) as Echo).headers;
    assert.deepEqual(
      [seen['x-set'], seen['host'], seen['x-gone'], headers.headers['x-answer']],
      ['100%', 'inner.test', undefined, 'yes'],
    );
    assert.equal((await get('other.test')).status, 404);
    assert.deepEqual(stage.refusals(), []);
  });

  test('weights are counted, a mirror gets copies, retries reach the service, a rate limit answers 429', async (context) => {
    const { stage, get } = await start(context);
    const counts = { one: 0, two: 0, copy: 0, flaky: 0 };
    for (const name of ['one', 'two', 'copy'] as const)
      await stage.backend(name, (_, response) => {
        counts[name] += 1;
        response.end(name);
      });
    await stage.backend('flaky', (_, response) => {
      counts.flaky += 1;
      response.statusCode = counts.flaky < 3 ? 503 : 200;
      response.end('flaky');
    });
    await stage.proxy('weights', {
      virtualhost: { fqdn: 'weights.test' },
      routes: [
        {
          services: [
            { name: 'one', port: 80, weight: 75 },
            { name: 'two', port: 80, weight: 25 },
          ],
        },
        { conditions: [{ prefix: '/mirror' }], services: [shop, { name: 'copy', port: 80, mirror: true }] },
        {
          conditions: [{ prefix: '/retry' }],
          services: [{ name: 'flaky', port: 80 }],
          retryPolicy: { count: 5, retryOn: ['5xx'] },
        },
        {
          conditions: [{ prefix: '/limit' }],
          services: [shop],
          rateLimitPolicy: { local: { requests: 2, unit: 'hour' } },
        },
        {
          conditions: [{ prefix: '/none' }],
          services: [
            { name: 'one', port: 80, weight: 0 },
            { name: 'two', port: 80, weight: 0 },
          ],
        },
      ],
    });
    await waitFor(async () => (await get('weights.test', '/mirror')).status === 200, 'the routes');
    counts.one = 0;
    counts.two = 0;
    for (let index = 0; index < 400; index += 1) assert.equal((await get('weights.test')).status, 200);
    assert.ok(counts.one > 250 && counts.one < 350, `one got ${counts.one} of 400`);
    assert.equal(counts.one + counts.two, 400);
    await waitFor(() => counts.copy > 0, 'the copy');
    assert.equal((await get('weights.test', '/retry')).status, 200);
    const limited = [
      await get('weights.test', '/limit'),
      await get('weights.test', '/limit'),
      await get('weights.test', '/limit'),
    ];
    assert.deepEqual(
      limited.map(({ status }) => status),
      [200, 200, 429],
    );
    assert.equal((await get('weights.test', '/none')).status, 503);
    assert.deepEqual(stage.refusals(), []);
  });

  test('TLS by SNI, the redirect to it, client certificates, and a renewal that changes one secret', async (context) => {
    const { stage, get } = await start(context);
    const ca = await createCa({ commonName: 'test', ...validity() });
    const certificate = (name: string) =>
      issueCertificate({ ca, commonName: name, dnsNames: [name], usages: ['server', 'client'], ...validity() });
    const [one, two, client] = [
      await certificate('one.test'),
      await certificate('two.test'),
      await certificate('client'),
    ];
    await stage.secret('one', { 'tls.crt': one.certificate, 'tls.key': one.key });
    await stage.secret('two', { 'tls.crt': two.certificate, 'tls.key': two.key });
    await stage.secret('ca', { 'ca.crt': ca.certificate }, 'Opaque');
    await stage.proxy('one', {
      virtualhost: { fqdn: 'one.test', tls: { secretName: 'one' } },
      routes: [{ services: [shop] }, { conditions: [{ prefix: '/open' }], permitInsecure: true, services: [shop] }],
    });
    await stage.proxy('two', {
      virtualhost: { fqdn: 'two.test', tls: { secretName: 'two', clientValidation: { caSecret: 'ca' } } },
      routes: [{ services: [shop] }],
    });
    const secure = (host: string, more: Partial<RequestOptions['tls']> = {}, sent = host) =>
      send({ port: stage.httpsPort, host: sent, tls: { ca: ca.certificate, servername: host, ...more } });
    await waitFor(async () => (await secure('one.test')).status === 200, `TLS; ${stage.refusals().join()}`);
    const upgrade = await get('one.test', '/path');
    assert.deepEqual([upgrade.status, upgrade.headers.location], [301, 'https://one.test/path']);
    assert.equal((await get('one.test', '/open')).status, 200);
    assert.equal((await secure('two.test')).status, 0);
    assert.equal((await secure('two.test', { cert: client.certificate, key: client.key })).status, 200);
    assert.equal((await secure('one.test', {}, 'two.test')).status, 421);
    const before = stage.xds.statistics().responses;
    const renewed = await certificate('one.test');
    const text = (value: string) => Buffer.from(value).toString('base64');
    const data = { 'tls.crt': text(renewed.certificate), 'tls.key': text(renewed.key) };
    await stage.client.patch(Secret, { namespace: 'default', name: 'one' }, 'merge', { data });
    await stage.stage.settle();
    const serial = new X509Certificate(renewed.certificate).serialNumber;
    await waitFor(async () => (await serialAt(stage.httpsPort, 'one.test')) === serial, 'the renewed certificate');
    const after = stage.xds.statistics().responses;
    assert.deepEqual([after.lds, after.rds], [before.lds, before.rds]);
    assert.deepEqual(stage.refusals(), []);
  });

  test('one bad route takes down that route only, with its reason, until it is fixed', async (context) => {
    const { stage, get } = await start(context);
    await stage.proxy('mixed', {
      virtualhost: { fqdn: 'mixed.test' },
      routes: [
        { services: [shop] },
        // The pattern of Contour's CRD takes it, and Contour's controller does not.
        { conditions: [{ prefix: '/bad' }], services: [shop], timeoutPolicy: { response: '.s' } },
        { conditions: [{ prefix: '/gone' }], services: [{ name: 'missing', port: 80 }] },
        { conditions: [{ regex: '/(?=look)' }], services: [shop] },
      ],
    });
    await waitFor(async () => (await get('mixed.test')).status === 200, 'the good route');
    assert.equal((await get('mixed.test', '/bad')).status, 502);
    assert.equal((await get('mixed.test', '/gone')).status, 503);
    const { status } = await stage.client.get(HTTPProxy, { namespace: 'default', name: 'mixed' });
    assert.deepEqual(status?.conditions?.[0]?.errors?.map(({ reason }) => reason).sort(), [
      'PathMatchConditionsNotValid',
      'ServiceUnresolvedReference',
      'TimeoutPolicyNotValid',
    ]);
    assert.deepEqual(stage.refusals(), []);
  });

  test('every feature at once is accepted by Envoy', async (context) => {
    const { stage, get } = await start(context);
    const cookie = { name: 'session', pathRewrite: { value: '/x' }, secure: true, sameSite: 'Lax' };
    await stage.backend('cookies', (_, response) =>
      response.setHeader('set-cookie', ['session=1; Path=/', 'other=2']).end(),
    );
    await stage.proxy('all', {
      virtualhost: {
        fqdn: 'all.test',
        corsPolicy: {
          allowOrigin: ['https://a.test', '.*[.]b[.]test'],
          allowMethods: ['GET'],
          maxAge: '10m',
          allowCredentials: true,
        },
        rateLimitPolicy: { local: { requests: 1000, unit: 'second', burst: 10 } },
        ipAllowPolicy: [{ source: 'Peer', cidr: '127.0.0.0/8' }],
      },
      routes: [
        {
          conditions: [{ prefix: '/cookies' }],
          services: [{ name: 'cookies', port: 80 }],
          cookieRewritePolicies: [cookie],
        },
        { conditions: [{ prefix: '/deny' }], services: [shop], ipDenyPolicy: [{ source: 'Peer', cidr: '127.0.0.1' }] },
        {
          conditions: [{ prefix: '/hash' }],
          services: [shop],
          loadBalancerPolicy: {
            strategy: 'RequestHash',
            requestHashPolicies: [
              { headerHashOptions: { headerName: 'x-user' }, terminal: true },
              { hashSourceIP: true },
            ],
          },
        },
        { conditions: [{ prefix: '/sticky' }], services: [shop], loadBalancerPolicy: { strategy: 'Cookie' } },
        {
          conditions: [{ prefix: '/health' }],
          services: [shop],
          healthCheckPolicy: { path: '/healthz', intervalSeconds: 1 },
        },
        {
          conditions: [{ prefix: '/slow' }],
          services: [{ ...shop, slowStartPolicy: { window: '10s', aggression: '1.5' } }],
        },
        {
          conditions: [{ prefix: '/internal' }],
          services: [shop],
          internalRedirectPolicy: {
            maxInternalRedirects: 3,
            redirectResponseCodes: [302],
            allowCrossSchemeRedirect: 'SafeOnly',
            denyRepeatedRouteRedirect: true,
          },
        },
        {
          conditions: [{ prefix: '/ws' }],
          services: [shop],
          enableWebsockets: true,
          timeoutPolicy: { response: 'infinity', idle: '1m', idleConnection: '30s' },
        },
        { conditions: [{ prefix: '/h2' }], services: [{ ...shop, protocol: 'h2c' }] },
        { conditions: [{ prefix: '/tls' }], services: [{ ...shop, protocol: 'tls' }] },
        {
          conditions: [
            { prefix: '/' },
            { header: { name: 'x', notcontains: 'y', ignoreCase: true, treatMissingAsEmpty: true } },
          ],
          services: [shop],
        },
      ],
    });
    await waitFor(async () => (await get('all.test')).status === 200, `the routes; ${stage.refusals().join()}`);
    const cookies = await get('all.test', '/cookies');
    assert.deepEqual(cookies.headers['set-cookie'], ['session=1; Path=/x; Secure; SameSite=Lax', 'other=2']);
    assert.equal((await get('all.test', '/deny')).status, 403);
    assert.equal(
      (await get('all.test', '/sticky')).headers['set-cookie']?.[0]?.startsWith('X-Sesame-Session-Affinity='),
      true,
    );
    const cors = await send({
      port: stage.httpPort,
      host: 'all.test',
      method: 'OPTIONS',
      headers: { origin: 'https://a.test', 'access-control-request-method': 'GET' },
    });
    assert.equal(cors.headers['access-control-max-age'], '600');
    const { status } = await stage.client.get(HTTPProxy, { namespace: 'default', name: 'all' });
    assert.equal(status?.currentStatus, 'valid');
    assert.deepEqual(stage.refusals(), []);
  });
});

function serialAt(port: number, servername: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', () => resolve(''));
  });
}

interface Echo {
  readonly path: string;
  readonly headers: Record<string, string>;
}

async function pathOf(answer: Promise<Answer>): Promise<string> {
  return (JSON.parse((await answer).body) as Echo).path;
}

async function start(context: TestContext): Promise<{
  stage: IngressStage;
  get(host: string, path?: string, headers?: Record<string, string>): Promise<Answer>;
}> {
  const stage = await createIngressStage(context, 'grpc');
  await stage.backend('shop', (request, response) =>
    response.end(JSON.stringify({ path: request.url, headers: request.headers })),
  );
  return { stage, get: (host, path = '/', headers = {}) => send({ port: stage.httpPort, host, path, headers }) };
}

function validity() {
  return { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
}
