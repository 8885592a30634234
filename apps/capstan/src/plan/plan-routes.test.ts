// The effects on routes in `capstan plan`: the controllers of `sesame serve` are part of it, although they run in programs of their own.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  CustomResourceDefinition,
  createCa,
  Deployment,
  EndpointSlice,
  externalKind,
  issueCertificate,
  type Kind,
  type KubeObject,
  Secret,
  Service,
  systemClock,
} from '@capstan/kube';
import sesame, { SesameConfiguration } from '@capstan/sesame';
import { createRandom, createTestCluster, recordingTransport, type TestCluster } from '@capstan/testing';
import { parse } from 'yaml';
import { runTest } from '../cli/test-io.test-support.ts';
import type { PlanReport } from '../plan/format-plan.ts';

const proxy = (name: string, spec: string) =>
  `apiVersion: projectsesame.io/v1\nkind: HTTPProxy\nmetadata: {name: ${name}, namespace: default}\nspec: ${spec}\n`;
const to = (service: string, more = '') => `[{services: [{name: ${service}, port: 80}]${more}}]`;
const settings = (spec: string, name = 'sesame') =>
  `apiVersion: projectsesame.io/v1alpha1\nkind: SesameConfiguration\nmetadata: {name: ${name}, namespace: default}\nspec: ${spec}\n`;

async function planned(cluster: TestCluster, text: string, ...flags: string[]) {
  const transport = recordingTransport(cluster.transport());
  const argv = ['plan', '-f', 'change.yaml', '--operators', 'sesame', ...flags];
  const files = { '/home/user/change.yaml': text };
  const { out, err } = await runTest(argv, { transport: () => transport, files });
  assert.equal(err, '');
  assert.deepEqual(transport.writes, []);
  return out;
}

/** Deliveries as `change key`, with their disturbances. */
async function delivered(cluster: TestCluster, text: string, ...flags: string[]): Promise<string[]> {
  const report = JSON.parse(await planned(cluster, text, '-o', 'json', ...flags)) as PlanReport;
  assert.deepEqual(report.unknowns, []);
  return report.deliveries.map(({ change, key, disturbs }) => `${change} ${key}${disturbs ? ` (${disturbs})` : ''}`);
}

async function started(): Promise<TestCluster> {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sesame] });
  const { client } = cluster;
  for (const name of ['web', 'api']) {
    const metadata = { namespace: 'default', name };
    await client.create(Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: [{ port: 80 }] },
    });
    await client.create(EndpointSlice, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
      ports: [{ port: 8080 }],
    });
  }
  return cluster;
}

async function certificate(): Promise<Secret> {
  const validity = { notBefore: Date.now() - 1000, notAfter: Date.now() + 86_400_000 };
  const ca = await createCa({ commonName: 'test', ...validity });
  const pair = await issueCertificate({
    ca,
    commonName: 'shop',
    dnsNames: ['shop.example.com'],
    usages: ['server'],
    ...validity,
  });
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { namespace: 'default', name: 'cert' },
    data: { 'tls.crt': encoded(pair.certificate), 'tls.key': encoded(pair.key) },
  };
}

const HTTPProxy = sesame.kinds.find(({ kind }) => kind === 'HTTPProxy') as Kind;

async function withProxy(cluster: TestCluster, name: string, spec: object): Promise<void> {
  await cluster.client.create(HTTPProxy, {
    apiVersion: HTTPProxy.apiVersion,
    kind: 'HTTPProxy',
    metadata: { namespace: 'default', name },
    spec,
  } as KubeObject);
}

test('a plan of an HTTPProxy without a Sesame shows what one with default settings would serve', async () => {
  const cluster = await started();
  try {
    const out = await planned(cluster, proxy('shop', `{virtualhost: {fqdn: shop.example.com}, routes: ${to('web')}}`));
    assert.match(out, /\n {2}\+ add listener ingress_http {2}by sesame-projectsesame-sesame\.xds\n/);
    assert.match(out, /\n {2}\+ add virtual host shop\.example\.com of route configuration ingress_http {2}by/);
    assert.match(out, /\n {2}no Sesame runs in this cluster: shown is what one with default settings would do\n/);
    assert.match(out, /\n1 status .*, 4 delivered\. Nothing has been written\.\n$/);
    // A Service alone is not of Sesame's kinds: nothing is assumed for it.
    const other = await planned(cluster, 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\n', '--delete');
    assert.doesNotMatch(other, /Delivered|no Sesame/);
  } finally {
    await cluster.close();
  }
});

describe('a plan of what a Sesame serves', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await started();
    const { client } = cluster;
    await client.create(SesameConfiguration, {
      apiVersion: SesameConfiguration.apiVersion,
      kind: 'SesameConfiguration',
      metadata: { namespace: 'default', name: 'sesame' },
      spec: {},
    });
    await client.create(Secret, await certificate());
    await withProxy(cluster, 'old', {
      virtualhost: { fqdn: 'old.example.com' },
      routes: [{ services: [{ name: 'web', port: 80 }] }],
    });
  });
  after(() => cluster.close());

  test('shows which values of a virtual host change, and which clusters come and go', async () => {
    const out = await planned(
      cluster,
      proxy('old', `{virtualhost: {fqdn: old.example.com}, routes: ${to('api', ', timeoutPolicy: {response: 5s}')}}`),
    );
    assert.match(out, /~ change virtual host old\.example\.com of route configuration ingress_http/);
    assert.match(
      out,
      / {6}routes\[0\]\.action\.destinations\[0\]\.cluster: "default\/web\/80\/\w+" → "default\/api\/80\/\w+"\n/,
    );
    assert.match(out, / {6}routes\[0\]\.action\.timeout: \+ "5s"\n/);
    assert.match(out, /\+ add cluster default\/api\/80\//);
    assert.match(out, /- remove cluster default\/web\/80\//);
    assert.doesNotMatch(out, /listener/);
  });

  test('shows values of filter chains, endpoints and services in the words of the model', async () => {
    const secure = (version: string) =>
      `{virtualhost: {fqdn: tls.example.com, tls: {secretName: cert, minimumProtocolVersion: "${version}"}}, routes: ${to('web')}}`;
    await withProxy(cluster, 'tls', parse(secure('1.2')) as object);
    const chain = await planned(cluster, proxy('tls', secure('1.3')));
    assert.match(
      chain,
      /~ change filter chain tls\.example\.com of listener ingress_https \(drains its connections\)[^\n]*\n {6}tls\.minimumVersion: "1\.2" → "1\.3"\n/,
    );
    const slice = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.2], conditions: {ready: true}}]
ports: [{port: 8080, protocol: TCP, name: ""}]
`;
    const endpoints = await planned(cluster, slice);
    assert.match(
      endpoints,
      /~ change endpoints of default\/web[^\n]*\n {6}\[0\]\.endpoints\[0\]\.address: "10\.0\.0\.1" → "10\.0\.0\.2"\n/,
    );
    await cluster.client.delete(HTTPProxy, { namespace: 'default', name: 'tls' });
  });

  test('reads a Secret that no route has used so far', async () => {
    const tls = '{virtualhost: {fqdn: shop.example.com, tls: {secretName: cert}}';
    assert.deepEqual(await delivered(cluster, proxy('shop', `${tls}, routes: ${to('web')}}`)), [
      'added listener ingress_https',
      'added route configuration https/shop.example.com',
      'added virtual host shop.example.com of route configuration ingress_http',
      'added certificate default/cert',
    ]);
  });

  test('shows error pages, outlier detection and compression where they take effect', async () => {
    const outliers =
      '[{services: [{name: web, port: 80, outlierDetection: {consecutiveServerErrors: 3}}], compressionPolicy: {algorithm: brotli}}]';
    const out = await planned(
      cluster,
      proxy(
        'old',
        `{virtualhost: {fqdn: old.example.com, errorPages: [{statusCodes: [503], body: back soon}]}, routes: ${outliers}}`,
      ),
    );
    assert.match(out, /~ change virtual host old\.example\.com /);
    assert.match(out, /\n {6}policies\.errorPages: \+ .*"statuses":\[503\]/);
    assert.match(out, /\n {6}routes\[0\]\.policies\.compression: \+ "brotli"/);
    assert.match(out, /\+ add cluster default\/web\/80\//);
    assert.doesNotMatch(out, /listener/);
  });

  test('shows patches of resources, and those that would be left out', async () => {
    const patch = (name: string, path: string, value: string) =>
      `{name: ${name}, type: Cluster, resource: default/web/80, operations: [{op: replace, path: ${path}, value: ${value}}]}`;
    const patches = `${patch('slow', '/connect_timeout', '9s')}, ${patch('other', '/name', 'default/other')}`;
    const out = await planned(cluster, settings(`{envoyPatches: [${patches}]}`));
    assert.match(out, /\+ add patch slow of Cluster default\/web\/80/);
    assert.match(out, /~ change cluster default\/web\/80\/[^\n]*\n {6}connect_timeout: "2s" → "9s"\n/);
    assert.match(
      out,
      /spec\.envoyPatches\[1\]\.operations\[0\]: other is left out for Cluster default\/web\/80\/.*protected/,
    );
  });

  test('shows the listener for HTTP/3 and the keys of a login, but not their values', async () => {
    const { client } = cluster;
    const value = 'never-in-a-plan-0123456789abcdef';
    const data = { 'client-secret': 'also-never-in-a-plan', 'hmac-secret': value };
    await client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'login' },
      data: Object.fromEntries(
        Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
      ),
    });
    const oidc =
      'oidc: {authorizationEndpoint: "https://login.example.com/", tokenEndpoint: {uri: "https://login.example.com/token"}, clientID: shop, secretName: login}';
    const change = `${settings('{envoy: {http3: {enabled: true}}}')}---\n${proxy(
      'shop',
      `{virtualhost: {fqdn: shop.example.com, tls: {secretName: cert}, ${oidc}}, routes: ${to('web')}}`,
    )}`;
    try {
      assert.deepEqual(
        (await delivered(cluster, change)).filter((each) => /^added (?:listener|secret) /.test(each)),
        [
          'added listener ingress_http3',
          'added listener ingress_https',
          'added secret default/login/client-secret',
          'added secret default/login/hmac-secret',
        ],
      );
      assert.doesNotMatch(await planned(cluster, change, '-o', 'json'), /never-in-a-plan/);
      // Nor are they in the changed values of a host that had no login before.
      const host = '{virtualhost: {fqdn: shop.example.com, tls: {secretName: cert}';
      await withProxy(cluster, 'shop', parse(`${host}}, routes: ${to('web')}}`) as object);
      const login = await planned(cluster, proxy('shop', `${host}, ${oidc}}, routes: ${to('web')}}`), '-o', 'json');
      assert.match(login, /traffic\.login[^]*default\/login\/client-secret/);
      assert.doesNotMatch(login, /never-in-a-plan/);
    } finally {
      await client.delete(Secret, { namespace: 'default', name: 'login' });
      await client.delete(HTTPProxy, { namespace: 'default', name: 'shop' }).catch(() => undefined);
    }
  });

  test('reports what would be wrong, on the object that it would be wrong on', async () => {
    const missing = await planned(
      cluster,
      'apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\n',
      '--delete',
    );
    assert.match(
      missing,
      /Reported on objects:\n {2}! HTTPProxy default\/old: Valid: error ServiceError, spec\.routes\[0\]\.services\[0\]\.name: Service default\/web does not exist;/,
    );
    const ingress = await planned(
      cluster,
      `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site, namespace: default}
spec: {rules: [{host: site.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: none, port: {number: 80}}}}]}}]}
`,
    );
    assert.match(ingress, / {2}! Ingress default\/site: spec\.rules: Service default\/none does not exist;/);
    // An existing error is not reported again.
    await withProxy(cluster, 'bad', {
      virtualhost: { fqdn: 'bad.example.com' },
      routes: [{ services: [{ name: 'none', port: 80 }] }],
    });
    const same = await planned(cluster, proxy('shop', `{virtualhost: {fqdn: shop.example.com}, routes: ${to('web')}}`));
    assert.doesNotMatch(same, /Reported on objects/);
  });

  test('shows a listener that drains', async () => {
    const gone = await delivered(cluster, `${proxy('old', '{}')}---\n${proxy('bad', '{}')}`, '--delete');
    assert.ok(gone.includes('removed listener ingress_http (drains a listener)'), gone.join('\n'));
    const proxyProtocol = await planned(cluster, settings('{envoy: {listener: {useProxyProtocol: true}}}'));
    assert.match(proxyProtocol, /~ change listener ingress_http \(drains a listener\)/);
    assert.match(proxyProtocol, / {6}hasProxyProtocol: false → true/);
  });

  test('reports a configuration that would stop Sesame, and delivers nothing because of it', async () => {
    const bad = settings('{envoy: {listener: {tls: {cipherSuites: [none]}}}}');
    const report = JSON.parse(await planned(cluster, bad, '-o', 'json')) as PlanReport;
    assert.deepEqual(
      report.problems.map(({ object, message }) => [object, message.slice(0, 22)]),
      [['SesameConfiguration default/sesame', 'Valid: error TLSError,']],
    );
    assert.deepEqual(
      report.deliveries.filter(({ by }) => by.endsWith('.xds')),
      [],
    );
  });

  test('takes the flags of the Deployment that runs it', async () => {
    const { client } = cluster;
    await client.create(Deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'default', name: 'sesame' },
      spec: {
        selector: { matchLabels: { app: 'sesame' } },
        template: {
          metadata: { labels: { app: 'sesame' } },
          spec: {
            containers: [
              { name: 'sesame', image: 'x', command: ['sesame'], args: ['serve', '--ingress-class-name=internal'] },
            ],
          },
        },
      },
    });
    try {
      const plain = proxy('shop', `{virtualhost: {fqdn: shop.example.com}, routes: ${to('web')}}`);
      assert.deepEqual(await delivered(cluster, plain), []);
      const classed = plain.replace('spec: {', 'spec: {ingressClassName: internal, ');
      assert.equal((await delivered(cluster, classed)).length, 4);
    } finally {
      await client.delete(Deployment, { namespace: 'default', name: 'sesame' });
    }
  });
});

describe('a plan of Gateways', () => {
  let cluster: TestCluster;
  const group = 'gateway.networking.k8s.io';
  const GatewayClass = externalKind({
    group,
    version: 'v1',
    kind: 'GatewayClass',
    plural: 'gatewayclasses',
    scope: 'Cluster',
  });
  before(async () => {
    cluster = await started();
    for (const [kind, plural, scope] of [
      ['GatewayClass', 'gatewayclasses', 'Cluster'],
      ['Gateway', 'gateways', 'Namespaced'],
      ['HTTPRoute', 'httproutes', 'Namespaced'],
    ] as const)
      await cluster.client.create(CustomResourceDefinition, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: {
          name: `${plural}.${group}`,
          annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
        },
        spec: {
          group,
          scope,
          names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
              subresources: { status: {} },
            },
          ],
        },
      });
    await cluster.client.create(GatewayClass, {
      apiVersion: `${group}/v1`,
      kind: 'GatewayClass',
      metadata: { name: 'sesame' },
      spec: { controllerName: 'projectsesame.io/gateway-controller' },
    } as KubeObject);
  });
  after(() => cluster.close());

  const gateway = (name: string) => `apiVersion: ${group}/v1
kind: Gateway
metadata: {name: ${name}, namespace: default}
spec: {gatewayClassName: sesame, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: ${group}/v1
kind: HTTPRoute
metadata: {name: ${name}, namespace: default}
spec: {parentRefs: [{name: ${name}}], hostnames: [${name}.example.com], rules: [{backendRefs: [{name: web, port: 80}]}, {matches: [{path: {value: /none}}], backendRefs: [{name: none, port: 80}]}]}
`;

  test('shows the instances that they would get, and what each would serve', async () => {
    const out = await planned(cluster, `${gateway('east')}---\n${gateway('west')}`);
    for (const name of ['east', 'west']) {
      assert.match(out, new RegExp(`\\+ create SesameDeployment default/${name} `));
      const by = `by sesame-default-sesameconfig-${name}\\.xds`;
      assert.match(out, new RegExp(`\\+ add listener http-80 {2}${by}\n`));
      assert.match(
        out,
        new RegExp(`\\+ add virtual host ${name}\\.example\\.com of route configuration http-80 {2}${by}\n`),
      );
      assert.match(
        out,
        new RegExp(
          `! HTTPRoute default/${name}: ${name}: ResolvedRefs is False \\(BackendNotFound\\): spec\\.rules\\[1\\]`,
        ),
      );
    }
    assert.doesNotMatch(out, /Conflicted|threw/);
  });
});
