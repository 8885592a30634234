// The xDS server and a real Envoy, in every way in which Envoy can subscribe.

import assert from 'node:assert/strict';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '@capstan/testing';
import { Fragment } from '../../src/envoy/index.ts';
import type { Route } from '../../src/model/route.ts';
import { createAssembly } from '../../src/routing/assembly/assembly.ts';
import { Piece } from '../../src/routing/assembly/piece.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { streamMessage } from '../../src/routing/envoy/listener-message.ts';
import { sharedHost } from '../../src/routing/envoy/route-message.ts';
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

  for (const mode of ['grpc', 'delta', 'ads', 'delta-ads'] as const satisfies EnvoyMode[]) {
    test(`${mode}: a host that Envoy refuses keeps its last version, and all others follow their changes`, async (context) => {
      const one = await backend(context, 'one');
      const { port, store, assembly, server, refused } = await servedHosts(context, 'http');
      put(store, cluster('a'), endpoints('a-endpoints', one));
      const serve = (name: string, route: Route) =>
        store.take(assembly.take([{ key: name, after: served(name, route) }]));
      const answer = (status: number) => routeTo({ kind: 'prefix', value: '/' }, status);
      // Envoy does not know look-ahead.
      const bad = (status: number) => routeTo({ kind: 'regex', value: '/(?=x)' }, status);
      serve('bad.test', bad(200));
      serve('good.test', answer(201));
      serve('other.test', answer(201));
      const envoy = await startEnvoy({ xdsPort: server.port, mode });
      context.after(() => envoy.stop());
      const status = async (name: string) => (await fetchBy(port, name)).status;
      // One of three is refused by a client that has nothing yet.
      await waitFor(async () => (await status('good.test')) === 201, `a good host; ${envoy.log().slice(-2000)}`);
      await waitFor(async () => (await status('other.test')) === 201, 'another good host');
      assert.equal(await status('bad.test'), 404);
      await waitFor(async () => refused().length === 1, 'the report');
      assert.deepEqual(refused(), ['HTTPProxy default/bad.test']);
      // It is corrected, then broken again: its last version stays, and edits of others arrive.
      serve('bad.test', answer(202));
      await waitFor(async () => (await status('bad.test')) === 202, 'the corrected host');
      await waitFor(async () => refused().length === 0, 'no report');
      serve('bad.test', bad(203));
      serve('good.test', answer(204));
      await waitFor(async () => (await status('good.test')) === 204, 'an edit of another host');
      assert.equal(await status('bad.test'), 202);
      assert.deepEqual(refused(), ['HTTPProxy default/bad.test']);
      serve('bad.test', answer(205));
      await waitFor(async () => (await status('bad.test')) === 205, 'the host corrected again');
    });
  }

  for (const mode of ['grpc', 'delta-ads'] as const satisfies EnvoyMode[])
    test(`${mode}: no request fails when all clusters are renamed at once`, async (context) => {
      const target = await backend(context, 'here');
      const port = await freePort();
      const store = createResourceStore();
      const server = await startXdsServer({ store, address: '127.0.0.1', port: 0 });
      context.after(() => server.close());
      const ids = Array.from({ length: 120 }, (_, at) => at);
      const name = (at: number, version: string) => `c${at}-${version}`;
      const hosts = (version: string) => shared(ids.map((at) => host(`h${at}.test`, name(at, version))));
      const clusters = (version: string) => ids.map((at) => cluster(name(at, version), 2, `e${at}`));
      put(
        store,
        runtime(),
        listener('ingress_http', port, 'ingress_http'),
        ...ids.map((at) => endpoints(`e${at}`, target)),
      );
      put(store, ...clusters('old'), ...hosts('old'));
      const envoy = await startEnvoy({ xdsPort: server.port, mode });
      context.after(() => envoy.stop());
      await waitFor(async () => (await fetchBy(port, 'h119.test')).status === 200, 'the first answer');
      let isOver = false;
      const failed: string[] = [];
      const traffic = (async () => {
        for (let at = 0; !isOver; at = (at + 1) % ids.length)
          if ((await fetchBy(port, `h${at}.test`)).status !== 200) failed.push(`h${at}.test`);
      })();
      store.take([
        ...clusters('old').map(({ key }) => [key, undefined] as const),
        ...[...clusters('new'), ...hosts('new')].map((each) => [each.key, each] as const),
      ]);
      await waitFor(async () => !(await envoy.admin('/clusters')).includes('-old::'), 'the old clusters to go');
      isOver = true;
      await traffic;
      assert.deepEqual(failed, []);
      assert.equal(server.statistics().overdue, 0);
    });

  for (const mode of ['grpc', 'delta-ads'] as const satisfies EnvoyMode[]) {
    test(`${mode}: a filter chain that Envoy refuses does not hold up those of other hosts`, async (context) => {
      const { store, assembly, server, refused } = await servedHosts(context, 'https');
      const serve = (name: string, serverName: string) => {
        const routes = createResource({
          type: 'rds',
          name: `https/${name}`,
          value: { name: `https/${name}` },
          origins: [name],
        });
        const fragment = new Fragment('envoy.config.listener.v3.FilterChain', {
          name,
          filter_chain_match: { server_names: [serverName] },
          filters: [
            streamMessage(
              { kind: 'stream', destinations: [{ cluster: { name: 'none' }, weight: 1 }] },
              { statPrefix: 'test' },
            ),
          ],
        });
        const after = new Piece({ resources: [routes], chain: { name, fragment, requires: [] } });
        store.take(assembly.take([{ key: name, after }]));
      };
      serve('a.test', 'a.test');
      const envoy = await startEnvoy({ xdsPort: server.port, mode });
      context.after(() => envoy.stop());
      const chains = async () => {
        const dump = await envoy.admin('/config_dump?resource=dynamic_listeners');
        return [...dump.matchAll(/"server_names": \[\s*"([^"]+)"/g)].flatMap(([, name]) => name ?? []).sort();
      };
      await waitFor(async () => (await chains()).join() === 'a.test', 'the first host');
      // Envoy knows names and wildcards of whole labels.
      serve('bad.test', 'b*d.test');
      serve('c.test', 'c.test');
      // The dump has the refused version as well, until its replacement is accepted.
      await waitFor(
        async () => (await chains()).join() === 'a.test,c.test',
        `a host after the bad one; ${envoy.log().slice(-2000)}`,
      );
      assert.deepEqual(refused(), ['bad.test']);
      serve('bad.test', 'bad.test');
      await waitFor(async () => (await chains()).includes('bad.test'), 'the corrected host');
      await waitFor(async () => refused().length === 0, 'no report');
    });
  }
});

/** Hosts on one listener of an xDS server, and the origins of Envoy's refusals. */
async function servedHosts(context: TestContext, listener: 'http' | 'https') {
  const port = await freePort();
  const store = createResourceStore();
  const assembly = createAssembly(testSettings((each) => (each.envoy[listener].port = port)));
  let reports: readonly NodeReport[] = [];
  const server = await startXdsServer({
    store,
    address: '127.0.0.1',
    port: 0,
    onReport: (report) => (reports = [report]),
  });
  context.after(() => server.close());
  const refused = () => reports.flatMap(({ rejections }) => rejections.flatMap(({ origins }) => origins));
  return { port, store, assembly, server, refused };
}

function routeTo(path: Route['match']['path'], status: number): Route {
  const match = { path, headers: [], query: [] };
  const origin = { kind: 'HTTPProxy', namespace: 'default', name: 'shop', path: 'spec.routes[0]' };
  return { match, action: { kind: 'answer', status, body: '' }, policies: {}, permitInsecure: false, origin };
}

function served(name: string, route: Route): Piece {
  const origins = [{ kind: 'HTTPProxy', namespace: 'default', name, path: 'spec.virtualhost' }];
  const { fragment, resource } = sharedHost('ingress_http', {
    fqdn: name,
    routes: [route],
    policies: {},
    rateLimits: [],
    origins,
  });
  return new Piece({ resources: [resource], plain: { name, fragment, requires: [] } });
}

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
