// The endpoint that a request reaches, and its form for services and clients: strategies, mirrors, headers, cookies, rewrites.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { createIngressStage } from './ingress-stage.ts';

const POOL = ['127.64.8.1', '127.64.8.2', '127.64.8.3', '127.64.8.4'];

suite('balancing and rewriting through a real Envoy', { skip: missingEnvoy() }, () => {
  test('strategies, mirrors, headers, cookies and redirects', async (context) => {
    const stage = await createIngressStage(context, 'delta');
    await stage.pool('pool', POOL, (address, _, response) => response.end(address));
    await stage.backend('echo', (request, response) =>
      response
        .setHeader('x-from-service', 'yes')
        .setHeader('set-cookie', ['session=1; Path=/; Domain=old.test; Secure', 'other=2; Path=/'])
        .end(JSON.stringify({ path: request.url, ...request.headers })),
    );
    const pool = { name: 'pool', port: 80 };
    const echo = { name: 'echo', port: 80 };
    const get = (host: string, path = '/', headers: Record<string, string> = {}) =>
      send({ port: stage.httpPort, host, path, headers });
    const reach = (host: string) =>
      waitFor(async () => (await get(host)).status === 200, `${host}; ${stage.refusals().join('\n')}`);
    const spread = async (count: number, path: string, headers: Record<string, string> = {}) => {
      const found = new Map<string, number>();
      for (let index = 0; index < count; index += 1) {
        const { body } = await get('balance.test', path, headers);
        found.set(body, (found.get(body) ?? 0) + 1);
      }
      return found;
    };

    await context.test('each strategy spreads or sticks as its name says', async () => {
      const strategy = (name: string, requestHashPolicies?: object[]) => ({
        conditions: [{ prefix: `/${name}` }],
        services: [pool],
        loadBalancerPolicy: { strategy: name.split('-')[0] ?? '', ...(requestHashPolicies && { requestHashPolicies }) },
      });
      await stage.proxy('balance', {
        virtualhost: { fqdn: 'balance.test' },
        routes: [
          { services: [pool] },
          strategy('Random'),
          strategy('WeightedLeastRequest'),
          strategy('Cookie'),
          strategy('RequestHash-header', [{ headerHashOptions: { headerName: 'x-user' }, terminal: true }]),
          strategy('RequestHash-query', [{ queryParameterHashOptions: { parameterName: 'user' } }]),
          strategy('RequestHash-ip', [{ hashSourceIP: true }]),
        ],
      });
      await reach('balance.test');
      assert.deepEqual([...(await spread(40, '/')).values()], [10, 10, 10, 10]);
      for (const path of ['/Random', '/WeightedLeastRequest']) assert.equal((await spread(80, path)).size, 4, path);
      const first = await get('balance.test', '/Cookie');
      const cookie = first.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      assert.match(cookie, /^X-Sesame-Session-Affinity=/);
      assert.deepEqual([...(await spread(10, '/Cookie', { cookie }))], [[first.body, 10]]);
      assert.equal((await spread(10, '/RequestHash-header', { 'x-user': 'ann' })).size, 1);
      assert.equal((await spread(10, '/RequestHash-query?user=ann')).size, 1);
      assert.equal((await spread(10, '/RequestHash-ip')).size, 1);
      const users = new Set<string>();
      for (let index = 0; index < 40; index += 1)
        users.add((await get('balance.test', '/RequestHash-header', { 'x-user': `user-${index}` })).body);
      assert.ok(users.size > 1, 'all users are at one endpoint');
    });

    await context.test('a mirror gets its percentage, and its answers go nowhere', async () => {
      const counts = { copy: 0 };
      await stage.backend('copy', (_, response) => {
        counts.copy += 1;
        response.writeHead(500).end();
      });
      await stage.proxy('mirror', {
        virtualhost: { fqdn: 'mirror.test' },
        routes: [{ services: [echo, { name: 'copy', port: 80, mirror: true, weight: 50 }] }],
      });
      await reach('mirror.test');
      for (let index = 0; index < 100; index += 1) assert.equal((await get('mirror.test')).status, 200);
      await waitFor(() => counts.copy > 20, 'copies');
      assert.ok(counts.copy < 85, `${counts.copy} copies of 100`);
    });

    await context.test('headers of routes and of services are set and removed, with what Envoy knows', async () => {
      await stage.proxy('headers', {
        virtualhost: { fqdn: 'headers.test' },
        routes: [
          {
            services: [
              {
                ...echo,
                requestHeadersPolicy: {
                  set: [{ name: 'X-Service', value: '%SESAME_NAMESPACE%/%SESAME_SERVICE_NAME%:%SESAME_SERVICE_PORT%' }],
                },
                responseHeadersPolicy: { remove: ['X-From-Service'] },
              },
            ],
            requestHeadersPolicy: {
              set: [
                { name: 'X-Protocol', value: '%PROTOCOL%' },
                { name: 'X-Copy', value: '%REQ(X-Original?X-Other)%' },
                { name: 'X-Percent', value: '50% off' },
              ],
              remove: ['X-Secret'],
            },
            responseHeadersPolicy: { set: [{ name: 'X-Route', value: 'yes' }] },
          },
          {
            conditions: [{ prefix: '/host' }],
            services: [echo],
            requestHeadersPolicy: { set: [{ name: 'Host', value: '%REQ(X-Tenant)%' }] },
          },
        ],
      });
      await reach('headers.test');
      const answer = await get('headers.test', '/', { 'x-secret': '1', 'x-other': 'copied' });
      const seen = JSON.parse(answer.body) as Record<string, string>;
      assert.deepEqual(
        [seen['x-service'], seen['x-protocol'], seen['x-copy'], seen['x-percent'], seen['x-secret']],
        ['default/echo:80', 'HTTP/1.1', 'copied', '50% off', undefined],
      );
      assert.match(seen['x-request-start'] ?? '', /^t=\d+\.\d+$/);
      assert.deepEqual([answer.headers['x-route'], answer.headers['x-from-service']], ['yes', undefined]);
      const tenant = await get('headers.test', '/host', { 'x-tenant': 'ann.test' });
      assert.equal((JSON.parse(tenant.body) as Record<string, string>)['host'], 'ann.test');
    });

    await context.test('cookies are rewritten by routes and by services', async () => {
      const rewrite = (more: object) => [{ name: 'session', ...more }];
      await stage.proxy('cookies', {
        virtualhost: { fqdn: 'cookies.test' },
        routes: [
          {
            services: [echo],
            cookieRewritePolicies: rewrite({
              domainRewrite: { value: 'new.test' },
              pathRewrite: { value: '/shop' },
              secure: false,
              sameSite: 'Strict',
            }),
          },
          {
            conditions: [{ prefix: '/service' }],
            services: [{ ...echo, cookieRewritePolicies: rewrite({ sameSite: 'None', secure: true }) }],
            cookieRewritePolicies: rewrite({ sameSite: 'Lax' }),
          },
        ],
      });
      await reach('cookies.test');
      assert.deepEqual((await get('cookies.test')).headers['set-cookie'], [
        'session=1; Path=/shop; Domain=new.test; SameSite=Strict',
        'other=2; Path=/',
      ]);
      assert.deepEqual((await get('cookies.test', '/service')).headers['set-cookie'], [
        'session=1; Path=/; Domain=old.test; Secure; SameSite=None',
        'other=2; Path=/',
      ]);
    });

    await context.test('prefixes are replaced, redirects keep or change each part of the address', async () => {
      await stage.proxy('rewrites', {
        virtualhost: { fqdn: 'rewrites.test' },
        routes: [
          { services: [echo] },
          {
            conditions: [{ prefix: '/app' }],
            services: [echo],
            pathRewritePolicy: { replacePrefix: [{ prefix: '/app', replacement: '/' }] },
          },
          {
            conditions: [{ prefix: '/moved' }],
            requestRedirectPolicy: { scheme: 'https', port: 8443, statusCode: 308 },
          },
          { conditions: [{ prefix: '/prefix' }], requestRedirectPolicy: { prefix: '/new', statusCode: 303 } },
        ],
      });
      await reach('rewrites.test');
      const path = async (from: string) =>
        (JSON.parse((await get('rewrites.test', from)).body) as { path: string }).path;
      assert.equal(await path('/app'), '/');
      assert.equal(await path('/app/a?b=c'), '/a?b=c');
      const location = async (from: string) => {
        const { status, headers } = await get('rewrites.test', from);
        return [status, headers.location];
      };
      assert.deepEqual(await location('/moved/a?b=c'), [308, 'https://rewrites.test:8443/moved/a?b=c']);
      assert.deepEqual(await location('/prefix/a?b=c'), [303, 'http://rewrites.test/new/a?b=c']);
    });

    await context.test('includes join conditions, and each part goes to its own service', async () => {
      await stage.proxy('team', {
        routes: [{ conditions: [{ prefix: '/v1' }], services: [pool] }, { services: [echo] }],
      });
      await stage.proxy('root', {
        virtualhost: { fqdn: 'include.test' },
        includes: [
          { name: 'team', conditions: [{ prefix: '/team' }] },
          { name: 'team', conditions: [{ prefix: '/' }, { header: { name: 'x-team', exact: 'yes' } }] },
        ],
        routes: [{ directResponsePolicy: { statusCode: 200, body: 'root' } }],
      });
      await reach('include.test');
      assert.equal((await get('include.test', '/other')).body, 'root');
      assert.ok(POOL.includes((await get('include.test', '/team/v1')).body));
      assert.match((await get('include.test', '/team/v2')).body, /"path":"\/team\/v2"/);
      assert.ok(POOL.includes((await get('include.test', '/v1', { 'x-team': 'yes' })).body));
    });
  });
});
