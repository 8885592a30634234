// One host of many in a shared resource becomes bad while no Sesame runs. The Envoy that comes back refuses the resource, and its content is
// not known: it must lose nothing but the bad host, and take up all later changes.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '@capstan/testing';
import { type Envoy, Fragment, FragmentChunk, hexHash, typed } from '../../src/envoy/index.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { FILTER_CHAIN } from '../../src/routing/envoy/listener-message.ts';
import { sharedRoutes, VIRTUAL_HOST } from '../../src/routing/envoy/route-message.ts';
import { HTTPS_LISTENER } from '../../src/routing/listener/filter-chain.ts';
import { secureListener } from '../../src/routing/listener/listeners.ts';
import {
  createResource,
  createResourceStore,
  type NodeReport,
  type Refused,
  RefusedResources,
  type Resource,
  type ResourceStore,
  startXdsServer,
} from '../../src/xds/index.ts';
import { cluster, endpoints, listener, put } from '../../src/xds/xds.test-support.ts';
import { type EnvoyMode, missingEnvoy, type RunningEnvoy, startEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';

const MODES = ['grpc', 'delta', 'ads', 'delta-ads'] as const satisfies EnvoyMode[];
const HOSTS = Array.from({ length: 40 }, (_, at) => `host-${at}`);
const BAD = ['host-7', 'host-31'];

/** On an aggregated delta stream, hosts are resources of their own. */
const WHOLE = MODES.filter((mode) => mode !== 'delta-ads');

suite('a host that became bad while no Sesame ran', { skip: missingEnvoy() }, () => {
  for (const mode of WHOLE)
    test(`${mode}: in a route configuration it costs no other host a request, and edits go on`, async (context) => {
      const { store, envoy, port, restart, refused } = await served(context, mode);
      put(store, hosts(HOSTS, []));
      const answers = async (name: string) => (await send({ port, host: `${name}.test`, path: '/' })).status === 200;
      await waitFor(() => answers('host-39'), `the first hosts; ${envoy.log().slice(-2_000)}`);
      let failures = 0;
      let isOver = false;
      const innocent = HOSTS.filter((name) => !BAD.includes(name));
      const traffic = (async () => {
        while (!isOver) for (const name of innocent) if (!(await answers(name))) failures += 1;
      })();
      await restart(() => put(store, hosts(HOSTS, BAD)));
      await waitFor(() => refused().length === 2, `the reports; ${refused().join()} ${envoy.log().slice(-3_000)}`);
      put(store, hosts([...HOSTS, 'new'], BAD));
      await waitFor(() => answers('new'), 'a host after the restart');
      isOver = true;
      await traffic;
      assert.equal(failures, 0);
      assert.deepEqual(refused().toSorted(), BAD.map((name) => `rds/ingress_http#${name}.test`).toSorted());
      put(store, hosts([...HOSTS, 'new'], []));
      await waitFor(() => answers('host-7'), 'the corrected host');
      await waitFor(() => refused().length === 0, 'no report');
    });

  for (const mode of MODES)
    test(`${mode}: in a listener it leaves all other chains in force, and edits go on`, async (context) => {
      const { store, envoy, restart, refused } = await served(context, mode);
      const port = await freePort();
      put(store, hosts(HOSTS, []), chains(HOSTS, [], port));
      const has = async (name: string) => (await dumpOf(envoy)).includes(`"${name}.test"`);
      await waitFor(() => has('host-39'), `the first chains; ${envoy.log().slice(-2_000)}`);
      await restart(() => put(store, chains(HOSTS, BAD, port)));
      await waitFor(() => refused().length === 2, `the reports; ${refused().join()} ${envoy.log().slice(-3_000)}`);
      put(store, chains([...HOSTS, 'new'], BAD, port));
      await waitFor(() => has('new'), 'a chain after the restart');
      for (const name of HOSTS) assert.equal(await has(name), !BAD.includes(name), name);
      put(store, chains([...HOSTS, 'new'], [], port));
      await waitFor(() => has('host-7'), 'the corrected chain');
      await waitFor(() => refused().length === 0, 'no report');
    });
});

async function dumpOf(envoy: RunningEnvoy): Promise<string> {
  const { configs = [] } = JSON.parse(await envoy.admin('/config_dump?resource=dynamic_listeners')) as {
    configs?: { active_state?: object }[];
  };
  return JSON.stringify(configs.map(({ active_state }) => active_state));
}

function hosts(names: readonly string[], bad: readonly string[]): Resource {
  const parts = names.map((name): Envoy.VirtualHost => {
    const match = bad.includes(name) ? { safe_regex: { regex: '/(?=x)' } } : { prefix: '/' };
    return { name, domains: [`${name}.test`], routes: [{ match, route: { cluster: 'a' } }] };
  });
  const chunk = new FragmentChunk(parts.map((part) => new Fragment(VIRTUAL_HOST, part, true)));
  return sharedRoutes('ingress_http', [chunk], hexHash(JSON.stringify(parts), 8), ['cds/a']);
}

function chains(names: readonly string[], bad: readonly string[], port: number): Resource {
  const parts = names.map((name): Envoy.FilterChain => {
    const proxy = typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
      stat_prefix: 'tested',
      ...(!bad.includes(name) && { cluster: 'a' }),
    });
    return {
      name: `${name}.test`,
      filter_chain_match: { server_names: [`${name}.test`] },
      filters: [{ name: 'envoy.filters.network.tcp_proxy', typed_config: proxy }],
    };
  });
  const settings = testSettings((each) => {
    each.envoy.https.port = port;
  });
  const chunk = new FragmentChunk(parts.map((part) => new Fragment(FILTER_CHAIN, part, true)));
  return secureListener(HTTPS_LISTENER, settings, [chunk], hexHash(JSON.stringify([port, parts]), 8), ['cds/a']);
}

function runtime(): Resource {
  return createResource({ type: 'rtds', name: 'dynamic', value: { name: 'dynamic', layer: { tested: 1 } } });
}

async function served(context: TestContext, mode: EnvoyMode) {
  const port = await freePort();
  const backend = createServer((_, response) => response.end('here'));
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    backend.closeAllConnections();
    backend.close();
  });
  const store: ResourceStore = createResourceStore();
  let report: NodeReport | undefined;
  const start = (xdsPort: number) => {
    // Nothing is remembered of the server before.
    const refused: Refused = { parts: new Map(), resources: new RefusedResources() };
    const onReport = (each: NodeReport) => (report = each.streams > 0 ? each : report);
    return startXdsServer({ store, address: '127.0.0.1', port: xdsPort, refused, onReport });
  };
  let server = await start(0);
  context.after(() => server.close());
  put(store, cluster('a'), endpoints('a-endpoints', (backend.address() as AddressInfo).port));
  put(store, listener('ingress_http', port, 'ingress_http'), runtime());
  const envoy = await startEnvoy({ xdsPort: server.port, mode });
  context.after(() => envoy.stop());
  return {
    store,
    envoy,
    port,
    refused: () => report?.rejections.map(({ key }) => key) ?? [],
    async restart(change: () => void) {
      const { port: xdsPort } = server;
      await server.close();
      change();
      server = await start(xdsPort);
    },
  };
}
