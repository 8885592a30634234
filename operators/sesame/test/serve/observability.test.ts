// The views of a running Sesame on its routes: metrics, the graph, and the explanation of a request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, EndpointSlice, Ingress, Secret, Service } from '@capstan/kube';
import { assertReport } from '@capstan/testing';
import { parse } from 'yaml';
import { REPORT_SCHEMAS } from '../../src/commands/report-schemas.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import type { HostSummary, RouteMap } from '../../src/model/route-map.ts';
import { connectXds } from '../../src/xds/index.ts';
import { runCommand } from '../commands/command-io.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { inDefault, type Replica, type ServeStage, served, servers, until } from './fixtures.ts';

async function service(client: Client, name: string, address: string): Promise<void> {
  await client.create(Service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: inDefault(name),
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
  });
  await client.create(EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...inDefault(name), labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  });
}

async function proxy(client: Client, name: string, spec: HTTPProxy['spec']): Promise<void> {
  await client.create(HTTPProxy, {
    apiVersion: HTTPProxy.apiVersion,
    kind: 'HTTPProxy',
    metadata: inDefault(name),
    spec,
  });
}

async function running(stage: ServeStage): Promise<Replica> {
  const { client } = stage.cluster;
  await service(client, 'shop', '10.0.0.1');
  await service(client, 'cart', '10.0.0.2');
  await proxy(client, 'shop', {
    virtualhost: { fqdn: 'shop.test' },
    routes: [
      { conditions: [{ prefix: '/' }], services: [{ name: 'shop', port: 80 }] },
      {
        conditions: [{ prefix: '/cart' }],
        services: [
          { name: 'cart', port: 80, weight: 1 },
          { name: 'shop', port: 80, weight: 3 },
        ],
      },
      {
        conditions: [{ prefix: '/cart' }, { header: { name: 'x-beta', present: true } }],
        services: [{ name: 'cart', port: 80 }],
      },
    ],
  });
  await proxy(client, 'broken', {
    virtualhost: { fqdn: 'broken.test' },
    routes: [{ services: [{ name: 'missing', port: 80 }] }],
  });
  await proxy(client, 'orphan', { routes: [{ services: [{ name: 'shop', port: 80 }] }] });
  const replica = await stage.start();
  await stage.becomes('Applied', 'True', await stage.apply(servers(replica)));
  return replica;
}

test('metrics have the names that dashboards know, with the prefix of Sesame', async () => {
  await served(async (stage) => {
    const replica = await running(stage);
    const client = connectXds({ host: '127.0.0.1', port: replica.ports.xds, nodeId: 'envoy-1' });
    try {
      const metric = async (line: string) => {
        const seen = await until(
          async () => {
            const body = (await replica.get('/metrics'))?.body ?? '';
            return body.split('\n').includes(line) ? body : undefined;
          },
          `${line} in\n${(await replica.get('/metrics'))?.body
            .split('\n')
            .filter((each) => each.startsWith('sesame_'))
            .join('\n')}`,
        );
        return seen;
      };
      await metric('sesame_httpproxy{namespace="default"} 3');
      await metric('sesame_httpproxy_root{namespace="default"} 2');
      await metric('sesame_httpproxy_orphaned{namespace="default"} 1');
      await metric('sesame_httpproxy_valid{namespace="default",vhost="shop.test"} 1');
      await metric('sesame_httpproxy_invalid{namespace="default",vhost="broken.test"} 1');
      await metric('sesame_dag_cache_object{kind="HTTPProxy"} 3');
      // A refusal is a status of its own.
      await metric('sesame_status_update_success_total{kind="HTTPProxy"} 3');
      const stream = client.open({ type: 'cds', isDelta: false });
      stream.request({});
      // Only the refused one of the two clusters is sent again, alone.
      const first = await stream.next();
      const shop = [...first.resources.keys()].find((name) => name.startsWith('default/shop/80')) ?? '';
      stream.nack(first, `${shop} is not to my taste`, []);
      stream.ack(await stream.next());
      stream.nack(await stream.next(), `${shop} is not to my taste`, []);
      await metric('sesame_xds_clients 1');
      await metric('sesame_xds_responses_total{type="cds"} 3');
      const text = await metric('sesame_xds_refused_resources{node="envoy-1"} 1');
      for (const name of [
        'sesame_build_info',
        'sesame_dagrebuild_timestamp',
        'sesame_dagrebuild_total',
        'sesame_dagrebuild_seconds_count',
        'sesame_cachehandler_onupdate_duration_seconds_count',
        'sesame_status_update_total',
        'sesame_status_update_failed_total',
        'sesame_status_update_conflict_total',
        'sesame_status_update_noop_total',
        'sesame_status_update_duration_seconds_count',
        'sesame_xds_refused_resources',
      ])
        assert.match(text, new RegExp(`^${name}[{ ]`, 'm'), name);
      await stage.cluster.client.delete(HTTPProxy, inDefault('orphan'));
      await metric('sesame_httpproxy{namespace="default"} 2');
      assert.match(await metric('sesame_eventhandler_operation_total{op="delete",kind="HTTPProxy"} 1'), /op="update"/);
    } finally {
      await client.close();
    }
  });
});

test('/debug/dag is a graph from listeners to endpoints, and /debug/xds shows what Envoys have', async () => {
  await served(async (stage) => {
    const replica = await running(stage);
    const dag = (await replica.get('/debug/dag', replica.ports.debug))?.body ?? '';
    assert.match(dag, /^digraph DAG \{\nrankdir="LR"\n/);
    for (const line of [
      '"listener/ingress_http" -> "host/ingress_http/shop.test"',
      '"host/ingress_http/shop.test" [shape=box, label="host shop.test\\nHTTPProxy default/shop"]',
      '"host/ingress_http/shop.test" -> "cluster/default/cart/80/da39a3ee5e" [label="prefix /cart, header x-beta"]',
      '"cluster/default/cart/80/da39a3ee5e" -> "endpoints/default/cart/80/da39a3ee5e"',
      '"endpoints/default/cart/80/da39a3ee5e" [shape=box, label="endpoints\\n10.0.0.2:8080"]',
    ])
      assert.ok(dag.split('\n').includes(line), `${line}\n${dag}`);
    const read = async (path: string) =>
      JSON.parse((await replica.get(path, replica.ports.debug))?.body ?? 'null') as unknown;
    const hosts = (await read('/debug/routes')) as HostSummary[];
    assert.deepEqual(
      hosts.map(({ host, listeners, origins: [object], problems }) => [host, listeners, object?.name, problems.length]),
      [
        ['broken.test', ['ingress_http'], 'broken', 1],
        ['shop.test', ['ingress_http'], 'shop', 0],
      ],
    );
    const { listeners } = (await read('/debug/routes?host=Shop.test')) as RouteMap;
    assert.deepEqual(
      listeners.map(({ name, hosts: [host] }) => [
        name,
        host?.routes[0]?.origin,
        host?.routes[0]?.clusters[0]?.endpoints,
      ]),
      [['ingress_http', { kind: 'HTTPProxy', ...inDefault('shop'), path: 'spec.routes[2]' }, ['10.0.0.2:8080']]],
    );
    assert.deepEqual(await read('/debug/routes?host=none.test'), { listeners: [] });
    const xds = await replica.get('/debug/xds', replica.ports.debug);
    assert.deepEqual((JSON.parse(xds?.body ?? '{}') as { clients?: unknown }).clients, []);
  });
});

test('sesame explain names the route, why it is taken, its objects, filters and endpoints', async () => {
  await served(async (stage) => {
    const { client } = stage.cluster;
    await running(stage);
    await client.create(Ingress, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: inDefault('wild'),
      spec: {
        rules: [
          {
            host: '*.wild.test',
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }],
            },
          },
        ],
      },
    });
    const part = (name: string, spec: object) =>
      client.create(HTTPProxy, {
        apiVersion: HTTPProxy.apiVersion,
        kind: 'HTTPProxy',
        metadata: inDefault(name),
        spec,
      });
    await part('leaf', { routes: [{ conditions: [{ prefix: '/leaf' }], services: [{ name: 'shop', port: 80 }] }] });
    await part('branch', { includes: [{ name: 'leaf' }] });
    const include = { name: 'branch', conditions: [{ prefix: '/team' }] };
    await part('tree', { virtualhost: { fqdn: 'tree.test' }, includes: [include] });
    const explain = (what: string) =>
      runCommand(`explain ${what} -n default`, {}, { transport: () => stage.cluster.transport() });
    const cart = await explain('http://shop.test:8080/cart/1?x=y');
    assert.equal(cart.code, 0, cart.err);
    assert.match(
      cart.out,
      /^shop\.test\/cart\/1\n {2}listener ingress_http on 0\.0\.0\.0:8080\n {4}filters: .*router\n/,
    );
    const whole = (...header: string[]) =>
      runCommand(
        ['explain', 'shop.test/cart/1', '-n', 'default', '--method', 'GET', ...header],
        {},
        {
          transport: () => stage.cluster.transport(),
        },
      );
    assert.doesNotMatch((await whole()).out, /header x-beta/);
    assert.match((await whole('--header', 'X-Beta: 1')).out, /route prefix \/cart, header x-beta \(taken/);
    assert.equal((await whole('--header', 'no colon')).code, 2);
    const leaf = await until(async () => {
      const answer = await explain('tree.test/team/leaf');
      return answer.code === 0 && answer.out.includes('from HTTPProxy') ? answer : undefined;
    }, 'the included route');
    assert.match(
      leaf.out,
      /from HTTPProxy default\/leaf, spec\.routes\[0\]\n {6}included by HTTPProxy default\/branch, spec\.includes\[0\]\n {6}included by HTTPProxy default\/tree, spec\.includes\[0\]\n/,
    );
    assert.match(cart.out, /route prefix \/cart, header x-beta \(taken when its conditions hold\)/);
    assert.match(
      cart.out,
      /route prefix \/cart \(taken when no route above is\)\n {6}from HTTPProxy default\/shop, spec\.routes\[1\]\n {6}to Service default\/cart port 80, 25 % .*\n {8}endpoints: 10\.0\.0\.2:8080/,
    );
    assert.doesNotMatch(cart.out, /route prefix \/ /, 'what is never reached is left out');
    assert.match(
      (await explain('shop.test/other')).out,
      /route prefix \/ \(taken: the most specific route for the path\)/,
    );
    const broken = await explain('broken.test');
    assert.match(broken.out, /answers 503/);
    assert.match(broken.out, /problems:\n {4}HTTPProxy default\/broken: ServiceUnresolvedReference: .*missing/);
    const wild = await explain('a.wild.test/x -o json');
    const { servedAs, listeners } = JSON.parse(wild.out) as {
      servedAs: string;
      listeners: { routes: { from: string }[] }[];
    };
    assert.deepEqual([servedAs, listeners[0]?.routes[0]?.from], ['*.wild.test', 'Ingress default/wild']);
    const report: unknown = JSON.parse(wild.out);
    assertReport(REPORT_SCHEMAS['sesame explain'], report);
    assert.deepEqual(parse((await explain('a.wild.test/x -o yaml')).out), report);
    assert.equal((await explain('a.wild.test/x -o name')).out, 'ingress/wild\n');
    assert.match(
      (await explain('shop.test/cart/1 -o wide')).out,
      /route prefix \/ \(never taken: a route above takes every request\)/,
    );
    const authority = await createAuthority('explained');
    const data = tlsData(await authority.issue('secure.test'));
    await client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: inDefault('secure'),
      type: 'kubernetes.io/tls',
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
    });
    await proxy(client, 'secure', {
      virtualhost: { fqdn: 'secure.test', tls: { secretName: 'secure' } },
      routes: [{ services: [{ name: 'shop', port: 80 }] }],
    });
    assert.match(
      (await explain('secure.test')).out,
      /listener ingress_https on 0\.0\.0\.0:8443\n {4}filters: envoy\.filters\.http\.compressor, .*, router\n/,
    );
    await proxy(client, 'featured', {
      virtualhost: { fqdn: 'featured.test', errorPages: [{ statusCodes: [502, 503], body: 'back soon' }] },
      routes: [
        {
          services: [{ name: 'shop', port: 80, outlierDetection: { consecutiveServerErrors: 3 } }],
          compressionPolicy: { algorithm: 'brotli' },
        },
      ],
    });
    const featured = await explain('featured.test');
    const field = 'HTTPProxy default/featured, spec';
    assert.match(featured.out, /filters: .*envoy\.filters\.http\.custom_response/);
    for (const line of [
      `    error page for 502, 503: ${field}.virtualhost.errorPages[0]\n`,
      `\n      answers are compressed by brotli\n`,
      `\n        leaves out an endpoint after 3 errors in a row, for 30s, at most 50 %: ${field}.routes[0].services[0].outlierDetection\n`,
    ])
      assert.ok(featured.out.includes(line), featured.out);
    assertReport(REPORT_SCHEMAS['sesame explain'], JSON.parse((await explain('featured.test -o json')).out));
    const none = await explain('nowhere.test');
    assert.equal(none.code, 1);
    assert.match(none.out, /nothing serves this host/);
    assert.equal((await runCommand('explain')).code, 2);
  });
});
