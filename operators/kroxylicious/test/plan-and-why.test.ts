// Tests of previews ("plan") and of explanations ("why").
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type Kind, type KubeObject, ReplicaSet, Secret } from '@capstan/kube';
import { CAUSE_ANNOTATION, parseCause, preview } from '@capstan/reconcile';
import type { Stage } from '@capstan/testing';
import { KafkaProtocolFilter, KafkaProxy, KafkaProxyIngress, VirtualKafkaCluster } from '../src/index.ts';
import {
  certificate,
  cluster,
  configMap,
  create,
  encoded,
  filter,
  get,
  kindOf,
  NAMESPACE,
  object,
  opaque,
  patch,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const issued = await certificate();
const objects = (): KubeObject[] => [
  proxy(),
  proxy({}, 'other'),
  service({
    bootstrapServers: 'kafka:9092',
    tls: { trustAnchorRef: { kind: 'Secret', name: 'upstream-ca', key: 'ca.crt', storeType: 'PEM' } },
  }),
  opaque('upstream-ca', { 'ca.crt': issued.ca }),
  filter({ a: '${configmap:rules:rules}' }),
  configMap('rules', { rules: 'all' }),
  tcpIngress(),
  tcpIngress('theirs', 'other'),
  cluster('orders', { filterRefs: [{ name: 'encryption' }] }),
  cluster('others', { proxyRef: { name: 'other' }, ingresses: [{ ingressRef: { name: 'theirs' } }] }),
];

describe('why', () => {
  test('names the Secret, the key, the path and the hashes of a rollout', () =>
    staged({ objects: objects() }, async ({ client, settle }) => {
      const other = await certificate();
      await patch(client, Secret, 'upstream-ca', { data: encoded({ 'ca.crt': other.ca }) });
      await settle();
      const cause = parseCause((await get.deployment(client)).metadata.annotations?.[CAUSE_ANNOTATION]);
      assert.equal(cause?.changes.length, 1, JSON.stringify(cause));
      const [change] = cause.changes;
      assert.equal(change?.object, 'Secret default/upstream-ca');
      assert.deepEqual(change.paths, ['data["ca.crt"]']);
      assert.deepEqual(change.via, [
        'KafkaService(default/upstream)',
        'VirtualKafkaCluster(default/orders)',
        'kroxylicious.kafka-proxy(default/my-proxy)',
      ]);
      assert.notEqual(change.from, change.to);
      const status = (await get.proxy(client)).status?.rollout;
      assert.match(
        status?.reason ?? '',
        /^Secret default\/upstream-ca \(data\["ca\.crt"\]\) changed → KafkaService default\/upstream → VirtualKafkaCluster default\/orders$/,
      );
      assert.doesNotMatch(JSON.stringify(await get.deployment(client)), /BEGIN CERTIFICATE/);
    }));

  test('names the new cluster that refers to an unused Secret, not the Secret', () =>
    staged({ objects: objects() }, async ({ client, settle }) => {
      await create(client, tlsIngress(), tlsSecret('server', issued));
      await settle();
      const ingresses = [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }];
      await create(client, cluster('new', { ingresses }));
      await settle();
      const cause = parseCause((await get.deployment(client)).metadata.annotations?.[CAUSE_ANNOTATION]);
      assert.deepEqual(
        cause?.changes.map(({ object, from }) => [object, from]),
        [['VirtualKafkaCluster.kroxylicious.io default/new', 'absent']],
      );
      assert.equal((await get.proxy(client)).status?.rollout?.reason, 'VirtualKafkaCluster default/new was created');
    }));

  test('does not name the ReplicaSet of the last rollout', () =>
    staged({ objects: objects() }, async ({ client, settle }) => {
      const { spec } = await get.deployment(client);
      const labels = spec?.template.metadata?.labels ?? {};
      const template = { ...spec?.template, metadata: { labels } };
      await patch(client, ConfigMap, 'rules', { data: { rules: 'none' } });
      await client.create(ReplicaSet, {
        ...object(ReplicaSet, 'my-proxy-1', { spec: { selector: { matchLabels: labels }, template } }),
        metadata: { namespace: NAMESPACE, name: 'my-proxy-1', labels },
      });
      await settle();
      const cause = parseCause((await get.deployment(client)).metadata.annotations?.[CAUSE_ANNOTATION]);
      assert.deepEqual(
        cause?.changes.map((change) => change.object),
        ['ConfigMap default/rules'],
      );
    }));
});

describe('why names the field and the path to it', () => {
  const filterPath = [
    'KafkaProtocolFilter(default/encryption)',
    'VirtualKafkaCluster(default/orders)',
    'kroxylicious.kafka-proxy(default/my-proxy)',
  ];
  const cases: Record<
    string,
    { kind: Kind; name: string; body: object; object: string; paths: string[]; via: string[] }
  > = {
    'for an edit of a filter': {
      kind: KafkaProtocolFilter,
      name: 'encryption',
      body: { spec: { configTemplate: { more: true } } },
      object: 'KafkaProtocolFilter.kroxylicious.io default/encryption',
      paths: ['spec.configTemplate.more'],
      via: filterPath,
    },
    'for an edit of a ConfigMap': {
      kind: ConfigMap,
      name: 'rules',
      body: { data: { rules: 'none' } },
      object: 'ConfigMap default/rules',
      paths: ['data.rules'],
      via: filterPath,
    },
    'for an edit of a virtual cluster': {
      kind: VirtualKafkaCluster,
      name: 'orders',
      body: { spec: { filterRefs: null } },
      object: 'VirtualKafkaCluster.kroxylicious.io default/orders',
      paths: ['spec.filterRefs'],
      via: filterPath.slice(1),
    },
    'for an edit of an ingress': {
      kind: KafkaProxyIngress,
      name: 'tcp',
      body: { spec: { clusterIP: { bootstrapPort: 20_000 } } },
      object: 'KafkaProxyIngress.kroxylicious.io default/tcp',
      paths: ['spec.clusterIP.bootstrapPort'],
      via: ['KafkaProxyIngress(default/tcp)', 'VirtualKafkaCluster(default/orders)', filterPath[2] ?? ''],
    },
    'for an edit of the proxy itself': {
      kind: KafkaProxy,
      name: 'my-proxy',
      body: { spec: { network: { proxy: { workerThreadCount: 3 } } } },
      object: 'KafkaProxy.kroxylicious.io default/my-proxy',
      paths: ['spec.network'],
      via: [],
    },
  };
  for (const [name, { kind, name: of, body, object, paths, via }] of Object.entries(cases)) {
    test(name, () =>
      staged({ objects: objects() }, async ({ client, settle }) => {
        await patch(client, kind, of, body);
        await settle();
        const cause = parseCause((await get.deployment(client)).metadata.annotations?.[CAUSE_ANNOTATION]);
        const [change] = cause?.changes ?? [];
        assert.equal(cause?.changes.length, 1, JSON.stringify(cause));
        assert.deepEqual({ object: change?.object, paths: change?.paths }, { object, paths });
        assert.deepEqual(change?.via, via);
        assert.match(`${change?.from} ${change?.to}`, /^[0-9a-f]{12} [0-9a-f]{12}$/);
        assert.notEqual(change?.from, change?.to);
      }),
    );
  }
});

describe('plan', () => {
  const rolled = async ({ program: { runtime } }: Stage, ...changes: KubeObject[]) => {
    const { writes } = await preview(
      runtime,
      changes.map((object) => ({ kind: kindOf(object), object })),
    );
    return writes.filter(({ disturbs }) => disturbs === 'rolls pods').map(({ object }) => object);
  };

  const edit = (object: KubeObject & { spec?: object }, spec: object): KubeObject =>
    ({ ...object, spec: { ...object.spec, ...spec } }) as KubeObject;

  test('names the Deployments that an edit would roll, and no others', () =>
    staged({ objects: objects() }, async (stage) => {
      const edited = await stage.client.get(KafkaProtocolFilter, { namespace: NAMESPACE, name: 'encryption' });
      assert.deepEqual(await rolled(stage, edit(edited, { type: 'Other' })), ['Deployment default/my-proxy']);
      const scaled = await stage.client.get(KafkaProxy, { namespace: NAMESPACE, name: 'my-proxy' });
      assert.deepEqual(await rolled(stage, edit(scaled, { replicas: 5 })), []);
      assert.equal((await stage.client.get(Deployment, { namespace: NAMESPACE, name: 'my-proxy' })).spec?.replicas, 1);
    }));
});
