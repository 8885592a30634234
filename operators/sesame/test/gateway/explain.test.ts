import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EndpointSlice, type Kind, type KubeObject, Secret, Service, systemClock } from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { createTestCluster, type TestCluster } from '@capstan/testing';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { SesameConfiguration } from '../../src/kinds/index.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { runCommand } from '../commands/command-io.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { at, gateway, gatewayClass, httpRoute, installKinds, kinds, NAMESPACE, service } from './fixtures.ts';

const own = operator({
  name: 'routes',
  kinds: [SesameConfiguration, HTTPProxy, TLSCertificateDelegation, ExtensionService],
  reconcilers: [],
});

suite('sesame explain of Gateways', () => {
  test('each kind of route is named with its listener, Services and endpoints', async (context) => {
    const { explain } = await start(context);
    const shop = await explain('shop.test/cart/1');
    assert.equal(shop.code, 0, shop.err);
    assert.match(shop.out, /^shop\.test\/cart\/1\n {2}listener http of Gateway default\/edge on 127\.9\.9\.9:80\n/);
    assert.match(shop.out, /filters: .*envoy\.filters\.http\.cors.*router\n/);
    assert.match(
      shop.out,
      /route prefix \/cart \(taken: the most specific route for the path\)\n {6}from HTTPRoute default\/shop, spec\.rules\[\d\]\n {6}to Service default\/cart port 80 .*\n {8}endpoints: 10\.0\.0\.1:8080/,
    );
    assert.match(
      (await explain('shop.test/old')).out,
      /route exact \/old .*\n {6}from HTTPRoute default\/shop, spec\.rules\[\d\]\n {6}redirects/,
    );
    const grpc = await explain('a.grpc.test/echo.Echo/Say');
    assert.match(grpc.out, /listener http of Gateway default\/edge, served as \*\.grpc\.test on/);
    assert.match(grpc.out, /route exact \/echo\.Echo\/Say .*\n {6}from GRPCRoute default\/calls/);
    const tls = await explain('pass.test');
    assert.match(
      tls.out,
      /listener tls of Gateway default\/edge on 127\.9\.9\.9:443\n {4}filters: envoy\.filters\.network\.tcp_proxy\n {4}route every connection .*\n {6}from TLSRoute default\/pass, spec\.rules\[0\]\n {6}to Service default\/cart/,
    );
    const tcp = await explain('anything.test');
    assert.match(tcp.out, /listener tcp of Gateway default\/edge, served as \* on 127\.9\.9\.9:5432\n/);
    assert.match(tcp.out, /from TCPRoute default\/database/);
    const secure = await explain('secure.test');
    assert.match(secure.out, /listener https of Gateway default\/edge on 127\.9\.9\.9:8443\n/);
  });

  test('the problems of the routes of the host are listed, and of no other', async (context) => {
    const { explain } = await start(context);
    const broken = await explain('broken.test');
    assert.match(broken.out, /route prefix \/ .*\n {6}from HTTPRoute default\/broken, spec\.rules\[\d\]\n/);
    assert.match(
      broken.out,
      /problems:\n {4}HTTPRoute default\/broken: BackendNotFound: spec\.rules\[0\]\.backendRefs\[0\]: Service default\/gone does not exist/,
    );
    assert.doesNotMatch((await explain('shop.test')).out, /broken/);
    const { out, code } = await explain('lost.test -o json');
    const { problems } = JSON.parse(out) as { problems: string[] };
    assert.deepEqual(
      [code, problems],
      [
        0,
        [
          'HTTPRoute default/lost: NoMatchingParent: spec.parentRefs: no listener of the Gateway has the name nowhere; correct the reference',
        ],
      ],
    );
  });

  test('sesame explain misses nothing without the Gateway API', async () => {
    const cluster = await createTestCluster({ clock: systemClock, random: Math.random, operators: [own] });
    try {
      const { code, out } = await runCommand(
        'explain shop.test -n default',
        {},
        { transport: () => cluster.transport() },
      );
      assert.equal(code, 1);
      assert.match(out, /nothing serves this host/);
    } finally {
      await cluster.close();
    }
  });
});

async function start(context: { after(end: () => Promise<void>): void }) {
  const cluster: TestCluster = await createTestCluster({ clock: systemClock, random: Math.random, operators: [own] });
  context.after(() => cluster.close());
  const { client } = cluster;
  await installKinds(client);
  const create = <T extends KubeObject>(kind: Kind<T>, object: T) => client.create(kind, object);
  for (const name of ['shop', 'cart']) await create(Service, service(name));
  await create(EndpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...at('cart-1'), labels: { 'kubernetes.io/service-name': 'cart' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  });
  const issued = await (await createAuthority()).issue('secure.test');
  const data = Object.entries(tlsData(issued)).map(
    ([key, text]) => [key, Buffer.from(text).toString('base64')] as const,
  );
  await create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: at('tls'),
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(data),
  });
  await create(kinds.GatewayClass, gatewayClass());
  await create(
    kinds.Gateway,
    gateway('edge', {
      listeners: [
        { name: 'http', port: 80, protocol: 'HTTP' },
        {
          name: 'https',
          port: 8443,
          protocol: 'HTTPS',
          hostname: 'secure.test',
          tls: { certificateRefs: [{ name: 'tls' }] },
        },
        { name: 'tls', port: 443, protocol: 'TLS', tls: { mode: 'Passthrough' } },
        { name: 'tcp', port: 5432, protocol: 'TCP' },
      ],
    }),
  );
  const status = { addresses: [{ type: 'IPAddress', value: '127.9.9.9' }] };
  await client.patch(kinds.Gateway, at('edge'), 'merge', { status }, { subresource: 'status' });
  const to = (name: string) => [{ name, port: 80 }];
  const parentRefs = [{ name: 'edge' }];
  const apiVersion = 'gateway.networking.k8s.io/v1';
  await create(
    kinds.HTTPRoute,
    httpRoute('shop', 'edge', {
      hostnames: ['shop.test', 'secure.test'],
      rules: [
        { backendRefs: to('shop') },
        { matches: [{ path: { value: '/cart' } }], backendRefs: to('cart') },
        {
          matches: [{ path: { type: 'Exact', value: '/old' } }],
          filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'new.test' } }],
        },
      ],
    }),
  );
  await create(
    kinds.HTTPRoute,
    httpRoute('broken', 'edge', { hostnames: ['broken.test'], rules: [{ backendRefs: to('gone') }] }),
  );
  await create(
    kinds.HTTPRoute,
    httpRoute('lost', 'edge', { hostnames: ['lost.test'], parentRefs: [{ name: 'edge', sectionName: 'nowhere' }] }),
  );
  await create(kinds.GRPCRoute, {
    apiVersion,
    kind: 'GRPCRoute',
    metadata: at('calls'),
    spec: {
      parentRefs,
      hostnames: ['*.grpc.test'],
      rules: [{ matches: [{ method: { service: 'echo.Echo', method: 'Say' } }], backendRefs: to('cart') }],
    },
  });
  await create(kinds.TLSRoute, {
    apiVersion,
    kind: 'TLSRoute',
    metadata: at('pass'),
    spec: { parentRefs, hostnames: ['pass.test'], rules: [{ backendRefs: to('cart') }] },
  });
  await create(kinds.TCPRoute, {
    apiVersion,
    kind: 'TCPRoute',
    metadata: at('database'),
    spec: { parentRefs, rules: [{ backendRefs: to('cart') }] },
  });
  return {
    async explain(what: string) {
      const shown = await runCommand(`explain ${what} -n ${NAMESPACE}`, {}, { transport: () => cluster.transport() });
      return { ...shown, out: shown.out.replaceAll(NAMESPACE, 'default') };
    },
  };
}
