import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Client, EndpointSlice, type Pod, Service } from '@capstan/kube';
import { askReport, derivation, operator, type Runtime, withReports } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import { httpProxyStatus } from '../reconcilers/http-proxy-status.ts';
import { routeGraph } from '../routes/pieces.ts';
import { testSettings } from '../routing/default-settings.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { acknowledgementsOf, readAcknowledgements } from './acknowledgements.ts';
import { type IngressReport, ingressReports } from './ingress-report.ts';

const at = (name: string) => ({ name, namespace: 'default' });
const service = (name: string) => ({
  apiVersion: 'v1' as const,
  kind: 'Service' as const,
  metadata: at(name),
  spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' as const, targetPort: 8080 }] },
});
const slice = (name: string, address: string) => ({
  apiVersion: 'discovery.k8s.io/v1' as const,
  kind: 'EndpointSlice' as const,
  metadata: { ...at(`${name}-1`), labels: { 'kubernetes.io/service-name': name } },
  addressType: 'IPv4' as const,
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' as const }],
});
const proxy = (name: string, fqdn: string, routes: object[]) => ({
  apiVersion: 'projectsesame.io/v1',
  kind: 'HTTPProxy',
  metadata: at(name),
  spec: { virtualhost: { fqdn }, routes },
});
const to = (name: string, ...conditions: object[]) => ({ conditions, services: [{ name, port: 80 }] });

async function staged(check: (runtime: Runtime) => Promise<void> | void): Promise<void> {
  const settings = derivation<RoutingSettings>({ name: 'test-settings', compute: () => testSettings() });
  const graph = routeGraph(settings);
  const sesame = operator({
    name: 'sesame-here',
    kinds: [HTTPProxy, TLSCertificateDelegation, ExtensionService],
    reconcilers: [httpProxyStatus({ graph })],
    reports: ingressReports({ instance: 'default/here', graph }),
  });
  const stage = await createStage({
    operators: [withReports(sesame)],
    async given(client) {
      for (const name of ['shop', 'cart']) await client.create(Service, service(name));
      await client.create(EndpointSlice, slice('shop', '10.0.0.1'));
      const beta = to('cart', { prefix: '/cart' }, { header: { name: 'x-beta', exact: 'yes' } });
      const routes = [to('shop', { prefix: '/' }), to('cart', { prefix: '/cart' }), beta];
      await client.create(HTTPProxy, proxy('shop', 'shop.example.com', routes));
      await client.create(HTTPProxy, proxy('broken', 'a.example.com', [to('nowhere', { prefix: '/' })]));
    },
  });
  try {
    await check(stage.program.runtime);
  } finally {
    await stage.end();
  }
}

async function page(runtime: Runtime, query = ''): Promise<IngressReport> {
  const body = await askReport(runtime, 'sesame-here', 'ingress/default/here', query);
  assert.equal(body.state, 'value', JSON.stringify(body));
  return body.value as IngressReport;
}

interface Explained {
  readonly servedAs?: string;
  readonly listeners: readonly {
    readonly routes: readonly { readonly match: string; readonly isUnconditional: boolean }[];
    readonly skipped: readonly { readonly match: string; readonly reason: string }[];
  }[];
}

async function explain(runtime: Runtime, request: object): Promise<Explained> {
  const body = await askReport(runtime, 'sesame-here', 'explain/default/here', JSON.stringify(request));
  assert.equal(body.state, 'value', JSON.stringify(body));
  return body.value as Explained;
}

suite('the page of a Sesame', () => {
  test('has hosts with problems first, and routes in the order of Envoy with their endpoints', () =>
    staged(async (runtime) => {
      const { hosts, listeners, hostCount, brokenCount } = await page(runtime);
      assert.deepEqual([hostCount, brokenCount, listeners[0]?.name], [2, 1, 'ingress_http']);
      assert.deepEqual(
        hosts.map(({ host, from, problems }) => [host, from, problems.length > 0]),
        [
          ['a.example.com', ['HTTPProxy.projectsesame.io default/broken'], true],
          ['shop.example.com', ['HTTPProxy.projectsesame.io default/shop'], false],
        ],
      );
      const routes = hosts[1]?.listeners[0]?.routes ?? [];
      assert.deepEqual(
        routes.map(({ field, isUnconditional }) => [field, isUnconditional]),
        [
          ['spec.routes[2]', false],
          ['spec.routes[1]', true],
          ['spec.routes[0]', true],
        ],
      );
      assert.deepEqual(routes[2]?.services[0]?.endpoints, ['10.0.0.1:8080']);
      const one = await page(runtime, '?host=SHOP.example.com');
      assert.deepEqual(one.hosts, [hosts[1]]);
      assert.deepEqual((await page(runtime, '?after=a.example.com')).hosts, [hosts[1]]);
      assert.deepEqual(await askReport(runtime, 'sesame-here', 'ingress/default/here', 'x'), { state: 'none' });
    }));

  test('names the route that a request takes, and for each other route the reason', () =>
    staged(async (runtime) => {
      const request = { host: 'shop.example.com', path: '/cart/1' };
      const [plain] = (await explain(runtime, request)).listeners;
      assert.equal(plain?.routes[0]?.isUnconditional, true);
      assert.deepEqual(
        plain.skipped.map(({ reason }) => reason),
        ['the method or a header does not match'],
      );
      const [beta] = (await explain(runtime, { ...request, headers: { 'X-Beta': 'yes' } })).listeners;
      assert.deepEqual([beta?.routes.length, beta?.skipped.length], [3, 0]);
      const [root] = (await explain(runtime, { ...request, path: '/' })).listeners;
      assert.deepEqual(
        root?.skipped.map(({ reason }) => reason),
        ['the path does not match', 'the path does not match'],
      );
      assert.equal((await explain(runtime, { host: 'none.example.com', path: '/' })).servedAs, undefined);
    }));
});

suite('what Envoys have acknowledged', () => {
  const pod = {
    metadata: at('sesame-1'),
    spec: { containers: [{ name: 'sesame', command: ['sesame', 'serve'], args: ['--sesame-config=here'] }] },
    status: { phase: 'Running' },
  };
  const client = (request: () => Promise<unknown>) =>
    ({
      find: async () => undefined,
      list: async () => ({ items: [pod as unknown as Pod] }),
      request,
    }) as unknown as Client;
  const read = (request: () => Promise<unknown>, instance = 'default/here') =>
    readAcknowledgements(instance, {
      client: client(request),
      signal: new AbortController().signal,
    });

  test('is read from the debug server of each pod', async () => {
    const node = {
      node: 'envoy-1',
      sent: { cds: '2', lds: '7' },
      acknowledged: { cds: '2', lds: '6' },
      rejections: [{ key: 'lds/ingress_http', version: '7', message: 'no', origins: [] }],
    };
    const { envoys } = await read(async () => ({ body: { clients: [node], resources: { cds: 4, lds: 1 } } }));
    assert.deepEqual(envoys?.[0]?.types, [
      { type: 'clusters', resources: 4, sent: '2', acknowledged: '2' },
      { type: 'listeners', resources: 1, sent: '7', acknowledged: '6', rejected: { version: '7', message: 'no' } },
    ]);
  });

  test('is rejected for the objects that a refused resource comes from, and waits for an Envoy that has not answered', async () => {
    const node = (name: string, acknowledged: string, origins: readonly string[]) => ({
      node: name,
      sent: { lds: '7' },
      acknowledged: { lds: acknowledged },
      rejections: origins.length === 0 ? [] : [{ key: 'lds/ingress_http', version: '7', message: 'no', origins }],
    });
    const of = async (object: string, ...clients: readonly object[]) => {
      const context = { client: client(async () => ({ body: { clients } })), signal: new AbortController().signal };
      return (await acknowledgementsOf('default/here', { object, keys: ['host:a'] }, context)).get('host:a');
    };
    const refusing = node('envoy-1', '6', ['HTTPProxy default/shop']);
    assert.deepEqual(await of('HTTPProxy default/shop', refusing), {
      state: 'rejected',
      message: 'envoy-1 refuses lds/ingress_http: no',
    });
    assert.equal((await of('HTTPProxy default/other', refusing))?.state, 'waiting');
    assert.deepEqual(await of('HTTPProxy default/other', node('envoy-1', '7', []), node('envoy-2', '7', [])), {
      state: 'acknowledged',
      message: 'by 2 Envoys',
    });
    assert.equal((await of('HTTPProxy default/other'))?.state, 'waiting');
  });

  test('is not known, with the reason, where it cannot be read', async () => {
    const failed = await read(() => Promise.reject(new Error('connection refused')));
    assert.match(
      failed.envoysUnknown ?? '',
      /^the debug server of Sesame default\/here cannot be read \(connection refused\)/,
    );
    const other = await read(() => Promise.reject(new Error('unused')), 'default/other');
    assert.deepEqual(other, { envoysUnknown: 'no pod of Sesame default/other runs' });
  });
});
