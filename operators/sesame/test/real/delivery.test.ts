// The xDS server and a real Envoy, in every way in which Envoy can subscribe.
import assert from 'node:assert/strict';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import {
  createResource,
  createResourceStore,
  type NodeReport,
  resourceKey,
  startXdsServer,
} from '../../src/xds/index.ts';
import { cluster, endpoints, listener, put } from '../../src/xds/xds.test-support.ts';
import { type EnvoyMode, missingEnvoy, startEnvoy, waitFor } from './envoy.ts';

const skip = missingEnvoy();

suite('a real Envoy', { skip, concurrency: 2 }, () => {
  for (const mode of ['grpc', 'delta', 'ads', 'delta-ads'] as const satisfies EnvoyMode[]) {
    test(`${mode}: routes, clusters, endpoints and virtual hosts change without a failed request or a refusal`, async (context) => {
      const one = await backend(context, 'one');
      const two = await backend(context, 'two');
      const port = await freePort();
      const store = createResourceStore();
      const reports: NodeReport[] = [];
      const server = await startXdsServer({
        store,
        address: '127.0.0.1',
        port: 0,
        onReport: (report) => reports.push(report),
      });
      context.after(() => server.close());
      const shop = host('shop.example.com', 'a');
      put(store, cluster('a'), endpoints('a-endpoints', one), listener('ingress_http', port, 'ingress_http'));
      put(store, runtime(), ...shared([shop]));

      const envoy = await startEnvoy({ xdsPort: server.port, mode });
      context.after(() => envoy.stop());
      const get = (name: string) => fetchBy(port, name);
      await waitFor(
        async () => (await get('shop.example.com')).body === 'one',
        `the first answer; ${envoy.log().slice(-3000)}`,
      );

      // Another cluster, make before break.
      put(store, cluster('b'), endpoints('b-endpoints', two), ...shared([host('shop.example.com', 'b')]));
      store.take([
        [resourceKey('cds', 'a'), undefined],
        [resourceKey('eds', 'a-endpoints'), undefined],
      ]);
      const seen = new Set<string>();
      await waitFor(async () => {
        const { status, body } = await get('shop.example.com');
        assert.equal(status, 200);
        seen.add(body);
        return body === 'two';
      }, 'the second cluster');

      // Another host.
      put(store, ...shared([host('shop.example.com', 'b'), host('*.blog.example.com', 'b')]));
      await waitFor(async () => (await get('a.blog.example.com')).status === 200, 'the new host');
      assert.equal((await get('shop.example.com')).status, 200);

      // Endpoints alone.
      put(store, endpoints('b-endpoints', one));
      await waitFor(async () => (await get('shop.example.com')).body === 'one', 'the moved endpoint');

      // A host that goes.
      const left = shared([host('shop.example.com', 'b')]).map((each) => [each.key, each] as const);
      store.take([...left, [resourceKey('vhds', 'ingress_http/*.blog.example.com'), undefined]]);
      await waitFor(async () => (await get('a.blog.example.com')).status === 404, 'the host to go');
      assert.equal((await get('shop.example.com')).status, 200);
      assert.deepEqual(
        reports.flatMap(({ rejections }) => rejections),
        [],
      );
    });
  }
});

function host(name: string, clusterName: string) {
  const route = { match: { prefix: '/' }, route: { cluster: clusterName } };
  return { clusterName, value: { name, domains: [name], routes: [route] } };
}

/** Plain hosts are one route configuration, or one resource each for delta clients of the aggregated stream. */
function shared(hosts: readonly ReturnType<typeof host>[]) {
  const name = 'ingress_http';
  const requires = hosts.map(({ clusterName }) => resourceKey('cds', clusterName));
  const all = createResource({
    type: 'rds',
    name,
    value: { name, virtual_hosts: hosts.map(({ value }) => value) },
    splitValue: { name, vhds: { config_source: { ads: {}, resource_api_version: 'V3' } } },
    requires,
  });
  const each = hosts.map(({ value, clusterName }) =>
    createResource({
      type: 'vhds',
      name: `${name}/${value.name}`,
      value: { ...value, name: `${name}/${value.name}` },
      requires: [resourceKey('cds', clusterName)],
    }),
  );
  return [all, ...each];
}

function runtime() {
  return createResource({
    type: 'rtds',
    name: 'dynamic',
    value: { name: 'dynamic', layer: { 're2.max_program_size.error_level': 1_048_576 } },
  });
}

async function backend(context: TestContext, answer: string): Promise<number> {
  const server: Server = createServer((_, response) => response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => server.closeAllConnections());
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function fetchBy(port: number, name: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, headers: { host: name }, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += String(chunk)));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on('error', () => resolve({ status: 0, body: '' }));
    sent.end();
  });
}
