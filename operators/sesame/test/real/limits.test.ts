// Rate limits as requests feel them: of Envoy itself, and of a rate limit service.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { startRateLimits } from './extension-servers.ts';
import { send } from './http-client.ts';
import { createIngressStage } from './ingress-stage.ts';

suite('rate limits through a real Envoy', { skip: missingEnvoy() }, () => {
  test('local limits count in Envoy, global ones at the service', async (context) => {
    const stage = await createIngressStage(context, 'ads', (settings) => {
      settings.rateLimitService = {
        extensionService: 'default/limits',
        domain: 'shop',
        failOpen: false,
        enableXRateLimitHeaders: false,
        enableResourceExhaustedCode: false,
      };
    });
    const asked: string[] = [];
    await stage.service(
      'limits',
      await startRateLimits(context, (request) => {
        asked.push(request);
        return request.includes('blocked');
      }),
    );
    await stage.create(ExtensionService, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'ExtensionService',
      metadata: { name: 'limits', namespace: 'default' },
      spec: { services: [{ name: 'limits', port: 80 }], protocol: 'h2c' },
    });
    await stage.backend('web', (_, response) => response.end('web'));
    const services = [{ name: 'web', port: 80 }];
    const get = (host: string, path = '/', headers: Record<string, string> = {}) =>
      send({ port: stage.httpPort, host, path, headers });
    const statuses = async (count: number, host: string, path: string) => {
      const found: number[] = [];
      for (let index = 0; index < count; index += 1) found.push((await get(host, path)).status);
      return found;
    };
    const reach = (host: string, path: string) =>
      waitFor(async () => (await get(host, path)).status === 200, `${host}; ${stage.refusals().join('\n')}`);

    await context.test(
      'local: requests and burst, with its own status and headers, of a route and of a host',
      async () => {
        await stage.proxy('local', {
          virtualhost: { fqdn: 'local.test', rateLimitPolicy: { local: { requests: 4, unit: 'hour' } } },
          routes: [
            { services },
            {
              conditions: [{ prefix: '/own' }],
              services,
              rateLimitPolicy: {
                local: {
                  requests: 1,
                  unit: 'hour',
                  burst: 2,
                  responseStatusCode: 503,
                  responseHeadersToAdd: [{ name: 'X-Limited', value: '100%' }],
                },
              },
            },
            { conditions: [{ prefix: '/ready' }], directResponsePolicy: { statusCode: 200 } },
          ],
        });
        // One token of the host goes to the request that finds it ready.
        await reach('local.test', '/ready');
        assert.deepEqual(await statuses(4, 'local.test', '/own'), [200, 200, 200, 503]);
        assert.equal((await get('local.test', '/own')).headers['x-limited'], '100%');
        assert.deepEqual(await statuses(4, 'local.test', '/'), [200, 200, 200, 429]);
      },
    );

    await context.test(
      'global: descriptors decide, a route may opt out, and nothing passes without the service',
      async () => {
        const entries = (value: string) => ({ descriptors: [{ entries: [{ genericKey: { value } }] }] });
        await stage.proxy('global', {
          virtualhost: { fqdn: 'global.test', rateLimitPolicy: { global: entries('host') } },
          routes: [
            { services },
            { conditions: [{ prefix: '/blocked' }], services, rateLimitPolicy: { global: entries('blocked') } },
            {
              conditions: [{ prefix: '/header' }],
              services,
              rateLimitPolicy: {
                global: {
                  descriptors: [
                    { entries: [{ requestHeader: { headerName: 'x-user', descriptorKey: 'user' } }] },
                    {
                      entries: [
                        {
                          requestHeaderValueMatch: {
                            headers: [{ name: 'x-plan', exact: 'free' }],
                            value: 'blocked-plan',
                            expectMatch: true,
                          },
                        },
                        { remoteAddress: {} },
                      ],
                    },
                  ],
                },
              },
            },
            { conditions: [{ prefix: '/free' }], services, rateLimitPolicy: { global: { disabled: true } } },
          ],
        });
        await reach('global.test', '/');
        assert.ok(
          asked.at(-1)?.includes('shop') && asked.at(-1)?.includes('generic_key'),
          asked.at(-1) ?? 'nothing asked',
        );
        assert.equal((await get('global.test', '/blocked')).status, 429);
        assert.equal((await get('global.test', '/header', { 'x-user': 'ann' })).status, 200);
        assert.equal((await get('global.test', '/header', { 'x-user': 'blocked-user' })).status, 429);
        assert.equal((await get('global.test', '/header', { 'x-plan': 'free' })).status, 429);
        const before = asked.length;
        assert.equal((await get('global.test', '/free')).status, 200);
        assert.equal(asked.length, before);
        await stage.endpoints('limits', []);
        await waitFor(async () => (await get('global.test', '/')).status === 500, 'requests to be refused');
        assert.equal((await get('global.test', '/free')).status, 200);
      },
    );
  });
});
