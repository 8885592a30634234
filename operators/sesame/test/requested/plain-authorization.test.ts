// External authorization of hosts without TLS through a real Envoy: all of them share one listener, and each has its own service.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, test } from 'node:test';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { missingEnvoy, waitFor } from '../real/envoy.ts';
import { startAuthorization } from '../real/extension-servers.ts';
import { send } from '../real/http-client.ts';
import { createIngressStage, listen } from '../real/ingress-stage.ts';

const extension = (name: string, protocol = 'h2c'): ExtensionService => ({
  apiVersion: 'projectsesame.io/v1alpha1',
  kind: 'ExtensionService',
  metadata: { name, namespace: 'default' },
  spec: { services: [{ name, port: 80 }], protocol },
});

suite('authorization of plain hosts through a real Envoy', { skip: missingEnvoy() }, () => {
  for (const isGlobal of [false, true])
    test(`each host asks its own service${isGlobal ? ', in the place of that of all hosts' : ''}`, async (context) => {
      const stage = await createIngressStage(context, 'delta-ads', (settings) => {
        if (isGlobal) settings.globalExtAuth = { extensionRef: { namespace: 'default', name: 'all' } };
      });
      await stage.backend('web', (request, response) => response.end(JSON.stringify(request.headers)));
      const asked: Record<string, string[]> = {};
      for (const name of ['all', 'first', 'second']) {
        const requests: string[] = (asked[name] = []);
        const port = await startAuthorization(context, (request) => {
          requests.push(request);
          return request.includes(`key-of-${name}`)
            ? { allow: true, headers: { 'x-asked': name } }
            : { allow: false, status: 402, body: name };
        });
        await stage.service(name, port);
        await stage.create(ExtensionService, extension(name));
      }
      const overHttp = createServer((request, response) => {
        const isAllowed = request.headers.authorization === 'let-me-in' && request.url?.startsWith('/check') === true;
        response
          .setHeader('x-asked', 'http')
          .writeHead(isAllowed ? 200 : 401)
          .end();
      });
      await stage.service('http', await listen(context, overHttp, () => overHttp.closeAllConnections()));
      await stage.create(ExtensionService, extension('http', 'http/1.1'));
      await stage.service('away', 1);
      await stage.create(ExtensionService, extension('away'));
      const services = [{ name: 'web', port: 80 }];
      const host = (name: string, authorization?: object) =>
        stage.proxy(name, {
          virtualhost: { fqdn: `${name}.test`, ...(authorization && { authorization }) },
          routes: [
            { services },
            { conditions: [{ prefix: '/open' }], services, authPolicy: { disabled: true } },
            { conditions: [{ prefix: '/context' }], services, authPolicy: { context: { part: 'of-the-route' } } },
          ],
        });
      const ask = async (name: string, key = 'none', path = '/') => {
        const headers = { authorization: 'let-me-in', 'x-key': `key-of-${key}` };
        const { status, body } = await send({ port: stage.httpPort, host: `${name}.test`, path, headers });
        return status === 200 ? [status, (JSON.parse(body) as Record<string, string>)['x-asked']] : [status, body];
      };
      await host('first', { extensionRef: { name: 'first' }, authPolicy: { context: { tenant: 'of-the-host' } } });
      await host('second', { extensionRef: { name: 'second' } });
      await host('bare');
      await host('http', {
        extensionRef: { name: 'http' },
        serviceType: 'http',
        httpSettings: { pathPrefix: '/check', allowedUpstreamHeaders: [{ exact: 'x-asked' }] },
      });
      await host('closed', { extensionRef: { name: 'away' } });
      await host('opened', { extensionRef: { name: 'away' }, failOpen: true });
      for (const name of ['first', 'second', 'http', 'closed', 'opened'])
        await waitFor(async () => (await ask(name, name, '/open'))[0] === 200, `${name} to be served`);

      assert.deepEqual(await ask('first', 'first'), [200, 'first']);
      assert.deepEqual(await ask('first', 'second'), [402, 'first']);
      assert.deepEqual(await ask('second', 'second'), [200, 'second']);
      assert.deepEqual(await ask('second', 'first'), [402, 'second']);
      assert.deepEqual(await ask('bare'), isGlobal ? [402, 'all'] : [200, undefined]);
      assert.deepEqual(await ask('http'), [200, 'http']);
      assert.equal((await ask('closed'))[0], 403);
      assert.deepEqual(await ask('opened'), [200, undefined]);
      assert.ok(asked['first']?.at(-1)?.includes('of-the-host'));
      assert.deepEqual(await ask('first', 'first', '/context'), [200, 'first']);
      assert.ok(asked['first']?.at(-1)?.includes('of-the-host') && asked['first'].at(-1)?.includes('of-the-route'));
      const before = asked['first']?.length;
      assert.deepEqual(await ask('first', 'none', '/open'), [200, undefined]);
      assert.equal(asked['first']?.length, before);
      if (isGlobal) assert.ok(!JSON.stringify(asked['all']).includes('first.test'), 'the service of all is not asked');

      // A host gets a service while its listener stays: no connection is drained.
      await stage.client.patch(HTTPProxy, { namespace: 'default', name: 'bare' }, 'merge', {
        spec: { virtualhost: { authorization: { extensionRef: { name: 'first' } } } },
      });
      await waitFor(async () => (await ask('bare'))[1] === 'first', 'the service of the host');
      const drained = await stage.envoy.admin('/stats?filter=listener_manager.listener_(modified|removed)');
      assert.deepEqual(drained.match(/\d+$/gm), ['0', '0']);
      assert.deepEqual(stage.refusals(), []);
    });
});
