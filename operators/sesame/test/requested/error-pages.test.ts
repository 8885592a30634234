// Error pages through a real Envoy: of a host, of all hosts, in the place of answers of Envoy and of services.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { missingEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { createIngressStage } from '../real/ingress-stage.ts';

const page = (body: string, statusCodes = [503]) => ({ statusCodes, body });

suite('error pages through a real Envoy', { skip: missingEnvoy() }, () => {
  for (const mode of ['ads', 'delta-ads'] as const)
    test(`a host has its pages, and all other answers stay as they are (${mode})`, async (context) => {
      const stage = await createIngressStage(context, mode);
      const authority = await createAuthority();
      await stage.secret('cert', tlsData(await authority.issue('secure.test')));
      await stage.backend('shop', (request, response) => {
        response.statusCode = Number(request.url?.slice(1) ?? 200);
        response.end('of the service');
      });
      const routes: HTTPProxy['spec']['routes'] = [
        { services: [{ name: 'shop', port: 80 }] },
        { conditions: [{ prefix: '/none' }], services: [{ name: 'none', port: 80 }] },
        { conditions: [{ prefix: '/own' }], directResponsePolicy: { statusCode: 503, body: 'of the route' } },
        { conditions: [{ prefix: '/bare' }], directResponsePolicy: { statusCode: 503 } },
      ];
      await stage.service('none', 1, { addresses: [] });
      const errorPages = [
        page('<h1>back soon: 100 %</h1>', [502, 503]),
        { statusCodes: [500], body: '{}', contentType: 'application/json', replaceServiceResponses: true },
        { statusCodes: [404], responseStatusCode: 200, replaceServiceResponses: true },
      ];
      await stage.proxy('plain', { virtualhost: { fqdn: 'plain.test' }, routes });
      await stage.proxy('shop', { virtualhost: { fqdn: 'shop.test', errorPages }, routes });
      await stage.proxy('secure', {
        virtualhost: { fqdn: 'secure.test', tls: { secretName: 'cert' }, errorPages },
        routes,
      });
      const ca = authority.ca.certificate;
      const ask = async (host: string, path: string) => {
        const isSecure = host === 'secure.test';
        const port = isSecure ? stage.httpsPort : stage.httpPort;
        const { status, body, headers } = await send({ port, host, path, ...(isSecure && { tls: { ca } }) });
        return [status, body, headers['content-type']];
      };
      for (const host of ['shop.test', 'secure.test']) {
        const html = 'text/html; charset=utf-8';
        await waitFor(async () => (await ask(host, '/none'))[0] === 503, host);
        assert.deepEqual(await ask(host, '/none'), [503, '<h1>back soon: 100 %</h1>', html]);
        assert.deepEqual(await ask(host, '/bare'), [503, '<h1>back soon: 100 %</h1>', html]);
        assert.deepEqual(await ask(host, '/own'), [503, 'of the route', 'text/plain']);
        assert.deepEqual(await ask(host, '/503'), [503, 'of the service', undefined]);
        assert.deepEqual(await ask(host, '/500'), [500, '{}', 'application/json']);
        assert.deepEqual((await ask(host, '/404')).slice(0, 2), [200, '']);
        assert.deepEqual(await ask(host, '/200'), [200, 'of the service', undefined]);
      }
      const grpc = await send({
        port: stage.httpPort,
        host: 'shop.test',
        path: '/none',
        method: 'POST',
        headers: { 'content-type': 'application/grpc' },
      });
      assert.deepEqual([grpc.status, grpc.headers['grpc-status'], grpc.body], [200, '14', '']);
      assert.deepEqual(await ask('plain.test', '/none'), [503, 'no healthy upstream', 'text/plain']);
      assert.deepEqual(await ask('plain.test', '/500'), [500, 'of the service', undefined]);

      await stage.client.patch(HTTPProxy, { namespace: 'default', name: 'shop' }, 'merge', {
        spec: { virtualhost: { errorPages: [page('other')] } },
      });
      await waitFor(async () => (await ask('shop.test', '/none'))[1] === 'other', 'the new page');
      assert.deepEqual(stage.refusals(), []);
    });

  test('the pages of all hosts hold where a host has none of its own for the status', async (context) => {
    const stage = await createIngressStage(context, 'delta-ads', (settings) => {
      settings.envoy.errorPages = [page('of all', [404, 503])];
    });
    await stage.service('none', 1, { addresses: [] });
    const routes: HTTPProxy['spec']['routes'] = [
      { conditions: [{ prefix: '/none' }], services: [{ name: 'none', port: 80 }] },
      { conditions: [{ prefix: '/own' }], directResponsePolicy: { statusCode: 404, body: 'of the route' } },
    ];
    await stage.proxy('plain', { virtualhost: { fqdn: 'plain.test' }, routes });
    await stage.proxy('shop', { virtualhost: { fqdn: 'shop.test', errorPages: [page('of the host')] }, routes });
    const ask = async (host: string, path: string) => {
      const { status, body } = await send({ port: stage.httpPort, host, path });
      return [status, body];
    };
    await waitFor(async () => (await ask('shop.test', '/none'))[1] === 'of the host', 'the host');
    await waitFor(async () => (await ask('plain.test', '/none'))[1] === 'of all', 'the other host');
    assert.deepEqual(await ask('plain.test', '/missing'), [404, 'of all']);
    assert.deepEqual(await ask('plain.test', '/own'), [404, 'of the route']);
    assert.deepEqual(await ask('shop.test', '/missing'), [404, 'of all']);
    assert.deepEqual(await ask('unknown.test', '/'), [404, 'of all']);
    assert.deepEqual(stage.refusals(), []);
  });
});
