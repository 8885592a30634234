import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deployment, type Kind, type KubeObject, Secret, Service, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import { BUILT_IN_OPERATORS } from '../operators.ts';
import { fit, referencesOf } from './references.ts';

const of = (spec: object, kind = 'Thing') =>
  referencesOf({ apiVersion: 'a/v1', kind, metadata: {}, spec } as KubeObject);

describe('an object refers to', () => {
  const cases: [what: string, spec: object, expected: object][] = [
    ['an object by kind and name', { target: { kind: 'Site', name: 'a' } }, { kind: 'Site', word: '', name: 'a' }],
    ['one by a field that ends in Ref', { proxyRef: { name: 'a' } }, { word: 'proxy', name: 'a' }],
    ['each of a list', { filterRefs: [{ name: 'a' }] }, { word: 'filter', name: 'a' }],
    ['a Secret by its name', { tls: { secretName: 'b/a' } }, { kind: 'Secret', word: '', namespace: 'b', name: 'a' }],
    ['a key of a Secret', { env: [{ secretKeyRef: { name: 'a', key: 'k' } }] }, { word: 'secret', name: 'a' }],
    ['Services of a route', { routes: [{ services: [{ name: 'a' }] }] }, { kind: 'Service', word: '', name: 'a' }],
    ['what it includes', { includes: [{ name: 'a' }] }, { kind: 'Thing', word: '', name: 'a' }],
  ];
  for (const [what, spec, expected] of cases) test(what, () => assert.deepEqual(of(spec), [expected]));

  test('nothing by a name that is no reference', () => {
    assert.deepEqual(of({ name: 'a', header: { name: 'x' }, ports: [{ name: 'http' }] }), []);
  });

  test('the kind that fits the field best', () => {
    const best = (word: string, kinds: string[]) => kinds.toSorted((a, b) => fit(word, b) - fit(word, a))[0];
    assert.equal(best('proxy', ['KafkaProxyIngress', 'KafkaProxy', 'KafkaService']), 'KafkaProxy');
    assert.equal(best('runtimeConfig', ['DeploymentRuntimeConfig', 'ConfigMap']), 'DeploymentRuntimeConfig');
  });
});

async function cluster() {
  const operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  const { transport, client } = await createTestCluster({ clock: systemClock, random: createRandom(1), operators });
  const kinds = new Map<string, Kind>(operators.flatMap((one) => one.kinds.map((kind) => [kind.kind, kind] as const)));
  const create = async (kind: Kind | string, name: string, parts: object = {}, metadata: object = {}) => {
    const found = typeof kind === 'string' ? kinds.get(kind) : kind;
    assert.ok(found);
    const place = found.scope === 'Namespaced' ? { namespace: 'default' } : {};
    return client.create(found, {
      apiVersion: found.apiVersion,
      kind: found.kind,
      metadata: { ...place, name, ...metadata },
      ...parts,
    });
  };
  return { create, tree: (...argv: string[]) => runTest(['tree', ...argv], { transport }) };
}

test('tree shows all directions, with health, missing objects and exit code 3', async () => {
  const { create, tree } = await cluster();
  await create('KafkaProxy', 'proxy', { spec: {} });
  await create('KafkaProxyIngress', 'inside', {
    spec: { proxyRef: { name: 'proxy' }, clusterIP: { protocol: 'TCP' } },
  });
  await create('KafkaService', 'kafka', { spec: { bootstrapServers: 'kafka:9092' } });
  await create('VirtualKafkaCluster', 'orders', {
    spec: {
      proxyRef: { name: 'proxy' },
      targetKafkaServiceRef: { name: 'kafka' },
      ingresses: [{ ingressRef: { name: 'inside' } }],
      filterRefs: [{ name: 'gone' }],
    },
  });
  const owner = await create('VirtualKafkaCluster', 'other', {
    spec: {
      proxyRef: { name: 'proxy' },
      targetKafkaServiceRef: { name: 'kafka' },
      ingresses: [{ ingressRef: { name: 'inside' } }],
    },
  });
  const { apiVersion, kind, metadata } = owner;
  const ownerReferences = [{ apiVersion, kind, name: 'other', uid: metadata.uid ?? '', controller: true }];
  await create(Secret, 'keys', { data: { token: Buffer.from('hidden').toString('base64') } }, { ownerReferences });
  await create(
    Service,
    'marked',
    { spec: { ports: [{ port: 80 }] } },
    {
      annotations: { 'capstan.dev/owner': 'kroxylicious.x VirtualKafkaCluster.kroxylicious.io default/other' },
    },
  );
  const orders = await tree('virtualkafkacluster/orders', '--exit-code');
  assert.equal(orders.code, 3, orders.err);
  assert.equal(
    orders.out,
    `VirtualKafkaCluster default/orders Pending: no condition has been written yet

depends on
├─ KafkaProtocolFilter default/gone Missing
├─ KafkaProxy default/proxy Pending: no condition has been written yet
├─ KafkaProxyIngress default/inside Pending: no condition has been written yet
│  └─ KafkaProxy default/proxy Pending: no condition has been written yet
└─ KafkaService default/kafka Pending: no condition has been written yet
`,
  );
  assert.match(
    (await tree('virtualkafkacluster/other')).out,
    /owns\n├─ Secret default\/keys\n└─ Service default\/marked\n$/,
  );
  const { out } = await tree('secret/keys', '-o', 'json');
  assert.doesNotMatch(out, /hidden|aGlkZGVu/);
  assert.match((await tree('secret/keys')).out, /belongs to\n└─ VirtualKafkaCluster default\/other/);
  assert.match(
    (await tree('kafkaproxy/proxy')).out,
    /needed by\n├─ KafkaProxyIngress[^]*VirtualKafkaCluster default\/orders/,
  );
  const absent = await tree('kafkaproxy/nowhere');
  assert.equal(absent.code, 1);
  assert.match(absent.err, /KafkaProxy default\/nowhere/);
});

test('tree knows the references of every operator', async () => {
  const { create, tree } = await cluster();
  await create(Service, 'web', { spec: { ports: [{ port: 80 }] } });
  const route = { services: [{ name: 'web', port: 80 }] };
  await create('HTTPProxy', 'child', { spec: { routes: [route] } });
  await create('HTTPProxy', 'root', {
    spec: {
      virtualhost: { fqdn: 'a.example.org', tls: { secretName: 'tls' } },
      includes: [{ name: 'child' }],
    },
  });
  const sesame = await tree('httpproxy/root');
  assert.match(
    sesame.out,
    /^HTTPProxy default\/root Pending: no Sesame serves class sesame.*\n\ndepends on\n├─ HTTPProxy default\/child Pending.*\n│ {2}└─ Service default\/web\n└─ Secret default\/tls Missing\n$/,
  );
  await create('DeploymentRuntimeConfig', 'big', { spec: {} });
  await create('Provider', 'storage', { spec: { package: 'a.example/b:v1', runtimeConfigRef: { name: 'big' } } });
  assert.match((await tree('provider/storage')).out, /depends on\n└─ DeploymentRuntimeConfig big/);
  assert.match((await tree('deploymentruntimeconfig/big')).out, /needed by\n└─ Provider storage Pending/);
  await create('Broker', 'broker', { spec: {} });
  assert.match((await tree('broker/broker')).out, /^Broker default\/broker/);
  await create(Deployment, 'discoverer', {
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'd' } },
      template: { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'd', image: 'd' }] } },
    },
  });
  assert.match((await tree('deployment/discoverer')).out, /^Deployment default\/discoverer NotReady: 0 of 2 ready\n$/);
});
