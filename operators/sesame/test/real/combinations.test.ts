// Features of HTTPProxy in combination, as users put them together.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { createAuthority, tlsData } from './certificates.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { createIngressStage } from './ingress-stage.ts';

const to = (name: string, more = {}) => ({ name, port: 80, ...more });

suite('combinations through a real Envoy', { skip: missingEnvoy() }, () => {
  test('includes of three levels, with prefixes, headers and query parameters', async (context) => {
    const stage = await createIngressStage(context, 'grpc');
    for (const name of ['root', 'middle', 'prefix', 'exact', 'regex'])
      await stage.backend(name, (request, response) => response.end(`${name} ${request.url ?? ''}`));
    await stage.proxy('regexes', {
      routes: [
        { conditions: [{ prefix: '/c' }], services: [to('prefix')] },
        { conditions: [{ exact: '/d' }], services: [to('exact')] },
        { conditions: [{ regex: '/e[0-9]+' }], services: [to('regex')] },
        {
          conditions: [{ prefix: '/old' }],
          services: [to('prefix')],
          pathRewritePolicy: { replacePrefix: [{ replacement: '/new' }] },
        },
      ],
    });
    await stage.proxy('middle', {
      includes: [
        // The prefix ends with the slash that the paths below begin with.
        { name: 'regexes', conditions: [{ prefix: '/b/' }, { queryParameter: { name: 'p', exact: '1' } }] },
      ],
      routes: [{ services: [to('middle')] }],
    });
    await stage.proxy('root', {
      virtualhost: { fqdn: 'inc.test' },
      includes: [{ name: 'middle', conditions: [{ prefix: '/a' }, { header: { name: 'x-t', contains: 'q' } }] }],
      routes: [{ services: [to('root')] }],
    });
    const get = async (path: string, headers = {}) =>
      (await send({ port: stage.httpPort, host: 'inc.test', path, headers })).body;
    await waitFor(async () => (await get('/')) === 'root /', 'the route');
    const inside = { 'x-t': 'aqb' };
    for (const [path, headers, expected] of [
      ['/a/x', {}, 'root /a/x'],
      ['/a/x', inside, 'middle /a/x'],
      ['/a/b/c', inside, 'middle /a/b/c'],
      ['/a/b/c?p=1', inside, 'prefix /a/b/c?p=1'],
      ['/a/b/d?p=1', inside, 'exact /a/b/d?p=1'],
      ['/a/b/d/x?p=1', inside, 'middle /a/b/d/x?p=1'],
      ['/a/b/e12?p=1', inside, 'regex /a/b/e12?p=1'],
      ['/a/b/old/x?p=1', inside, 'prefix /new/x?p=1'],
      ['/a/b/old?p=1', inside, 'prefix /new?p=1'],
    ] as const)
      assert.equal(await get(path, headers), expected, path);
  });

  test('authorization, limits, addresses, cookies, weights and mirrors on one host', async (context) => {
    const authority = await createAuthority();
    const stage = await createIngressStage(context, 'grpc');
    const mirrored: string[] = [];
    for (const name of ['web', 'api'])
      await stage.backend(name, (_request, response) =>
        response.setHeader('set-cookie', ['a=1; Path=/', 'b=2']).end(name),
      );
    await stage.backend('copy', (request, response) => {
      mirrored.push(request.url ?? '');
      response.end();
    });
    await stage.backend('auth', (request, response) =>
      response.writeHead(request.headers['x-key'] === 'let-me-in' ? 200 : 403).end(),
    );
    await stage.create(ExtensionService, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'ExtensionService',
      metadata: { name: 'auth', namespace: 'default' },
      spec: { services: [to('auth')], protocol: 'http/1.1' },
    });
    await stage.secret('all', tlsData(await authority.issue('all.test')));
    const authPolicy = { disabled: true };
    await stage.proxy('all', {
      virtualhost: {
        fqdn: 'all.test',
        tls: { secretName: 'all' },
        authorization: {
          extensionRef: { name: 'auth' },
          serviceType: 'http',
          httpSettings: { allowedAuthorizationHeaders: [{ exact: 'x-key' }] },
        },
        rateLimitPolicy: { local: { requests: 1000, unit: 'second' } },
        ipAllowPolicy: [{ source: 'Peer', cidr: '127.0.0.0/8' }],
      },
      routes: [
        {
          services: [
            to('web', { weight: 0 }),
            to('api', { weight: 1, cookieRewritePolicies: [{ name: 'a', secure: true, sameSite: 'Strict' }] }),
          ],
          cookieRewritePolicies: [{ name: 'b', domainRewrite: { value: 'x.test' } }],
        },
        {
          conditions: [{ prefix: '/limited' }],
          services: [to('web')],
          authPolicy,
          rateLimitPolicy: {
            local: {
              requests: 2,
              unit: 'hour',
              responseStatusCode: 431,
              responseHeadersToAdd: [{ name: 'x-why', value: '100%' }],
            },
          },
        },
        {
          conditions: [{ prefix: '/copied' }],
          permitInsecure: true,
          authPolicy,
          services: [to('web'), to('copy', { mirror: true })],
        },
        {
          conditions: [{ prefix: '/denied' }],
          authPolicy,
          services: [to('web')],
          ipDenyPolicy: [{ source: 'Peer', cidr: '127.0.0.1' }],
        },
      ],
    });
    const tls = { ca: authority.ca.certificate };
    const get = (path: string, headers = {}) => send({ port: stage.httpsPort, host: 'all.test', path, headers, tls });
    await waitFor(async () => (await get('/copied')).status === 200, 'the route');
    assert.equal((await get('/')).status, 403);
    const allowed = await get('/', { 'x-key': 'let-me-in' });
    assert.deepEqual([allowed.status, allowed.body], [200, 'api']);
    assert.deepEqual(allowed.headers['set-cookie'], ['a=1; Path=/; Secure; SameSite=Strict', 'b=2; Domain=x.test']);
    const limited = [await get('/limited'), await get('/limited'), await get('/limited')];
    assert.deepEqual(
      limited.map(({ status }) => status),
      [200, 200, 431],
    );
    assert.equal(limited[2]?.headers['x-why'], '100%');
    assert.equal((await get('/denied')).status, 403);
    const plain = (path: string) => send({ port: stage.httpPort, host: 'all.test', path });
    assert.equal((await plain('/copied')).status, 200);
    assert.equal((await plain('/')).status, 301);
    await waitFor(async () => mirrored.length >= 2, 'the mirror');
  });
});
