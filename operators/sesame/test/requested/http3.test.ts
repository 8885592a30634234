// HTTP/3 through a real Envoy. Another Envoy is the client: it passes requests of HTTP/1 on over QUIC, by the name of the host.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '@capstan/testing';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { missingEnvoy, startEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { createIngressStage } from '../real/ingress-stage.ts';

const NAMES = ['one', 'two', 'mutual', 'old', 'asking', 'any', 'closed'];

suite('HTTP/3 through a real Envoy', { skip: missingEnvoy() }, () => {
  test('hosts with TLS are offered and served over HTTP/3, except those that it would weaken', async (context) => {
    const stage = await createIngressStage(context, 'delta-ads', (settings) => {
      settings.envoy.http3 = { enabled: true, advertisedPort: 4433 };
    });
    const authority = await createAuthority();
    const ca = authority.ca.certificate;
    await stage.secret('wildcard', tlsData(await authority.issue('*.h3.test')));
    await stage.secret('ca', { 'ca.crt': ca }, 'Opaque');
    await stage.backend('shop', (request, response) => response.end(`shop ${request.headers.host ?? ''}`));
    await stage.service('away', 1);
    await stage.create(ExtensionService, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'ExtensionService',
      metadata: { name: 'away', namespace: 'default' },
      spec: { services: [{ name: 'away', port: 80 }], protocol: 'h2c' },
    });
    const host = (name: string, tls: object = {}, more: object = {}) =>
      stage.proxy(name, {
        virtualhost: { fqdn: `${name}.h3.test`, tls: { secretName: 'wildcard', ...tls }, ...more },
        routes: [{ services: [{ name: 'shop', port: 80 }] }],
      });
    await host('one');
    await host('two');
    await host('mutual', { clientValidation: { caSecret: 'ca', optionalClientCertificate: true } });
    await host('old', { maximumProtocolVersion: '1.2' });
    await host('asking', {}, { authorization: { extensionRef: { name: 'away' } } });
    await host('any', {}, { fqdn: '*' });
    await host('closed', { secretName: 'missing' });
    const overHttp3 = await startClient(context, stage.httpsPort, ca);
    const overTls = async (name: string) => {
      const { status, headers } = await send({ port: stage.httpsPort, host: `${name}.h3.test`, tls: { ca } });
      return [status, headers['alt-svc']];
    };
    await waitFor(async () => (await overHttp3('one'))[0] === 200, 'the host over HTTP/3');
    await waitFor(async () => (await overHttp3('two'))[0] === 200, 'the other host over HTTP/3');
    await waitFor(async () => (await overTls('one'))[0] === 200, 'the host over TLS');
    assert.deepEqual(await overHttp3('one'), [200, 'shop one.h3.test']);
    assert.deepEqual(await overTls('one'), [200, 'h3=":4433"; ma=86400']);
    // A request for another host on the same connection finds no route of this one.
    assert.equal((await overHttp3('one', 'two.h3.test'))[0], 421);
    assert.deepEqual((await overHttp3('asking'))[0], 403);
    for (const name of ['mutual', 'old', 'any']) {
      assert.equal((await overHttp3(name))[0], 503, name);
      assert.deepEqual(await overTls(name), [200, undefined], name);
    }
    assert.equal((await overHttp3('closed'))[0], 503);

    await stage.client.patch(HTTPProxy, { namespace: 'default', name: 'two' }, 'merge', {
      spec: { routes: [{ directResponsePolicy: { statusCode: 200, body: 'edited' } }] },
    });
    await waitFor(async () => (await overHttp3('two'))[1] === 'edited', 'the edited route');
    await stage.client.delete(HTTPProxy, { namespace: 'default', name: 'two' });
    await waitFor(async () => (await overHttp3('two'))[0] === 503, 'the end of the deleted host');
    assert.equal((await overHttp3('one'))[0], 200);
    assert.deepEqual(stage.refusals(), []);
  });
});

/** Starts the client; a request is for a name, and its Host may be another one. */
async function startClient(context: TestContext, port: number, ca: string) {
  const own = await freePort();
  const manager = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
  const any = (type: string, fields: object = {}) => ({ '@type': `type.googleapis.com/${type}`, ...fields });
  const envoy = await startEnvoy({
    xdsPort: 0,
    mode: 'ads',
    nodeId: 'client',
    resources: {
      listeners: [
        {
          name: 'client',
          address: { socket_address: { address: '127.0.0.1', port_value: own } },
          filter_chains: [
            {
              filters: [
                {
                  name: 'manager',
                  typed_config: any(manager, {
                    stat_prefix: 'client',
                    route_config: {
                      virtual_hosts: [
                        {
                          name: 'all',
                          domains: ['*'],
                          routes: NAMES.map((name) => ({
                            match: { prefix: '/', headers: [{ name: 'x-sni', string_match: { exact: name } }] },
                            route: { cluster: name },
                          })),
                        },
                      ],
                    },
                    http_filters: [
                      { name: 'router', typed_config: any('envoy.extensions.filters.http.router.v3.Router') },
                    ],
                  }),
                },
              ],
            },
          ],
        },
      ],
      clusters: NAMES.map((name) => ({
        name,
        type: 'STATIC',
        connect_timeout: '2s',
        load_assignment: {
          cluster_name: name,
          endpoints: [
            {
              lb_endpoints: [{ endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } }],
            },
          ],
        },
        typed_extension_protocol_options: {
          'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': any(
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
            { explicit_http_config: { http3_protocol_options: {} } },
          ),
        },
        transport_socket: {
          name: 'envoy.transport_sockets.quic',
          typed_config: any('envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport', {
            upstream_tls_context: {
              sni: `${name}.h3.test`,
              common_tls_context: { validation_context: { trusted_ca: { inline_string: ca } } },
            },
          }),
        },
      })),
    },
  });
  context.after(() => envoy.stop());
  return async (name: string, host = `${name}.h3.test`): Promise<[number, string]> => {
    const { status, body } = await send({ port: own, host, headers: { 'x-sni': name } });
    return [status, body];
  };
}
