import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Deployment } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { createKroxylicious, KafkaProxy, VirtualKafkaCluster } from '../../src/index.ts';
import {
  checksum,
  cluster,
  condition,
  configMap,
  create,
  encoded,
  filter,
  get,
  minimal,
  NAMESPACE,
  patch,
  proxy,
  service,
  staged,
  tcpIngress,
} from '../fixtures.ts';
import { everything } from './rollout.test-support.ts';

test('fields that another client set on the Deployment stay', () =>
  staged({ objects: everything() }, async ({ client, settle }) => {
    const at = { namespace: NAMESPACE, name: 'my-proxy' };
    await client.patch(Deployment, at, 'strategic', {
      spec: { template: { spec: { containers: [{ name: 'proxy', env: [{ name: 'EXTRA', value: '1' }] }] } } },
    });
    await patch(client, KafkaProxy, 'my-proxy', { spec: { replicas: 2 } });
    await settle();
    const env = (await get.deployment(client)).spec?.template.spec?.containers[0]?.env?.map(({ name }) => name);
    assert.ok(env?.includes('EXTRA'), String(env));
  }));

test('a proxy and its clusters, created one after the other, start once with all of them', () =>
  staged({ objects: [proxy(), service(), tcpIngress(), cluster('one')] }, async ({ client, settle, clock }) => {
    await create(client, proxy({}, 'second'), tcpIngress('theirs', 'second'));
    for (const name of ['two', 'three', 'four']) {
      await create(
        client,
        cluster(name, { proxyRef: { name: 'second' }, ingresses: [{ ingressRef: { name: 'theirs' } }] }),
      );
      await clock.advance(700);
    }
    await settle();
    assert.equal((await get.deployment(client, 'second')).metadata.generation, 1);
  }));

test('pods that cannot be created are reported with the reason', () =>
  staged({ objects: [proxy(), service(), tcpIngress(), cluster('one')] }, async ({ client, settle }) => {
    const message = 'serviceaccount "proxy" not found';
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }];
    const ref = { namespace: NAMESPACE, name: 'my-proxy' };
    const { generation = 0 } = (await client.get(Deployment, ref)).metadata;
    const status = { observedGeneration: generation, conditions };
    await client.patch(Deployment, ref, 'merge', { status }, { subresource: 'status' });
    await settle();
    const reported = condition(await get.proxy(client), 'Ready');
    assert.deepEqual([reported?.reason, reported?.message.includes(message)], ['RollingOut', true]);
  }));

test('a cluster that is replaced by an equal one keeps its ports, and no pod is rolled', () =>
  staged({ objects: [...minimal(), cluster('two')] }, async ({ client, settle }) => {
    const before = await get.deployment(client);
    const one = await get.cluster(client, 'one');
    await client.delete(VirtualKafkaCluster, { namespace: NAMESPACE, name: 'one' });
    await create(client, cluster('one'));
    await settle();
    const after = await get.deployment(client);
    assert.deepEqual(after.spec?.template, before.spec?.template);
    assert.equal(after.metadata.generation, before.metadata.generation);
    assert.deepEqual((await get.cluster(client, 'one')).status?.ingresses, one.status?.ingresses);
  }));

test('a key that moves from data to binaryData with the same bytes rolls nothing', () =>
  staged(
    {
      objects: [
        proxy(),
        service(),
        tcpIngress(),
        configMap('words', { text: 'Grüße' }),
        filter({ text: '${configmap:words:text}' }),
        cluster('one', { filterRefs: [{ name: 'encryption' }] }),
      ],
    },
    async ({ client, settle }) => {
      const before = await get.deployment(client);
      await patch(client, ConfigMap, 'words', { data: null, binaryData: encoded({ text: 'Grüße' }) });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      await patch(client, ConfigMap, 'words', { binaryData: encoded({ text: 'Gruß' }) });
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), checksum(before));
    },
  ));

test('a rollout of the pods alone is reported by one Event with its cause, and scaling by none', async () => {
  const reported: string[] = [];
  const stage = await createStage({
    operators: [createKroxylicious()],
    runtime: { notify: (_world, _operator, _owner, { reason, note }) => void reported.push(`${reason}: ${note}`) },
    given: (client) => create(client, ...minimal()),
  });
  try {
    const started = () => reported.filter((line) => line.startsWith('RolloutStarted'));
    assert.deepEqual(started(), []);
    const infrastructure = { pod: { labels: { team: 'a' } } };
    await patch(stage.client, KafkaProxy, 'my-proxy', { spec: { infrastructure } });
    await stage.settle();
    assert.equal(started().length, 1);
    assert.match(
      started()[0] ?? '',
      /my-proxy gets other pods with the same configuration .*: KafkaProxy default\/my-proxy \(spec\.infrastructure.*\) changed/,
    );
    await patch(stage.client, KafkaProxy, 'my-proxy', { spec: { replicas: 3 } });
    await stage.settle();
    await stage.restart();
    assert.equal(started().length, 1);
  } finally {
    await stage.end();
  }
});
