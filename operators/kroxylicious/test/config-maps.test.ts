// Configurations are named by content, created once, never changed, and collected once no ReplicaSet mounts them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, Deployment, Pod, ReplicaSet, Secret, ServiceAccount } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { createKroxylicious, KafkaProxy, KafkaService, VirtualKafkaCluster } from '../src/index.ts';
import {
  allReady,
  checksum,
  cluster,
  condition,
  configMapNameOf,
  configurationOf,
  create,
  encoded,
  filter,
  get,
  minimal,
  NAMESPACE,
  object,
  opaque,
  patch,
  proxy,
  staged,
  tcpIngress,
  writesTo,
} from './fixtures.ts';

const ref = (name: string) => ({ namespace: NAMESPACE, name });
const configMaps = async (client: Client) =>
  (await client.list(ConfigMap, { namespace: NAMESPACE })).items
    .map(({ metadata }) => metadata.name ?? '')
    .filter((name) => name.includes('proxy-config'));

/** Acts as the Deployment controller: creates a ReplicaSet of the present template. */
async function replicaSet(client: Client, name: string): Promise<void> {
  const { spec } = await get.deployment(client);
  await create(
    client,
    object(ReplicaSet, name, { spec: { replicas: 0, selector: spec?.selector, template: spec?.template } }),
  );
  const labels = spec?.template.metadata?.labels ?? {};
  await patch(client, ReplicaSet, name, { metadata: { labels } });
}

const edit = (client: Client, servers: string) =>
  patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: servers } });

describe('a configuration', () => {
  test('is an immutable ConfigMap, named by its content', () =>
    staged({ objects: minimal() }, async ({ client, settle }) => {
      const [first = ''] = await configMaps(client);
      assert.equal(configMapNameOf(await get.deployment(client)), first);
      assert.equal((await client.get(ConfigMap, ref(first))).immutable, true);
      await edit(client, 'other.example:9092');
      await settle();
      const second = configMapNameOf(await get.deployment(client));
      assert.notEqual(second, first);
      await edit(client, 'kafka.example:9092');
      await settle();
      assert.equal(configMapNameOf(await get.deployment(client)), first);
    }));

  test('is kept while a ReplicaSet mounts it, and then collected', () =>
    staged({ objects: minimal() }, async ({ client, settle }) => {
      const [first = ''] = await configMaps(client);
      await replicaSet(client, 'rs-1');
      await edit(client, 'other.example:9092');
      await settle();
      await replicaSet(client, 'rs-2');
      await settle();
      assert.equal((await configMaps(client)).length, 2);
      await client.delete(ReplicaSet, ref('rs-1'));
      await settle();
      const left = await configMaps(client);
      assert.deepEqual(left, [configMapNameOf(await get.deployment(client))]);
      assert.ok(!left.includes(first));
    }));
});

describe('kubectl rollout undo', () => {
  test('restores the earlier configuration, and is respected until the inputs change', () =>
    staged({ objects: minimal() }, async (stage) => {
      const { client, settle } = stage;
      const earlier = await get.deployment(client);
      await replicaSet(client, 'rs-1');
      await edit(client, 'other.example:9092');
      await settle();
      await replicaSet(client, 'rs-2');
      // Restore the template of the earlier ReplicaSet, as kubectl does.
      const template = earlier.spec?.template;
      await client.patch(Deployment, ref('my-proxy'), 'json', [
        { op: 'replace', path: '/spec/template', value: template },
      ] as never);
      await settle();
      assert.equal(checksum(await get.deployment(client)), checksum(earlier));
      assert.match(await configurationOf(client), /kafka\.example/);
      assert.equal(condition(await get.proxy(client), 'RolledBack')?.status, 'True');
      assert.equal((await get.proxy(client)).status?.rollout?.reason, 'a user rolled the Deployment back');
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'RolledBack');
      await stage.restart();
      assert.equal(checksum(await get.deployment(client)), checksum(earlier));
      await edit(client, 'third.example:9092');
      await settle();
      assert.match(await configurationOf(client), /third\.example/);
      assert.equal(condition(await get.proxy(client), 'RolledBack'), undefined);
    }));
});

describe('kubectl', () => {
  test('rollout undo of a renewed Secret is reported as a rollback of the file only', () => {
    const objects = [
      ...minimal().slice(0, 3),
      opaque('kms', { token: 'one' }),
      filter({ token: '${secret:kms:token}' }),
      cluster('one', { filterRefs: [{ name: 'encryption' }] }),
    ];
    return staged({ objects }, async ({ client, settle }) => {
      const earlier = await get.deployment(client);
      await replicaSet(client, 'rs-1');
      await patch(client, Secret, 'kms', { data: encoded({ token: 'two' }) });
      await settle();
      await client.patch(Deployment, ref('my-proxy'), 'json', [
        { op: 'replace', path: '/spec/template', value: earlier.spec?.template },
      ] as never);
      await settle();
      const reported = condition(await get.proxy(client), 'Ready');
      assert.equal(reported?.reason, 'RolledBack');
      assert.match(reported.message, /rolled back \(with Secrets as they are now: nothing else differs\); /);
    });
  });

  test('rollout pause is respected, and reported with the remedy', () =>
    staged({ objects: minimal() }, async ({ client, settle }) => {
      await allReady(client);
      await patch(client, Deployment, 'my-proxy', { spec: { paused: true } });
      await edit(client, 'other.example:9092');
      await settle();
      const { spec } = await get.deployment(client);
      assert.equal(spec?.paused, true);
      assert.match(
        condition(await get.proxy(client), 'Ready')?.message ?? '',
        /: a user paused it; "kubectl rollout resume deployment\/my-proxy" lets it go on$/,
      );
    }));

  test('autoscale finds the pods of a proxy, shared or isolated', () =>
    staged({ objects: minimal() }, async ({ client, settle }) => {
      const selector = async () => (await get.proxy(client)).status?.selector ?? '';
      const isSelected = (deployment: Deployment, by: string) =>
        by.split(',').every((term) => {
          const [label = '', value] = term.split('=');
          return deployment.spec?.template.metadata?.labels?.[label] === value;
        });
      assert.match(await selector(), /=my-proxy/);
      assert.ok(isSelected(await get.deployment(client), await selector()));
      await patch(client, KafkaProxy, 'my-proxy', { spec: { isolation: 'VirtualCluster' } });
      await settle();
      assert.ok(isSelected(await get.deployment(client, 'my-proxy-one'), await selector()));
      const { spec } = KafkaProxy.crd();
      assert.equal(spec.versions[0]?.subresources?.scale?.labelSelectorPath, '.status.selector');
    }));
});

describe('a rollout', () => {
  test('a rollout of clusters that are created one after the other stores one configuration, and is not delayed for ever', () =>
    staged({ objects: minimal() }, async (stage) => {
      const { client, clock } = stage;
      const before = checksum(await get.deployment(client));
      stage.transport.clear();
      let seconds = 0;
      for (; checksum(await get.deployment(client)) === before && seconds < 40; seconds++) {
        await create(client, cluster(`more-${seconds}`));
        await clock.advance(1000);
      }
      assert.ok(seconds >= 19 && seconds <= 22, `after ten quiet periods of 2 s, not after ${seconds} s`);
      assert.deepEqual(
        writesTo(stage, 'configmaps').filter((line) => line.startsWith('POST')).length,
        1,
        writesTo(stage, 'configmaps').join('\n'),
      );
    }));

  test('is reported by one Event with the hashes before and after, and scaling by none', async () => {
    const reported: string[] = [];
    const stage = await createStage({
      operators: [createKroxylicious()],
      runtime: {
        notify: (_world, _operator, owner, { reason, note }) => reported.push(`${owner.kind} ${reason}: ${note}`),
      },
      given: (client) => create(client, ...minimal()),
    });
    const { client, settle } = stage;
    try {
      assert.deepEqual(reported, []);
      await edit(client, 'other.example:9092');
      await settle();
      await allReady(client);
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { replicas: 3 } });
      await settle();
      assert.equal(reported.length, 1, reported.join('\n'));
      assert.match(
        reported[0] ?? '',
        /^KafkaProxy RolloutStarted: deployment\/my-proxy goes from [0-9a-f]{12} to [0-9a-f]{12}: KafkaService default\/upstream \(spec\.bootstrapServers\) changed → VirtualKafkaCluster default\/one$/,
      );
      reported.length = 0;
      await create(client, opaque('kms', { token: 'one' }), filter({ token: '${secret:kms:token}' }));
      await patch(client, VirtualKafkaCluster, 'one', { spec: { filterRefs: [{ name: 'encryption' }] } });
      await settle();
      await patch(client, Secret, 'kms', { data: encoded({ token: 'two' }) });
      await settle();
      assert.equal(reported.length, 2, reported.join('\n'));
      const [, from, to] =
        / goes from (\S+) to (\S+): Secret default\/kms \(data\.token\) changed/.exec(reported[1] ?? '') ?? [];
      assert.ok(from !== undefined && to !== undefined && from !== to, reported[1]);
    } finally {
      await stage.end();
    }
  });
});

test('a rolling update adopts the objects that the upstream operator created for a proxy, and no objects of other clients', async () => {
  const stage = await createStage({
    operators: [createKroxylicious()],
    given: (client) => create(client, proxy(), proxy({}, 'other')),
  });
  const { client, settle } = stage;
  try {
    for (const name of ['my-proxy', 'other']) {
      const labels = { ...upstreamLabels, 'app.kubernetes.io/instance': name };
      const spec = { containers: [{ name: 'proxy', image: 'upstream', env: [{ name: 'EXTRA', value: 'kept' }] }] };
      const created = object(Deployment, name, {
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      });
      const { uid = '' } = (await get.proxy(client, name)).metadata;
      const reference = { apiVersion: KafkaProxy.apiVersion, kind: 'KafkaProxy', name, uid };
      const ownerReferences = name === 'my-proxy' ? [reference] : [];
      await client.create(Deployment, { ...created, metadata: { ...created.metadata, ownerReferences } });
    }
    const before = await get.deployment(client);
    await create(
      client,
      ...minimal().slice(1),
      tcpIngress('of-other', 'other'),
      cluster('two', { proxyRef: { name: 'other' }, ingresses: [{ ingressRef: { name: 'of-other' } }] }),
    );
    await settle();
    const taken = await get.deployment(client);
    assert.equal(taken.metadata.uid, before.metadata.uid);
    assert.ok(checksum(taken));
    assert.deepEqual(
      taken.metadata.ownerReferences?.map(({ controller }) => controller),
      [true],
    );
    assert.equal(condition(await get.proxy(client, 'my-proxy'), 'ReconcileError'), undefined);
    assert.equal(checksum(await get.deployment(client, 'other')), undefined);
    assert.equal(condition(await get.proxy(client, 'other'), 'ReconcileError')?.reason, 'Conflict');
  } finally {
    await stage.end();
  }
});

const upstreamLabels = {
  'app.kubernetes.io/managed-by': 'kroxylicious-operator',
  'app.kubernetes.io/name': 'kroxylicious',
  'app.kubernetes.io/component': 'proxy',
};

describe('Ready', () => {
  test('is true only once the new pods are ready, and reports the rollout and its reason', () =>
    staged({ objects: minimal() }, async ({ client, settle }) => {
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'RollingOut');
      await allReady(client);
      await settle();
      assert.equal(condition(await get.proxy(client), 'Ready')?.status, 'True');
      assert.equal((await get.proxy(client)).status?.replicas, 1);
      await edit(client, 'other.example:9092');
      await settle();
      const rolling = await get.proxy(client);
      assert.equal(condition(rolling, 'Ready')?.reason, 'RollingOut');
      assert.match(
        rolling.status?.rollout?.reason ?? '',
        /^KafkaService default\/upstream \(spec\.bootstrapServers\) changed → VirtualKafkaCluster default\/one$/,
      );
      await allReady(client);
      await settle();
      const done = await get.proxy(client);
      assert.equal(condition(done, 'Ready')?.status, 'True');
      assert.equal(done.status?.rollout?.configHash, done.status?.configHash);
      assert.notEqual(done.status?.rollout?.from, done.status?.rollout?.configHash);
      await patch(client, KafkaProxy, 'my-proxy', { spec: { replicas: 2 } });
      await settle();
      assert.equal((await get.proxy(client)).status?.rollout?.reason, done.status?.rollout?.reason);
    }));

  test('reports why new pods do not start while the previous ones run', () =>
    staged({ objects: minimal() }, async ({ client, settle }) => {
      await allReady(client);
      await edit(client, 'other.example:9092');
      await settle();
      const { metadata, spec } = await get.deployment(client);
      const labels = spec?.template.metadata?.labels ?? {};
      // A real server refuses a pod without its service account, which a controller creates.
      if ((await client.find(ServiceAccount, ref('default'))) === undefined)
        await client.create(ServiceAccount, object(ServiceAccount, 'default'));
      const created = { ...object(Pod, 'my-proxy-new'), spec: { containers: [{ name: 'proxy', image: 'proxy' }] } };
      await client.create(Pod, { ...created, metadata: { ...created.metadata, labels } });
      const terminated = { exitCode: 1, reason: 'Error', message: 'Caused by: no such plugin\n\tat a.B(B.java:1)' };
      const proxyContainer = { name: 'proxy', image: 'proxy', imageID: '', ready: false, restartCount: 3 };
      const containerStatuses = [{ ...proxyContainer, state: { terminated } }];
      await client.patch(
        Pod,
        ref('my-proxy-new'),
        'merge',
        { status: { containerStatuses } },
        { subresource: 'status' },
      );
      const status = { observedGeneration: metadata.generation, replicas: 2, updatedReplicas: 1, availableReplicas: 1 };
      await client.patch(Deployment, ref('my-proxy'), 'merge', { status }, { subresource: 'status' });
      await settle();
      assert.deepEqual(condition(await get.proxy(client), 'Ready'), {
        status: 'False',
        reason: 'RollingOut',
        message:
          '1 of 1 pods have the new configuration, 1 are available: pod my-proxy-new ended with code 1: no such plugin',
      });
    }));
});
