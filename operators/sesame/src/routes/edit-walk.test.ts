// The walk of an edit through our files, from the informer to the stream, as operators/sesame/README.md has it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, relative, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EndpointSlice, Service } from '@capstan/kube';
import { derivation, operator } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import { testSettings } from '../routing/default-settings.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { connectXds, type XdsServer } from '../xds/index.ts';
import { routeGraph } from './pieces.ts';
import { xdsSink } from './xds-sink.ts';

const MOST_FILES = 25;
const sources = join(import.meta.dirname, '..');

test('an edit of an HTTPProxy passes the files of the README, and no more', async (context) => {
  const settings = derivation<RoutingSettings>({ name: 'test-settings', compute: () => testSettings() });
  let listening: (server: XdsServer) => void = () => undefined;
  const server = new Promise<XdsServer>((resolve) => {
    listening = resolve;
  });
  const xds = xdsSink({
    graph: routeGraph(settings),
    listen: { address: '127.0.0.1', port: 0 },
    onListening: (each) => listening(each),
  });
  const kinds = [HTTPProxy, TLSCertificateDelegation, ExtensionService];
  const metadata = { name: 'shop', namespace: 'default' };
  const stage = await createStage({
    operators: [operator({ name: 'sesame', kinds, reconcilers: [], sinks: [xds] })],
    given: async (client) => {
      await client.create(Service, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata,
        spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
      });
      await client.create(EndpointSlice, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'shop' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      });
      await client.create(HTTPProxy, {
        apiVersion: 'projectsesame.io/v1',
        kind: 'HTTPProxy',
        metadata,
        spec: {
          virtualhost: { fqdn: 'shop.example.com' },
          routes: [{ conditions: [{ prefix: '/' }], services: [{ name: 'shop', port: 80 }] }],
        },
      });
    },
  });
  context.after(() => stage.end());
  const { port } = await server;
  const client = connectXds({ host: '127.0.0.1', port, nodeId: 'test' });
  context.after(() => client.close());
  // As Envoy does: it has the cluster and its endpoints, and waits for nothing.
  const stream = client.open({ type: undefined, isDelta: true });
  const subscriptions = [
    ['config.cluster.v3.Cluster', '*'],
    ['config.endpoint.v3.ClusterLoadAssignment', 'default/shop/http'],
    ['config.listener.v3.Listener', '*'],
    ['config.route.v3.RouteConfiguration', 'ingress_http'],
    ['config.route.v3.VirtualHost', 'ingress_http'],
  ] as const;
  for (const [type, name] of subscriptions) {
    stream.request({ type_url: `type.googleapis.com/envoy.${type}`, resource_names_subscribe: [name] });
    const response = await stream.next();
    assert.ok(response.resources.size > 0, `${type} is served`);
    stream.ack(response);
  }
  await client.roundTrip();

  const session = new Session();
  session.connect();
  context.after(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await stage.client.patch(HTTPProxy, metadata, 'merge', {
    spec: { routes: [{ conditions: [{ prefix: '/new' }], services: [{ name: 'shop', port: 80 }] }] },
  });
  await stage.settle();
  await stream.next();
  const { result } = await session.post('Profiler.takePreciseCoverage');

  const walked = result
    .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(sources + sep))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges: [range] }) => functionName !== '' && (range?.count ?? 0) > 0),
    )
    .map(({ url }) => relative(sources, fileURLToPath(url)).replaceAll(sep, '/'))
    // The client of this test, and the test itself.
    .filter((file) => !file.includes('.test') && file !== 'xds/xds-client.ts')
    .sort();
  const readme = readFileSync(join(sources, '..', 'README.md'), 'utf8');
  const walk = readme.slice(readme.indexOf('## The walk of an edit'));
  const listed = [...walk.matchAll(/`([a-z/-]+\.ts)`/g)].map(([, file = '']) => file).sort();
  assert.ok(walked.length <= MOST_FILES, `${walked.length} files: ${walked.join(', ')}`);
  assert.deepEqual(listed, walked);
});
