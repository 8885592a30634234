// A Gateway with HTTPRoutes through a real Envoy. On the embedded server only: the backends are on loopback, which a real server
// refuses in endpoints.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, test } from 'node:test';
import { EndpointSlice, Service } from '@capstan/kube';
import { createStage, freePort } from '@capstan/testing';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { sharedGateways } from '../conformance/shared-gateways.ts';
import { at, gateway, gatewayClass, httpRoute, installKinds, kinds, service } from '../gateway/fixtures.ts';
import { createAuthority, tlsData } from './certificates.ts';
import { missingEnvoy, startEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { BACKENDS, createIngressStage, listen } from './ingress-stage.ts';

suite('Gateway API through a real Envoy', { skip: missingEnvoy() }, () => {
  // On the delta stream the virtual hosts of a listener are resources of their own.
  for (const mode of ['grpc', 'delta-ads'] as const)
    test(`${mode}: a Gateway serves its HTTPRoutes by host, path and weight, and a broken backend answers 500`, async (context) => {
      const [port, own] = [await freePort(), await freePort()];
      const settings = testSettings((each) => {
        each.envoy.metrics.port = own;
        each.envoy.health.port = own;
      });
      const { operator, server } = sharedGateways(settings, {
        placement: { address: '127.0.0.1', ports: { 80: port } },
      });
      const stage = await createStage({ operators: [operator], given: installKinds });
      context.after(() => stage.end());
      const envoy = await startEnvoy({ xdsPort: (await server).port, mode });
      context.after(() => envoy.stop());
      for (const name of ['shop', 'blog']) {
        const http = createServer((request, response) =>
          response.end(`${name} ${String(request.headers['x-added'] ?? '')}`.trim()),
        );
        const backend = await listen(context, http, () => http.closeAllConnections());
        await stage.client.create(Service, service(name));
        await stage.client.create(EndpointSlice, {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { ...at(name), labels: { 'kubernetes.io/service-name': name } },
          addressType: 'IPv4',
          endpoints: [{ addresses: [BACKENDS], conditions: { ready: true } }],
          ports: [{ name: 'http', port: backend, protocol: 'TCP' }],
        });
      }
      await stage.client.create(kinds.GatewayClass, gatewayClass());
      const listeners = [
        { name: 'http', port: 80, protocol: 'HTTP' },
        { name: 'own', port: 80, protocol: 'HTTP', hostname: 'own.test' },
      ];
      await stage.client.create(kinds.Gateway, gateway('edge', { listeners }));
      await stage.client.create(kinds.HTTPRoute, httpRoute('all', 'edge', { hostnames: ['*.wild.test'] }));
      const to = (name: string, weight = 1) => ({ name, port: 80, weight });
      await stage.client.create(
        kinds.HTTPRoute,
        httpRoute('shop', 'edge', {
          hostnames: ['shop.test'],
          rules: [
            { backendRefs: [to('shop')] },
            { matches: [{ path: { value: '/both' } }], backendRefs: [to('shop'), to('blog')] },
            {
              matches: [{ path: { value: '/changed' } }],
              filters: [
                { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-added', value: 'yes' }] } },
              ],
              backendRefs: [to('blog')],
            },
            { matches: [{ path: { value: '/broken' } }], backendRefs: [to('missing')] },
          ],
        }),
      );
      await stage.settle();
      const get = async (path: string, host = 'shop.test') => {
        const { status, body } = await send({ port, host, path });
        return status === 200 ? body : status;
      };
      await waitFor(async () => (await get('/')) === 'shop', 'the route');
      assert.equal(await get('/changed/x'), 'blog yes');
      assert.equal(await get('/broken'), 500);
      assert.equal(await get('/', 'other.test'), 404);
      assert.equal(await get('/', 'any.wild.test'), 'shop');
      // It has a listener of its own, and no route: nothing of a wider listener is served.
      assert.equal(await get('/', 'own.test'), 404);
      const moved = [{ op: 'replace', path: '/spec/rules/0/backendRefs/0/name', value: 'blog' }];
      await stage.client.patch(kinds.HTTPRoute, at('all'), 'json', moved);
      await stage.settle();
      await waitFor(async () => (await get('/', 'any.wild.test')) === 'blog', 'the edited route');
      await stage.client.delete(kinds.HTTPRoute, at('all'));
      await stage.settle();
      await waitFor(async () => (await get('/', 'any.wild.test')) === 404, 'the end of a route');
      const seen = new Set<string | number>();
      await waitFor(async () => {
        seen.add(await get('/both'));
        return seen.size === 2;
      }, 'both backends');
      assert.deepEqual(seen, new Set(['blog', 'shop']));
      assert.deepEqual(
        (await server).reports().flatMap(({ rejections }) => rejections),
        [],
      );
    });

  test('authorization of every host holds for Gateways too, plain and with TLS', async (context) => {
    const [plain, secure] = [await freePort(), await freePort()];
    const authority = await createAuthority();
    const stage = await createIngressStage(
      context,
      'grpc',
      (settings) => {
        settings.globalExtAuth = {
          extensionRef: at('auth'),
          serviceType: 'http',
          httpSettings: { allowedAuthorizationHeaders: [{ exact: 'x-key' }] },
        };
      },
      { address: '127.0.0.1', ports: { 80: plain, 443: secure } },
    );
    const asked: string[] = [];
    await stage.backend('auth', (request, response) => {
      asked.push(String(request.headers.host));
      response.writeHead(request.headers['x-key'] === 'let-me-in' ? 200 : 401).end();
    });
    await stage.backend('shop', (_request, response) => response.end('shop'));
    await stage.create(ExtensionService, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'ExtensionService',
      metadata: at('auth'),
      spec: { services: [{ name: 'auth', port: 80 }], protocol: 'http/1.1' },
    });
    await stage.secret('shop', tlsData(await authority.issue('shop.test')));
    await stage.create(kinds.GatewayClass, gatewayClass());
    const https = { name: 'https', port: 443, protocol: 'HTTPS', hostname: 'shop.test' };
    const listeners = [
      { name: 'http', port: 80, protocol: 'HTTP' },
      { ...https, tls: { certificateRefs: [{ name: 'shop' }] } },
    ];
    await stage.create(kinds.Gateway, gateway('edge', { listeners }));
    await stage.create(kinds.HTTPRoute, httpRoute('shop', 'edge', { hostnames: ['shop.test'] }));
    const tls = { ca: authority.ca.certificate, servername: 'shop.test' };
    const key = { 'x-key': 'let-me-in' };
    for (const via of [{ port: plain }, { port: secure, tls }]) {
      const get = (headers = {}, host = 'shop.test') => send({ ...via, host, headers });
      await waitFor(async () => (await get(key)).status === 200, 'the route');
      assert.equal((await get()).status, 401);
    }
    // A client that is at the wrong listener is sent away without a question.
    const before = asked.length;
    assert.equal((await send({ port: secure, host: 'other.test', tls })).status, 421);
    assert.equal(asked.length, before);
  });
});
