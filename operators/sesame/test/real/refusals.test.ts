// One resource of each type that a real Envoy refuses, in every way in which Envoy subscribes: it harms only itself.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '@capstan/testing';
import { CONFIG_SOURCE, type Envoy, typed } from '../../src/envoy/index.ts';
import {
  createResource,
  createResourceStore,
  type NodeReport,
  RefusedResources,
  type Resource,
  type ResourceStore,
  resourceKey,
  startXdsServer,
  type XdsServer,
} from '../../src/xds/index.ts';
import { cluster, endpoints, listener, put } from '../../src/xds/xds.test-support.ts';
import { createAuthority } from './certificates.ts';
import { type EnvoyMode, missingEnvoy, type RunningEnvoy, startEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';

const MODES = ['grpc', 'delta', 'ads', 'delta-ads'] as const satisfies EnvoyMode[];

interface Case {
  readonly name: string;
  /** A resource that Envoy refuses, and the same resource with a valid value; a number makes two versions. */
  bad(version: number): Resource;
  good(version: number): Resource;
  /** The resources that refer to it: Envoy requests no other endpoints, routes and secrets. */
  users(port: number): Resource[];
  /** Looks into the dump of Envoy's configuration for the good version. */
  isThere(dump: string, version: number): boolean;
}

const named = (name: string, more: Pick<Envoy.Cluster, 'round_robin_lb_config' | 'connect_timeout'> = {}): Resource =>
  createResource({
    type: 'cds',
    name,
    value: {
      name,
      type: 'EDS',
      connect_timeout: '2s',
      eds_cluster_config: { service_name: `${name}-endpoints`, eds_config: CONFIG_SOURCE },
      ...more,
    },
    requires: [resourceKey('eds', `${name}-endpoints`)],
    origins: ['HTTPProxy default/bad'],
  });

const slowStart = (window: string): Pick<Envoy.Cluster, 'round_robin_lb_config'> => ({
  round_robin_lb_config: { slow_start_config: { slow_start_window: window } },
});

const listenerAt = (address: string, version: number, port: number): Resource =>
  createResource({
    type: 'lds',
    name: 'tested',
    value: {
      name: 'tested',
      stat_prefix: `version-${version}`,
      address: { socket_address: { address, port_value: port } },
      filter_chains: [
        {
          filters: [
            {
              name: 'envoy.filters.network.tcp_proxy',
              typed_config: typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
                stat_prefix: 'tested',
                cluster: 'a',
              }),
            },
          ],
        },
      ],
    },
  });

const route = (version: number, match: Envoy.RouteMatch): Resource =>
  createResource({
    type: 'rds',
    name: 'tested',
    value: {
      name: 'tested',
      virtual_hosts: [{ name: `version-${version}`, domains: ['*'], routes: [{ match, route: { cluster: 'a' } }] }],
    },
  });

const tlsListener = (port: number): Resource => {
  const context = {
    common_tls_context: { tls_certificate_sds_secret_configs: [{ name: 'tested', sds_config: CONFIG_SOURCE }] },
  };
  return createResource({
    type: 'lds',
    name: 'tls',
    value: {
      name: 'tls',
      address: { socket_address: { address: '127.0.0.1', port_value: port } },
      filter_chains: [
        {
          transport_socket: {
            name: 'envoy.transport_sockets.tls',
            typed_config: typed('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', context),
          },
          filters: [
            {
              name: 'envoy.filters.network.tcp_proxy',
              typed_config: typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
                stat_prefix: 'tls',
                cluster: 'a',
              }),
            },
          ],
        },
      ],
    },
  });
};

const secret = (chain: string, key: string): Resource =>
  createResource({
    type: 'sds',
    name: 'tested',
    value: {
      name: 'tested',
      tls_certificate: {
        certificate_chain: { inline_bytes: Buffer.from(chain) },
        private_key: { inline_bytes: Buffer.from(key) },
      },
    },
  });

const authority = await createAuthority();
const certificates = await Promise.all([1, 2].map((version) => authority.issue(`version-${version}.test`)));
const address = (of: string, port: number): Resource =>
  createResource({
    type: 'eds',
    name: 'tested-endpoints',
    value: {
      cluster_name: 'tested-endpoints',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: of, port_value: port } } } }] }],
    },
  });

const CASES: readonly Case[] = [
  {
    name: 'a cluster whose message does not name it',
    bad: () => named('tested', slowStart('-1s')),
    good: (version) => named('tested', slowStart(`${version}s`)),
    users: () => [endpoints('tested-endpoints', 1)],
    isThere: (dump, version) => dump.includes(`"slow_start_window": "${version}s"`),
  },
  {
    name: 'a cluster that breaks a constraint',
    bad: () => named('tested', { connect_timeout: '0s' }),
    good: (version) => named('tested', { connect_timeout: `10${version}s` }),
    users: () => [endpoints('tested-endpoints', 1)],
    isThere: (dump, version) => dump.includes(`"connect_timeout": "10${version}s"`),
  },
  {
    name: 'an extension cluster',
    bad: () => named('extension/default/auth', slowStart('-1s')),
    good: (version) => named('extension/default/auth', slowStart(`${version}s`)),
    users: () => [endpoints('extension/default/auth-endpoints', 1)],
    isThere: (dump, version) => dump.includes(`"slow_start_window": "${version}s"`),
  },
  {
    name: 'an assignment of endpoints',
    bad: () => address('no-address', 1),
    good: (version) => address(`127.0.0.10${version}`, 1),
    users: () => [named('tested')],
    isThere: (dump, version) => dump.includes(`"127.0.0.10${version}"`),
  },
  {
    name: 'a listener',
    bad: (version) => listenerAt('no-address', version, 1),
    good: (version) => listenerAt('127.0.0.1', version, testedPort),
    users: () => [],
    isThere: (dump, version) => dump.includes(`"version-${version}"`),
  },
  {
    name: 'a route configuration',
    bad: (version) => route(version, { safe_regex: { regex: '/(?=x)' } }),
    good: (version) => route(version, { prefix: '/' }),
    users: (port) => [listener('more', port, 'tested')],
    isThere: (dump, version) => dump.includes(`"version-${version}"`),
  },
  {
    name: 'a secret',
    bad: () => secret('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'no key'),
    good: (version) => secret(certificates[version - 1]?.certificate ?? '', certificates[version - 1]?.key ?? ''),
    users: (port) => [tlsListener(port)],
    isThere: (dump, version) =>
      dump.includes(
        Buffer.from(certificates[version - 1]?.certificate ?? '')
          .toString('base64')
          .slice(0, 400),
      ),
  },
];

let testedPort = 0;

suite('a resource that a real Envoy refuses', { skip: missingEnvoy() }, () => {
  for (const mode of MODES)
    for (const each of CASES)
      test(`${mode}: ${each.name} harms only itself`, async (context) => {
        testedPort = await freePort();
        const { store, envoy, hosts, refused, key } = await served(context, mode, each);
        // It is bad from the start, and Envoy has nothing: all others are served.
        await waitFor(() => hosts.answers('one'), `a good host; ${envoy.log().slice(-2_000)}`);
        await waitFor(() => refused().join() === key, `the report; ${refused().join()}`);
        hosts.serve('two');
        await waitFor(() => hosts.answers('two'), 'a new host');
        assert.deepEqual(refused(), [key]);
        // It is corrected, then broken again: its last version stays.
        put(store, each.good(1));
        await waitFor(
          async () => each.isThere(await dumpOf(envoy), 1),
          `the corrected one; ${envoy.log().slice(-2_000)}`,
        );
        await waitFor(() => refused().length === 0, 'no report');
        put(store, each.bad(2));
        hosts.serve('three');
        await waitFor(() => hosts.answers('three'), 'another new host');
        await waitFor(() => refused().join() === key, `the second report; ${refused().join()}`);
        await waitFor(async () => each.isThere(await dumpOf(envoy), 1), 'the last version to be in force');
        put(store, each.good(2));
        await waitFor(async () => each.isThere(await dumpOf(envoy), 2), 'the last correction');
        assert.ok(await hosts.answers('one'));
      });

  for (const mode of MODES)
    test(`${mode}: a cluster that became bad while Sesame was restarted costs no other host a request`, async (context) => {
      testedPort = await freePort();
      const [tested] = CASES;
      assert.ok(tested);
      const { store, envoy, hosts, restart, refused } = await served(context, mode, { ...tested, bad: tested.good });
      await waitFor(() => hosts.answers('one'), 'the first host');
      hosts.serve('two');
      await waitFor(() => hosts.answers('two'), 'the second host');
      let failures = 0;
      let isOver = false;
      const traffic = (async () => {
        while (!isOver) for (const name of ['one', 'two']) if (!(await hosts.answers(name))) failures += 1;
      })();
      await restart(() => put(store, tested.bad(1)));
      hosts.serve('three');
      await waitFor(() => hosts.answers('three'), `a host after the restart; ${envoy.log().slice(-3_000)}`);
      await waitFor(() => refused().join() === 'cds/tested', 'the report');
      isOver = true;
      await traffic;
      assert.equal(failures, 0);
    });
});

async function dumpOf(envoy: RunningEnvoy): Promise<string> {
  const { configs = [] } = JSON.parse(await envoy.admin('/config_dump?include_eds')) as { configs?: object[] };
  // The dump lists refused values beside those in force.
  return JSON.stringify(configs, (name, value: unknown) => (name === 'error_state' ? undefined : value), 1);
}

/** Hosts with a cluster each on one listener, beside the resource of the case. */
async function served(context: TestContext, mode: EnvoyMode, { bad, users }: Case) {
  const port = await freePort();
  const backend = createServer((_, response) => response.end('here'));
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    backend.closeAllConnections();
    backend.close();
  });
  const target = (backend.address() as AddressInfo).port;
  const store = createResourceStore();
  let report: NodeReport | undefined;
  const refusals = { parts: new Map<string, string>(), resources: new RefusedResources() };
  const start = (xdsPort: number): Promise<XdsServer> =>
    startXdsServer({
      store,
      address: '127.0.0.1',
      port: xdsPort,
      refused: refusals,
      onReport: (each) => (report = each.streams > 0 ? each : report),
    });
  let server = await start(0);
  context.after(() => server.close());
  const names: string[] = [];
  const serve = (name: string) => {
    names.push(name);
    putHosts(store, names, target);
  };
  put(store, bad(1), ...users(await freePort()), listener('ingress_http', port, 'ingress_http'));
  put(store, cluster('a'), endpoints('a-endpoints', target), runtime());
  serve('one');
  const envoy = await startEnvoy({ xdsPort: server.port, mode });
  context.after(() => envoy.stop());
  return {
    store,
    envoy,
    key: bad(1).key,
    refused: () => report?.rejections.map(({ key }) => key) ?? [],
    hosts: {
      serve,
      answers: async (name: string) => (await send({ port, host: `${name}.test`, path: '/' })).status === 200,
    },
    /** The change happens while no server runs. */
    async restart(change: () => void) {
      const { port: xdsPort } = server;
      await server.close();
      change();
      server = await start(xdsPort);
    },
  };
}

function runtime(): Resource {
  return createResource({ type: 'rtds', name: 'dynamic', value: { name: 'dynamic', layer: { tested: 1 } } });
}

function putHosts(store: ResourceStore, names: readonly string[], target: number): void {
  const hosts = names.map((name) => ({
    name,
    domains: [`${name}.test`],
    routes: [{ match: { prefix: '/' }, route: { cluster: `host-${name}` } }],
  }));
  const all = createResource({
    type: 'rds',
    name: 'ingress_http',
    value: { name: 'ingress_http', virtual_hosts: hosts },
    requires: names.map((name) => resourceKey('cds', `host-${name}`)),
  });
  put(store, ...names.flatMap((name) => [cluster(`host-${name}`), endpoints(`host-${name}-endpoints`, target)]), all);
}
