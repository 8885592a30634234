// Fields of SesameConfiguration whose effect is in Sesame itself, or in the statuses that it writes.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import {
  ConfigMap,
  createClient,
  Lease,
  type Logger,
  Namespace,
  Service,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createStage, createTestCluster, freePorts } from '@capstan/testing';
import { issueXdsCertificates } from '../../src/certificates/issue.ts';
import { clientLog } from '../../src/commands/serve.ts';
import { effectiveConfiguration, problemText } from '../../src/configuration/index.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import type { ConfigurationSpec } from '../../src/kinds/index.ts';
import type { DataPathReport } from '../../src/program/controllers.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { createSwitchingLeadership } from '../../src/program/switching-leadership.ts';
import { connectXds } from '../../src/xds/index.ts';
import { inDefault, served, servers, until } from './fixtures.ts';

function configurationOf(given: ConfigurationSpec) {
  const { value, errors } = effectiveConfiguration({ given, source: { from: 'resource', name: 'sesame' } });
  assert.deepEqual(
    errors.map((problem) => problemText(problem)),
    [],
  );
  return value;
}

async function certificateFiles(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'sesame-own-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const issued = await issueXdsCertificates({
    namespace: 'default',
    sesameService: 'sesame',
    envoyService: 'envoy',
    now: Date.now(),
    lifeMs: 3_600_000,
  });
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const files = {
    caFile: write('ca.crt', issued.ca),
    certFile: write('tls.crt', issued.sesame.certificate),
    keyFile: write('tls.key', issued.sesame.key),
  };
  const client = { ca: issued.ca, cert: issued.envoy.certificate, key: issued.envoy.key };
  return { files, client };
}

describe('Sesame itself', () => {
  test('the xDS server follows its address, port and certificates', async (context) => {
    const [first = 0, second = 0] = await freePorts(2);
    const { files, client } = await certificateFiles(context);
    const reports: DataPathReport[] = [];
    const parts = dataPathComponents(
      {},
      configurationOf({ xdsServer: { insecure: true, address: '127.0.0.1', port: first } }),
      (report) => void reports.push(report),
    );
    const stage = await createStage({ operators: [parts.operator] });
    context.after(() => stage.end());
    const serves = async (host: string, port: number, tls?: { ca: string; cert: string; key: string }) => {
      const files = tls && { ca: Buffer.from(tls.ca), cert: Buffer.from(tls.cert), key: Buffer.from(tls.key) };
      const xds = connectXds({ host, port, nodeId: 'envoy', ...(files && { tls: files }) });
      try {
        const stream = xds.open({ type: 'rtds', isDelta: false });
        stream.request({});
        return (await stream.next()).resources.size > 0;
      } catch {
        return false;
      } finally {
        await xds.close();
      }
    };
    const edit = async (xdsServer: ConfigurationSpec['xdsServer']) => {
      parts.put(configurationOf({ xdsServer }));
      await stage.settle();
    };
    await stage.settle();
    assert.equal(await serves('127.0.0.1', first), true);
    await edit({ insecure: true, address: '127.0.0.2', port: second });
    assert.equal(await serves('127.0.0.2', second), true);
    assert.equal(await serves('127.0.0.1', first), false, 'the old socket is closed');
    await edit({ address: '127.0.0.2', port: second, tls: files });
    assert.equal(await serves('127.0.0.2', second, client), true);
    assert.equal(await serves('127.0.0.2', second), false, 'TLS is required');
    await edit({ address: '127.0.0.2', port: second, tls: { ...files, certFile: '/nowhere/tls.crt' } });
    assert.match(reports.at(-1)?.problem ?? '', /\/nowhere\/tls\.crt cannot be read.*check that the Secret is mounted/);
    await edit({ address: '127.0.0.2', port: second, tls: files });
    assert.equal(reports.at(-1)?.problem, undefined);
    assert.equal(await serves('127.0.0.2', second, client), true);
  });

  test('metrics are served over TLS, to clients with a certificate', async (context) => {
    const { files, client } = await certificateFiles(context);
    await served(async (stage) => {
      const replica = await stage.start();
      const [port = 0] = await freePorts(1);
      const spec = { ...servers(replica), metrics: { address: '127.0.0.1', port, tls: files } };
      await stage.becomes('Applied', 'True', await stage.apply(spec));
      const get = (options: object) =>
        new Promise<number | undefined>((resolve) => {
          const sent = request(
            { host: '127.0.0.1', port, path: '/metrics', servername: 'sesame', ...options },
            (response) => {
              response.resume();
              resolve(response.statusCode);
            },
          );
          sent.on('error', () => resolve(undefined));
          sent.end();
        });
      assert.equal(await get(client), 200);
      assert.equal(await get({ ca: client.ca }), undefined, 'without a certificate');
    });
  });

  test('a Lease that Sesame creates in its own namespace is deleted with its deployment, one that was there is not', async () => {
    const cluster = await createTestCluster({ clock: systemClock, random: Math.random });
    const { client } = cluster;
    const at = (name: string, namespace = 'default') => ({ name, namespace });
    const settings = (name: string, namespace?: string) =>
      configurationOf({ leaderElection: { configmap: at(name, namespace) } }).leaderElection;
    const { metadata } = await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: at('edge') });
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    await client.create(Lease, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: at('foreign') });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'edge', uid: metadata.uid ?? '' };
    try {
      for (const [name, namespace, owners] of [
        ['created', 'default', [owner]],
        ['foreign', 'default', undefined],
        ['created', 'other', undefined],
      ] as const) {
        const leadership = createSwitchingLeadership({
          client,
          clock: systemClock,
          random: Math.random,
          logger: silentLogger,
          identity: 'one',
          fallback: at('fallback'),
          owner: () => Promise.resolve(owner),
        });
        leadership.use(settings(name, namespace));
        const ending = new AbortController();
        const running = leadership.run(ending.signal);
        await until(() => Promise.resolve(leadership.holds ? true : undefined), 'the lead', 5_000);
        ending.abort();
        await running;
        const lease = await client.get(Lease, at(name, namespace));
        assert.deepEqual(lease.metadata.ownerReferences, owners, `${namespace}/${name}`);
      }
    } finally {
      await cluster.close();
    }
  });

  test('the Lease that is contended for follows the configuration', async () => {
    const cluster = await createTestCluster({ clock: systemClock, random: Math.random });
    let isDown = false;
    const inner = cluster.transport();
    const transport: typeof inner = {
      ...inner,
      request: (...args) => (isDown ? Promise.reject(new Error('no answer')) : inner.request(...args)),
    };
    const common = { clock: systemClock, random: Math.random, logger: silentLogger };
    const client = createClient({ transport, ...common, retry: { attempts: 1 } });
    const leadership = createSwitchingLeadership({
      client,
      ...common,
      identity: 'one',
      fallback: { namespace: 'default', name: 'fallback' },
    });
    const problems: (string | undefined)[] = [];
    leadership.onProblem((problem) => problems.push(problem?.message));
    const ending = new AbortController();
    const running = leadership.run(ending.signal);
    const settings = (name: string, more: object = {}, namespace = 'default') =>
      configurationOf({
        leaderElection: {
          configmap: { name, namespace },
          leaseDuration: '4s',
          renewDeadline: '1s',
          retryPeriod: '100ms',
          ...more,
        },
      }).leaderElection;
    const lease = async (name: string) => (await cluster.client.find(Lease, { namespace: 'default', name }))?.spec;
    const becomes = (what: string, isSo: () => Promise<boolean> | boolean) =>
      until(async () => ((await isSo()) ? true : undefined), what, 5_000);
    try {
      leadership.use(settings('first'));
      await becomes('the first Lease', () => leadership.holds);
      const taken = await lease('first');
      assert.deepEqual([taken?.holderIdentity, taken?.leaseDurationSeconds], ['one', 4]);
      await becomes('its renewal', async () => (await lease('first'))?.renewTime !== taken?.renewTime);
      leadership.use(settings('second'));
      await becomes('the second Lease', async () => (await lease('second'))?.holderIdentity === 'one');
      await becomes('the first to be given back', async () => (await lease('first'))?.holderIdentity !== 'one');
      await becomes('the lead', () => leadership.holds);
      isDown = true;
      const lost = Date.now();
      await becomes('the end of the lead', () => !leadership.holds);
      assert.ok(Date.now() - lost > 500, 'not before the renew deadline');
      isDown = false;
      leadership.use(settings('nowhere', {}, 'missing'));
      await becomes('the lead by the fallback', async () => (await lease('fallback'))?.holderIdentity === 'one');
      await becomes('the lead', () => leadership.holds);
      assert.match(
        problems.at(-1) ?? '',
        /^names the Lease missing\/nowhere, which cannot be used .*; create the namespace/,
      );
      await cluster.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'missing' } });
      await becomes('the end of the problem', () => problems.at(-1) === undefined);
      await becomes('the lead by its own Lease', () => leadership.holds);
      await becomes('the end of the fallback', async () => (await lease('fallback'))?.holderIdentity !== 'one');
      leadership.use(settings('third', { disableLeaderElection: true }));
      await becomes('the lead without a Lease', () => leadership.holds);
      assert.equal(await lease('third'), undefined);
    } finally {
      ending.abort();
      await running;
      await client.close();
      await cluster.close();
    }
  });

  test('statuses have the address of Envoy’s Service, or the configured one', async (context) => {
    const parts = dataPathComponents(
      { listen: { address: '127.0.0.1', port: 0 } },
      configurationOf({ xdsServer: { insecure: true }, envoy: { service: { name: 'edge', namespace: 'default' } } }),
      () => undefined,
    );
    const stage = await createStage({
      operators: [parts.operator],
      async given(client) {
        const spec = { type: 'LoadBalancer' as const, ports: [{ name: 'http', port: 80, protocol: 'TCP' as const }] };
        for (const [name, ip] of [
          ['edge', '203.0.113.1'],
          ['other', '203.0.113.2'],
        ] as const) {
          await client.create(Service, { apiVersion: 'v1', kind: 'Service', metadata: inDefault(name), spec });
          const status = { loadBalancer: { ingress: [{ ip }] } };
          await client.patch(Service, inDefault(name), 'merge', { status }, { subresource: 'status' });
        }
        await client.create(HTTPProxy, {
          apiVersion: HTTPProxy.apiVersion,
          kind: 'HTTPProxy',
          metadata: inDefault('shop'),
          spec: { virtualhost: { fqdn: 'shop.test' }, routes: [{ services: [{ name: 'edge', port: 80 }] }] },
        });
      },
    });
    context.after(() => stage.end());
    const address = async () => {
      await stage.settle();
      const { ingress } = (await stage.client.get(HTTPProxy, inDefault('shop'))).status?.loadBalancer ?? {};
      return ingress?.map(({ ip, hostname }) => ip ?? hostname);
    };
    assert.deepEqual(await address(), ['203.0.113.1']);
    parts.put(
      configurationOf({ xdsServer: { insecure: true }, envoy: { service: { name: 'other', namespace: 'default' } } }),
    );
    assert.deepEqual(await address(), ['203.0.113.2']);
    const statusAddress = '198.51.100.7,edge.example.com';
    parts.put(configurationOf({ xdsServer: { insecure: true }, ingress: { statusAddress } }));
    assert.deepEqual(await address(), ['198.51.100.7', 'edge.example.com']);
  });

  test('log levels follow the configuration', async () => {
    const levels: (string | number)[] = [];
    await served(async (stage) => {
      const replica = await stage.start({
        setLogLevel: (level) => void levels.push(level),
        setKubernetesLogLevel: (level) => void levels.push(level),
      });
      const spec = { ...servers(replica), debug: { logLevel: 'Debug', kubernetesLogLevel: 6 } };
      await stage.becomes('Applied', 'True', await stage.apply(spec));
      await until(async () => (levels.includes('debug') && levels.includes(6) ? true : undefined), 'both levels');
    });
    const lines: string[] = [];
    const write = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`);
    const to: Logger = { debug: write, info: write, warn: write, error: write, with: () => to };
    const requests = clientLog(to);
    const observed = {
      method: 'GET',
      host: 'h',
      code: 200,
      seconds: 0.01,
      requestBytes: 0,
      responseBytes: 0,
      retry: 0,
    } as const;
    requests.observe(observed);
    requests.logger.warn('retrying');
    assert.deepEqual(lines, [], 'silent by default');
    requests.setLevel(1);
    requests.logger.warn('retrying');
    requests.observe(observed);
    assert.equal(lines.length, 1);
    requests.setLevel(6);
    requests.observe(observed);
    assert.match(lines.at(-1) ?? '', /^request \{"method":"GET","host":"h","code":200,"ms":10/);
  });

  test('fields that nothing acts on are accepted, and say so', () => {
    const source = { from: 'resource', name: 'sesame' } as const;
    const { errors, warnings } = effectiveConfiguration({
      given: { xdsServer: { type: 'envoy' }, featureFlags: [] },
      source,
    });
    assert.deepEqual(errors, []);
    assert.match(warnings.map((problem) => problemText(problem)).join(), /xdsServer\.type: is a synonym of sesame/);
    const unknown = effectiveConfiguration({ given: { featureFlags: ['warp'] }, source });
    assert.match(
      unknown.errors.map((problem) => problemText(problem)).join(),
      /featureFlags\[0\]: is not a known feature/,
    );
  });

  test('gateways are those of the configuration', () => {
    const reconcilersOf = (gateway: ConfigurationSpec['gateway']) =>
      dataPathComponents({}, configurationOf({ gateway }), () => undefined).operator.reconcilers.map(
        ({ name }) => name,
      );
    const isGateway = (name: string) => name.startsWith('gateway');
    assert.deepEqual(reconcilersOf(undefined).filter(isGateway), []);
    const named = reconcilersOf({ gatewayRef: { name: 'edge', namespace: 'default' } });
    assert.ok(named.includes('gateway-status'), named.join());
    assert.ok(!named.includes('gateway-class-status'), 'the class is another controller’s');
    const controlled = reconcilersOf({ controllerName: 'projectsesame.io/gateways' });
    assert.ok(controlled.includes('gateway-status') && controlled.includes('gateway-class-status'), controlled.join());
  });
});
