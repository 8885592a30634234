// Patches of generated resources through a real Envoy: those that take effect, those that are left out, and those that Envoy refuses.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { createClient, EndpointSlice, Secret, Service, silentLogger, systemClock } from '@capstan/kube';
import { alwaysLeader, operator } from '@capstan/reconcile';
import { createTestCluster, freePort } from '@capstan/testing';
import { overlay } from '../../src/configuration/fields.ts';
import { effectiveConfiguration, problemText } from '../../src/configuration/index.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import type { ConfigurationSpec } from '../../src/kinds/index.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import type { DataPathReport } from '../../src/program/controllers.ts';
import { createDataPath } from '../../src/program/data-path.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { type EnvoyMode, missingEnvoy, startEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { BACKENDS, listen } from '../real/ingress-stage.ts';

type Patch = NonNullable<ConfigurationSpec['envoyPatches']>[number];

const patch = (name: string, type: string, resource: string, path: string, value: unknown): Patch => ({
  name,
  type,
  resource,
  operations: [{ op: 'add', path, value }],
});

const MANAGER = '/filters/0/typed_config';
const COUNT = '/include_attempt_count_in_response';
const TYPE = 'type.googleapis.com/';
const ATTEMPTS = 'x-envoy-attempt-count';

suite('patches of generated resources through a real Envoy', { skip: missingEnvoy() }, () => {
  for (const mode of ['ads', 'delta-ads', 'grpc'] as const)
    test(`a patch is in force for its resource alone, and a bad one harms nothing (${mode})`, async (context) => {
      const stage = await start(context, mode);
      const { configure, ask, attempts, warnings } = stage;
      assert.deepEqual(await attempts(), [undefined, undefined, undefined]);

      await configure([
        patch('plain', 'VirtualHost', 'ingress_http/shop.test', COUNT, true),
        patch('secure', 'VirtualHost', 'https/secure.test', COUNT, true),
        patch('via', 'FilterChain', 'ingress_https/secure.test', `${MANAGER}/via`, 'edge'),
        patch('backlog', 'Listener', 'ingress_https', '/tcp_backlog_size', 512),
        patch('named', 'Listener', 'ingress_http', `/filter_chains/0${MANAGER}/server_name`, 'edge'),
        patch('connect', 'Cluster', 'default/shop/80', '/connect_timeout', '7s'),
      ]);
      await waitFor(async () => (await attempts()).join(' ') === '1  1', 'the patched hosts');
      await waitFor(async () => (await ask('secure.test')).headers['via']?.includes('edge') === true, 'the chain');
      await waitFor(async () => (await ask('other.test')).headers.server === 'edge', 'the plain listener');
      const dump = await stage.dump();
      assert.match(dump, /"connect_timeout": ?"7s"/);
      assert.match(dump, /"tcp_backlog_size": ?512/);
      assert.deepEqual(warnings(), []);

      // One is protected, one does not fit, one has no resource, and Envoy refuses the last two. The others stay in force.
      const unknown = [{ name: 'unknown-predicate' }];
      await configure([
        patch('plain', 'VirtualHost', 'ingress_http/shop.test', COUNT, true),
        patch('takeover', 'VirtualHost', 'ingress_http/shop.test', '/domains/-', 'other.test'),
        patch('typo', 'VirtualHost', 'ingress_http/other.test', '/retry_policy', { retries: 1 }),
        patch('nowhere', 'Cluster', 'default/none/80', '/connect_timeout', '7s'),
        patch('host', 'VirtualHost', 'https/secure.test', '/retry_policy', { retry_host_predicate: unknown }),
        patch('shared', 'VirtualHost', 'ingress_http/other.test', '/retry_policy', { retry_host_predicate: unknown }),
      ]);
      await waitFor(() => warnings().length === 5, 'five warnings');
      const expected = [
        /^spec\.envoyPatches\[1\]\.operations\[0\]: takeover is left out for VirtualHost ingress_http\/shop\.test: \/domains is protected/,
        /^spec\.envoyPatches\[2\]\.operations\[0\]: typo is left out .*: \/retry_policy\/retries is not a field of/,
        /^spec\.envoyPatches\[3\]\.resource: nowhere has no effect: no Cluster is named "default\/none\/80"/,
        /^spec\.envoyPatches\[4\]: host is left out for VirtualHost https\/secure\.test: Envoy refused it \(.*unknown-predicate/,
        /^spec\.envoyPatches\[5\]: shared is left out for VirtualHost ingress_http\/other\.test: Envoy refused it/,
      ];
      for (const [index, pattern] of expected.entries()) assert.match(warnings()[index] ?? '', pattern);
      await waitFor(async () => (await attempts()).join(' ') === '1  ', 'the patch that is left');

      // The same for clusters, filter chains and listeners.
      const options = {
        nonsense: {
          '@type': `${TYPE}envoy.extensions.upstreams.http.v3.HttpProtocolOptions`,
          explicit_http_config: { http2_protocol_options: {} },
        },
      };
      const limit = {
        '@type': `${TYPE}envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit`,
        stat_prefix: 'limit',
        token_bucket: { max_tokens: 10, fill_interval: '0.001s' },
        filter_enabled: { default_value: { numerator: 100 } },
      };
      const socketOptions = [{ level: 99_999, name: 1, int_value: 1, state: 'STATE_PREBIND' }];
      await configure([
        patch('options', 'Cluster', 'default/shop/80', '/typed_extension_protocol_options', options),
        patch('filter', 'FilterChain', 'ingress_https/secure.test', `${MANAGER}/http_filters/0`, {
          name: 'limit',
          typed_config: limit,
        }),
        patch('socket', 'Listener', 'ingress_http', '/socket_options/-', socketOptions[0]),
        patch('frame', 'Listener', 'ingress_https', '/socket_options', socketOptions),
      ]);
      await waitFor(() => warnings().length === 4, 'four warnings');
      for (const warning of warnings()) assert.match(warning, /is left out for .*: Envoy refused it \(/);
      assert.match(await stage.dump(), /"name": ?"default\/shop\/80\//);
      await waitFor(async () => (await stage.statuses()).join(' ') === '200 200 200', 'all hosts');

      // An edit of a host whose patch is refused takes effect.
      for (const name of ['other', 'secure']) {
        const routes = [{ directResponsePolicy: { statusCode: 203, body: 'edited' } }];
        await stage.client.patch(HTTPProxy, { namespace: 'default', name }, 'merge', { spec: { routes } });
        await waitFor(async () => (await ask(`${name}.test`)).status === 203, `the edit of ${name}`);
      }

      // A patch that is corrected is in force, without a restart.
      await configure([patch('host', 'VirtualHost', 'https/secure.test', COUNT, true)]);
      await waitFor(() => warnings().length === 0, 'no warning');
      await waitFor(async () => (await attempts())[0] === undefined, 'the host without its patch');
      await stage.client.delete(HTTPProxy, { namespace: 'default', name: 'secure' });
      await waitFor(() => warnings().length === 1, 'the warning about a host that is gone');
      assert.match(warnings()[0] ?? '', /^spec\.envoyPatches\[0\]\.resource: host has no effect/);
    });
});

async function start(context: TestContext, mode: EnvoyMode) {
  const kinds = [HTTPProxy, TLSCertificateDelegation, ExtensionService];
  const cluster = await createTestCluster({
    clock: systemClock,
    random: Math.random,
    operators: [operator({ name: 'routes', kinds, reconcilers: [] })],
  });
  context.after(() => cluster.close());
  const { client } = cluster;
  const authority = await createAuthority();
  const server = createServer((_request, response) => response.end('answer'));
  const port = await listen(context, server, () => server.closeAllConnections());
  const metadata = { name: 'shop', namespace: 'default' };
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: port }] },
  });
  await client.create(EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'shop' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [BACKENDS], conditions: { ready: true } }],
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  });
  const data = Object.entries(tlsData(await authority.issue('secure.test')));
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'cert', namespace: 'default' },
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(data.map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  });
  for (const name of ['shop', 'other', 'secure'])
    await client.create(HTTPProxy, {
      apiVersion: HTTPProxy.apiVersion,
      kind: HTTPProxy.kind,
      metadata: { name, namespace: 'default' },
      spec: {
        virtualhost: { fqdn: `${name}.test`, ...(name === 'secure' && { tls: { secretName: 'cert' } }) },
        routes: [{ services: [{ name: 'shop', port: 80 }] }],
      },
    });
  const [httpPort, httpsPort, ownPort] = [await freePort(), await freePort(), await freePort()];
  const endpoint = (number: number) => ({ address: '127.0.0.1', port: number, accessLog: '/dev/null' });
  const own = { address: '127.0.0.1', port: ownPort };
  const base: ConfigurationSpec = {
    xdsServer: { insecure: true },
    envoy: {
      http: endpoint(httpPort),
      https: endpoint(httpsPort),
      metrics: own,
      health: own,
      network: { adminPort: 0 },
    },
  };
  const configurationOf = (envoyPatches: readonly Patch[]) => {
    const given = overlay(base, { envoyPatches });
    const { value, errors } = effectiveConfiguration({ given, source: { from: 'resource', name: 'sesame' } });
    assert.deepEqual(errors, []);
    return value;
  };
  const listening = Promise.withResolvers<number>();
  let report: DataPathReport | undefined;
  const dataPath = createDataPath({
    client: createClient({ transport: cluster.transport(), clock: systemClock, logger: silentLogger }),
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    leadership: alwaysLeader,
    namespace: 'default',
    watchNamespaces: undefined,
    listen: { address: '127.0.0.1', port: 0 },
    onListening: (each) => listening.resolve(each),
  }).start(configurationOf([]), (next) => {
    report = next;
  });
  context.after(() => dataPath.stop());
  const envoy = await startEnvoy({ xdsPort: await listening.promise, mode });
  context.after(() => envoy.stop());
  const ca = authority.ca.certificate;
  const ask = (host: string) =>
    host === 'secure.test' ? send({ port: httpsPort, host, tls: { ca } }) : send({ port: httpPort, host });
  const hosts = ['shop.test', 'other.test', 'secure.test'];
  for (const host of hosts) await waitFor(async () => (await ask(host)).status === 200, `${host}: the first answer`);
  return {
    client,
    ask,
    configure: (patches: readonly Patch[]) => dataPath.configure(configurationOf(patches)),
    /** How often Envoy tried, as the answers of the three hosts show it where they are patched. */
    attempts: () => Promise.all(hosts.map(async (host) => (await ask(host)).headers[ATTEMPTS])),
    statuses: () => Promise.all(hosts.map(async (host) => (await ask(host)).status)),
    warnings: () => (report?.warnings ?? []).map((problem) => problemText(problem)),
    dump: () => envoy.admin('/config_dump'),
  };
}
