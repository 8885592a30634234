// Compression by route and host through a real Envoy, where the configuration compresses and where it does not.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { missingEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { createIngressStage } from '../real/ingress-stage.ts';

suite('compression through a real Envoy', { skip: missingEnvoy() }, () => {
  for (const [algorithm, own] of [
    ['gzip', 'gzip'],
    ['disabled', undefined],
  ] as const)
    test(`a route decides in the place of the configuration (${algorithm})`, async (context) => {
      const stage = await createIngressStage(context, 'delta-ads', (settings) => {
        settings.envoy.listener.compression.algorithm = algorithm;
      });
      const authority = await createAuthority();
      await stage.secret('cert', tlsData(await authority.issue('secure.test')));
      await stage.backend('shop', (_request, response) =>
        response.setHeader('content-type', 'text/plain').end('shop '.repeat(500)),
      );
      const services = [{ name: 'shop', port: 80 }];
      const routes = [
        { services },
        ...['gzip', 'brotli', 'zstd', 'disabled'].map((each) => ({
          conditions: [{ prefix: `/${each}` }],
          services,
          compressionPolicy: { algorithm: each },
        })),
      ];
      await stage.proxy('shop', { virtualhost: { fqdn: 'shop.test' }, routes });
      await stage.proxy('secure', { virtualhost: { fqdn: 'secure.test', tls: { secretName: 'cert' } }, routes });
      await stage.proxy('off', {
        virtualhost: { fqdn: 'off.test', compressionPolicy: { algorithm: 'disabled' } },
        routes,
      });
      const ask = async (host: string, path: string, accepted = 'gzip, br, zstd') => {
        const isSecure = host === 'secure.test';
        const { status, headers } = await send({
          port: isSecure ? stage.httpsPort : stage.httpPort,
          host,
          path,
          headers: { 'accept-encoding': accepted },
          ...(isSecure && { tls: { ca: authority.ca.certificate } }),
        });
        return status === 200 ? headers['content-encoding'] : status;
      };
      for (const host of ['shop.test', 'secure.test', 'off.test']) {
        await waitFor(async () => typeof (await ask(host, '/')) !== 'number', host);
        assert.equal(await ask(host, '/'), host === 'off.test' ? undefined : own, host);
        assert.deepEqual(
          [
            await ask(host, '/gzip'),
            await ask(host, '/brotli'),
            await ask(host, '/zstd'),
            await ask(host, '/disabled'),
          ],
          ['gzip', 'br', 'zstd', undefined],
          host,
        );
        assert.equal(await ask(host, '/brotli', 'identity'), undefined);
      }
      assert.deepEqual(stage.refusals(), []);
    });
});
