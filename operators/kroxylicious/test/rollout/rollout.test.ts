// Changes that restart a proxy and changes that do not: the table of the specification, on the embedded server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../../src/index.ts';
import {
  checksum,
  cluster,
  create,
  encoded,
  filter,
  get,
  NAMESPACE,
  opaque,
  patch,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  writesTo,
} from '../fixtures.ts';
import { everything, renewed } from './rollout.test-support.ts';

type Change = (stage: Stage) => Promise<void>;

const merge =
  (kind: Parameters<typeof patch>[1], name: string, body: object): Change =>
  ({ client }) =>
    patch(client, kind, name, body);

async function rollsAfter(
  change: Change,
): Promise<{ rolls: number; stage: { before: string | undefined; after: string | undefined } }> {
  let result = { rolls: 0, stage: { before: undefined as string | undefined, after: undefined as string | undefined } };
  await staged({ objects: everything() }, async (stage) => {
    const before = await get.deployment(stage.client);
    stage.transport.clear();
    await change(stage);
    await stage.settle();
    const after = await get.deployment(stage.client);
    const templates = [before, after].map(({ spec }) => JSON.stringify(spec?.template));
    const rolls = templates[0] === templates[1] ? 0 : writesTo(stage, 'deployments').length;
    result = { rolls, stage: { before: checksum(before), after: checksum(after) } };
  });
  return result;
}

describe('a change that the proxy must see rolls it exactly once', () => {
  const cases: Record<string, Change> = {
    'the certificate of a way in': merge(Secret, 'server', {
      data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
    }),
    'the trust of a way in': merge(ConfigMap, 'clients', { data: { 'ca.pem': renewed.ca } }),
    'the certificate towards Kafka': merge(Secret, 'client', {
      data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
    }),
    'the trust towards Kafka': merge(ConfigMap, 'upstream-ca', { data: { 'ca.pem': renewed.ca } }),
    'a key of a Secret that a filter names': merge(Secret, 'kms', { data: encoded({ password: 'battery staple' }) }),
    'a key of a ConfigMap that a filter names': merge(ConfigMap, 'rules', { data: { 'rules.txt': 'none' } }),
    'the configuration of a filter': merge(KafkaProtocolFilter, 'encryption', {
      spec: { configTemplate: { more: true } },
    }),
    'the type of a filter': merge(KafkaProtocolFilter, 'encryption', { spec: { type: 'Other' } }),
    'the address of Kafka': merge(KafkaService, 'upstream', { spec: { bootstrapServers: 'other.example:9092' } }),
    'the node ids of Kafka': merge(KafkaService, 'upstream', { spec: { nodeIdRanges: [{ start: 0, end: 4 }] } }),
    'the filters of a cluster': merge(VirtualKafkaCluster, 'one', {
      spec: { filterRefs: [{ name: 'encryption' }, { name: 'encryption' }] },
    }),
    'TLS versions of a way in': merge(VirtualKafkaCluster, 'two', {
      spec: {
        ingresses: [
          {
            ingressRef: { name: 'tls' },
            tls: { certificateRef: { name: 'server' }, protocols: { deny: ['TLSv1.2'] } },
          },
        ],
      },
    }),
    'the network of the proxy': merge(KafkaProxy, 'my-proxy', {
      spec: { network: { proxy: { workerThreadCount: 3 } } },
    }),
    'the resources of the proxy': merge(KafkaProxy, 'my-proxy', {
      spec: { infrastructure: { proxyContainer: { resources: { limits: { cpu: '2' } } } } },
    }),
    'the metrics of the proxy': merge(KafkaProxy, 'my-proxy', {
      spec: { micrometer: [{ type: 'StandardBindersHook', config: { binderNames: ['UptimeMetrics'] } }] },
    }),
    'annotations that the proxy’s pods should have': merge(KafkaProxy, 'my-proxy', {
      spec: { infrastructure: { pod: { annotations: { 'vault/inject': 'true' } } } },
    }),
    'a new cluster': ({ client }) => create(client, cluster('three', { ingresses: [{ ingressRef: { name: 'tcp' } }] })),
    'a cluster that goes': ({ client }) =>
      client.delete(VirtualKafkaCluster, { namespace: NAMESPACE, name: 'two' }).then(() => undefined),
  };
  for (const [name, change] of Object.entries(cases)) {
    test(name, async () => {
      const { rolls } = await rollsAfter(change);
      assert.equal(rolls, 1);
    });
  }
});

describe('a change that means nothing to the proxy rolls nothing', () => {
  const cases: Record<string, Change> = {
    'labels and annotations of a Secret': merge(Secret, 'server', {
      metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
    }),
    'a key of a Secret that nothing names': merge(Secret, 'kms', { data: encoded({ unused: 'y' }) }),
    'a key of a ConfigMap that nothing names': merge(ConfigMap, 'rules', { data: { other: 'y' } }),
    'the same Secret once more': merge(Secret, 'kms', { data: encoded({ password: 'correct horse' }) }),
    'labels of a cluster': merge(VirtualKafkaCluster, 'one', { metadata: { labels: { a: 'b' } } }),
    'the status of a service': ({ client }) =>
      client
        .patch(
          KafkaService,
          { namespace: NAMESPACE, name: 'upstream' },
          'merge',
          { status: { conditions: [] } },
          { subresource: 'status' },
        )
        .then(() => undefined),
    scaling: merge(KafkaProxy, 'my-proxy', { spec: { replicas: 3 } }),
    'annotations for Services': merge(KafkaProxyIngress, 'tcp', {
      spec: { infrastructure: { annotations: { 'example.com/x': 'y' } } },
    }),
    'filters and services that nothing uses': ({ client }) =>
      create(client, filter({ a: 1 }, 'unused'), service({ bootstrapServers: 'x:1' }, 'unused')),
    'an ingress that nothing uses': ({ client }) => create(client, tlsIngress('unused')),
    'an edit that is taken back within the quiet period': async (stage) => {
      await patch(stage.client, KafkaProtocolFilter, 'encryption', { spec: { type: 'Other' } });
      await stage.clock.advance(1000);
      await patch(stage.client, KafkaProtocolFilter, 'encryption', { spec: { type: 'RecordEncryption' } });
    },
    'an ingress that is edited and taken back': async (stage) => {
      await patch(stage.client, KafkaProxyIngress, 'tcp', { spec: { clusterIP: { protocol: 'TLS' } } });
      await stage.clock.advance(1000);
      await patch(stage.client, KafkaProxyIngress, 'tcp', { spec: { clusterIP: { protocol: 'TCP' } } });
    },
    'a Secret that is deleted and made again': async (stage) => {
      await stage.client.delete(Secret, { namespace: NAMESPACE, name: 'kms' });
      await stage.settle();
      await create(stage.client, opaque('kms', { password: 'correct horse' }));
    },
    'a Secret that is deleted': async (stage) => {
      await stage.client.delete(Secret, { namespace: NAMESPACE, name: 'server' });
    },
    'a cluster that breaks': merge(VirtualKafkaCluster, 'two', {
      spec: { targetKafkaServiceRef: { name: 'nowhere' } },
    }),
    'a cluster that names a proxy that is not there': merge(VirtualKafkaCluster, 'two', {
      spec: { proxyRef: { name: 'nowhere' } },
    }),
    'new clusters that are broken': ({ client }) =>
      create(client, cluster('three', { filterRefs: [{ name: 'nowhere' }] })),
  };
  for (const [name, change] of Object.entries(cases)) {
    test(name, async () => {
      const { rolls, stage } = await rollsAfter(change);
      assert.equal(rolls, 0);
      assert.equal(stage.after, stage.before);
    });
  }
});

describe('several changes', () => {
  test('within the quiet period cause one rollout', () =>
    staged({ objects: everything() }, async (stage) => {
      stage.transport.clear();
      await patch(stage.client, Secret, 'server', {
        data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
      });
      await stage.clock.advance(600);
      await patch(stage.client, ConfigMap, 'upstream-ca', { data: { 'ca.pem': renewed.ca } });
      await stage.clock.advance(600);
      await patch(stage.client, Secret, 'kms', { data: encoded({ password: 'other' }) });
      await stage.settle();
      assert.deepEqual(writesTo(stage, 'deployments'), ['PATCH deployments/my-proxy']);
    }));

  test('and their reversal end at the first hash', () =>
    staged({ objects: everything() }, async ({ client, settle }) => {
      const hash = async () => checksum(await get.deployment(client));
      const before = await hash();
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'other.example:9092' } });
      await settle();
      assert.notEqual(await hash(), before);
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'kafka.example:9092' } });
      await settle();
      assert.equal(await hash(), before);
    }));

  test('to the inputs of one cluster change its hash and the proxy’s, and no other cluster’s', () =>
    staged({ objects: everything() }, async ({ client, settle }) => {
      const hashes = async () => [
        (await get.cluster(client, 'one')).status?.configHash,
        (await get.cluster(client, 'two')).status?.configHash,
        (await get.filter(client)).status?.configHash,
        (await get.service(client)).status?.configHash,
        (await get.ingress(client)).status?.configHash,
        (await get.proxy(client)).status?.configHash,
        checksum(await get.deployment(client)),
      ];
      const before = await hashes();
      assert.ok(
        before.every((hash) => hash?.startsWith('v1.')),
        String(before),
      );
      assert.equal(before[5], before[6]);
      await patch(client, Secret, 'kms', { data: encoded({ password: 'other' }) });
      await settle();
      const after = await hashes();
      assert.deepEqual(
        after.map((hash, i) => hash !== before[i]),
        [true, false, true, false, false, true, true],
      );
    }));
});

describe('a new digest key', () => {
  for (const isolation of ['Proxy', 'VirtualCluster']) {
    test(`alone rolls nothing, and the next change of a Secret rolls once (isolation ${isolation})`, () =>
      staged({ objects: [proxy({ isolation }), ...everything().slice(1)] }, async (stage) => {
        stage.transport.clear();
        stage.program.runtime.setDigestKey({ id: 'other', bytes: new Uint8Array(32).fill(7) });
        await stage.settle();
        assert.deepEqual(writesTo(stage, 'deployments'), []);
        assert.match((await get.filter(stage.client)).status?.configHash ?? '', /\.other_n\./);
        await patch(stage.client, Secret, 'kms', { data: encoded({ password: 'battery staple' }) });
        await stage.settle();
        assert.equal(writesTo(stage, 'deployments').length, 1);
      }));
  }
});

describe('a restart of the operator', () => {
  test('a restart of the operator on a settled cluster writes nothing', () =>
    staged({ objects: everything() }, async (stage) => {
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));

  test('a restart of the operator on a cluster with faults writes nothing either', () =>
    staged({ objects: everything() }, async (stage) => {
      await stage.client.delete(Secret, { namespace: NAMESPACE, name: 'server' });
      await patch(stage.client, VirtualKafkaCluster, 'one', { spec: { filterRefs: [{ name: 'nowhere' }] } });
      await stage.settle();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));
});

describe('a digest key that is lost', () => {
  const objects = (isolation = 'Proxy') => [
    proxy({ isolation }),
    service(),
    tcpIngress(),
    opaque('kms', { password: 'correct horse' }),
    filter({ password: '${secret:kms:password}' }),
    cluster('one', { filterRefs: [{ name: 'encryption' }] }),
    cluster('two'),
  ];
  const digestKey = { id: 'other', bytes: new Uint8Array(32).fill(1) };

  for (const [isolation, deployment] of [
    ['Proxy', 'my-proxy'],
    ['VirtualCluster', 'my-proxy-one'],
  ])
    test(`rolls nothing by itself, and once if a Secret was edited meanwhile (isolation ${isolation})`, async () => {
      const reported: string[] = [];
      const stage = await createStage({
        operators: [createKroxylicious()],
        runtime: { notify: (_world, _operator, _owner, { reason, note }) => void reported.push(`${reason}: ${note}`) },
        given: (client) => create(client, ...objects(isolation)),
      });
      const lost = () => reported.filter((line) => line.startsWith('DigestKeyLost'));
      try {
        const before = await get.deployment(stage.client, deployment);
        await stage.restart({ digestKey });
        const same = await get.deployment(stage.client, deployment);
        assert.deepEqual(same.spec?.template, before.spec?.template, 'a new key alone');
        assert.deepEqual(lost(), []);
        await stage.restart({
          digestKey: { ...digestKey, id: 'third' },
          meanwhile: (client) => patch(client, Secret, 'kms', { data: encoded({ password: 'battery staple' }) }),
        });
        const after = await get.deployment(stage.client, deployment);
        assert.notEqual(checksum(after), checksum(before));
        assert.match(lost().join(), /^DigestKeyLost: .*secret\/kms was written since.*rolled once$/);
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
        assert.equal(lost().length, 1);
        await patch(stage.client, Secret, 'kms', { data: encoded({ password: 'third' }) });
        await stage.settle();
        assert.notEqual(checksum(await get.deployment(stage.client, deployment)), checksum(after));
      } finally {
        await stage.end();
      }
    });

  test('rolls nothing if the edited Secret is not used by any cluster', () =>
    staged({ objects: [...objects(), opaque('other', { key: 'value' })] }, async (stage) => {
      const before = await get.deployment(stage.client);
      await stage.restart({
        digestKey,
        meanwhile: (client) => patch(client, Secret, 'other', { data: encoded({ key: 'changed' }) }),
      });
      assert.deepEqual((await get.deployment(stage.client)).spec?.template, before.spec?.template);
    }));
});
