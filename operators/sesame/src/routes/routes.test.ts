import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EndpointSlice, Namespace, Service } from '@capstan/kube';
import { derivation, operator } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import { httpProxyStatus } from '../reconcilers/http-proxy-status.ts';
import { testSettings } from '../routing/default-settings.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { connectXds, type XdsServer } from '../xds/index.ts';
import { routeGraph } from './pieces.ts';
import { xdsSink } from './xds-sink.ts';

const service = (name: string) => ({
  apiVersion: 'v1' as const,
  kind: 'Service' as const,
  metadata: { name, namespace: 'default' },
  spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' as const, targetPort: 8080 }] },
});
const slice = (name: string, address: string) => ({
  apiVersion: 'discovery.k8s.io/v1' as const,
  kind: 'EndpointSlice' as const,
  metadata: { name: `${name}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4' as const,
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' as const }],
});
const proxy = (name: string, fqdn: string, serviceName: string) => ({
  apiVersion: 'projectsesame.io/v1',
  kind: 'HTTPProxy',
  metadata: { name, namespace: 'default' },
  spec: {
    virtualhost: { fqdn },
    routes: [{ conditions: [{ prefix: '/' }], services: [{ name: serviceName, port: 80 }] }],
  },
});

function sesame() {
  const settings = derivation<RoutingSettings>({ name: 'test-settings', compute: () => testSettings() });
  const graph = routeGraph(settings);
  let listening: (server: XdsServer) => void = () => undefined;
  const server = new Promise<XdsServer>((resolve) => {
    listening = resolve;
  });
  const xds = xdsSink({ graph, listen: { address: '127.0.0.1', port: 0 }, onListening: (each) => listening(each) });
  const operators = [
    operator({
      name: 'sesame',
      kinds: [HTTPProxy, TLSCertificateDelegation, ExtensionService],
      reconcilers: [httpProxyStatus({ graph })],
      sinks: [xds],
    }),
  ];
  return { operators, server };
}

suite('from objects to xDS', () => {
  test('a proxy is served with its clusters and endpoints, and an edit sends only what it changed', async (context) => {
    const { operators, server } = sesame();
    const stage = await createStage({
      operators,
      given: async (client) => {
        await client.create(Service, service('shop'));
        await client.create(EndpointSlice, slice('shop', '10.0.0.1'));
        await client.create(HTTPProxy, proxy('shop', 'shop.example.com', 'shop'));
      },
    });
    context.after(() => stage.end());
    const { port } = await server;
    const client = connectXds({ host: '127.0.0.1', port, nodeId: 'test' });
    context.after(() => client.close());
    const routes = client.open({ type: 'rds', isDelta: false });
    routes.request({ resource_names: ['ingress_http'] });
    const first = await routes.next();
    assert.match(JSON.stringify(first.resources.get('ingress_http')), /"cluster":"default\/shop\/80\/da39a3ee5e"/);
    routes.ack(first, ['ingress_http']);
    const endpoints = client.open({ type: 'eds', isDelta: false });
    endpoints.request({ resource_names: ['default/shop/http'] });
    const assignment = await endpoints.next();
    assert.match(JSON.stringify([...assignment.resources.values()]), /"10.0.0.1","port_value":8080/);
    endpoints.ack(assignment, ['default/shop/http']);
    const { status } = await stage.client.get(HTTPProxy, { namespace: 'default', name: 'shop' });
    assert.equal(status?.currentStatus, 'valid');
    assert.equal(status?.conditions?.[0]?.reason, 'Valid');

    await stage.client.patch(EndpointSlice, { namespace: 'default', name: 'shop-1' }, 'merge', {
      endpoints: [{ addresses: ['10.0.0.9'], conditions: { ready: true } }],
    });
    await stage.settle();
    assert.match(JSON.stringify([...(await endpoints.next()).resources.values()]), /"10.0.0.9"/);
    assert.equal(routes.pending, 0);
  });

  test('a Service and a host of the same name are two things, whatever the namespace is called', async (context) => {
    const { operators, server } = sesame();
    const inHost = <T extends { metadata: { namespace: string } }>(object: T): T => ({
      ...object,
      metadata: { ...object.metadata, namespace: 'host' },
    });
    const stage = await createStage({
      operators,
      given: async (client) => {
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'host' } });
        await client.create(Service, inHost(service('shop')));
        await client.create(EndpointSlice, inHost(slice('shop', '10.0.0.1')));
        await client.create(HTTPProxy, inHost(proxy('shop', 'shop', 'shop')));
      },
    });
    context.after(() => stage.end());
    const client = connectXds({ host: '127.0.0.1', port: (await server).port, nodeId: 'test' });
    context.after(() => client.close());
    const routes = client.open({ type: 'rds', isDelta: false });
    routes.request({ resource_names: ['ingress_http'] });
    assert.match(JSON.stringify((await routes.next()).resources.get('ingress_http')), /"cluster":"host\/shop\/80/);
    const endpoints = client.open({ type: 'eds', isDelta: false });
    endpoints.request({ resource_names: ['host/shop/http'] });
    assert.match(JSON.stringify([...(await endpoints.next()).resources.values()]), /"10.0.0.1","port_value":8080/);
    await stage.client.delete(Service, { namespace: 'host', name: 'shop' });
    await stage.settle();
    const { status } = await stage.client.get(HTTPProxy, { namespace: 'host', name: 'shop' });
    assert.equal(status?.currentStatus, 'invalid');
  });

  test('a broken proxy says why while the others are served, and recovers', async (context) => {
    const { operators, server } = sesame();
    const stage = await createStage({
      operators,
      given: async (client) => {
        await client.create(Service, service('shop'));
        await client.create(HTTPProxy, proxy('shop', 'shop.example.com', 'shop'));
        await client.create(HTTPProxy, proxy('blog', 'blog.example.com', 'blog'));
      },
    });
    context.after(() => stage.end());
    const statusOf = async (name: string) => (await stage.client.get(HTTPProxy, { namespace: 'default', name })).status;
    assert.equal((await statusOf('shop'))?.currentStatus, 'valid');
    const broken = await statusOf('blog');
    assert.equal(broken?.currentStatus, 'invalid');
    assert.deepEqual(
      broken?.conditions?.[0]?.errors?.map(({ type, reason, message }) => [type, reason, message]),
      [
        [
          'ServiceError',
          'ServiceUnresolvedReference',
          'spec.routes[0].services[0].name: Service default/blog does not exist; create it or correct the name',
        ],
      ],
    );
    await stage.client.create(Service, service('blog'));
    await stage.settle();
    assert.equal((await statusOf('blog'))?.currentStatus, 'valid');
    assert.ok((await server).port > 0);
  });

  test('the oldest root keeps its host, and the other one is served when it goes', async (context) => {
    const { operators, server } = sesame();
    const stage = await createStage({
      operators,
      given: async (client) => {
        await client.create(Service, service('shop'));
        // Both are created in the same second, where names decide.
        await client.create(HTTPProxy, proxy('two', 'shop.example.com', 'shop'));
        await client.create(HTTPProxy, proxy('one', 'shop.example.com', 'shop'));
      },
    });
    context.after(() => stage.end());
    const reasons = async (name: string) =>
      (await stage.client.get(HTTPProxy, { namespace: 'default', name })).status?.conditions?.[0]?.errors?.map(
        ({ reason }) => reason,
      );
    assert.deepEqual([await reasons('one'), await reasons('two')], [undefined, ['DuplicateVhost']]);
    await stage.client.delete(HTTPProxy, { namespace: 'default', name: 'one' });
    await stage.settle();
    assert.equal(await reasons('two'), undefined);
    assert.ok((await server).port > 0);
  });
});
