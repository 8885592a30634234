import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, Deployment, type KubeObject, Secret, Service } from '@capstan/kube';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import { KafkaProtocolFilter, KafkaProxy, KafkaProxyIngress, KafkaService, VirtualKafkaCluster } from '../src/index.ts';
import { CLUSTERS_ANNOTATION } from '../src/kinds/labels.ts';
import { clusterNames, healthy, issued, tls } from './faults.test-support.ts';
import {
  checksum,
  cluster,
  condition,
  configurationOf,
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
  tlsSecret,
} from './fixtures.ts';

describe('a cluster that breaks while it is served', () => {
  const running = (): KubeObject[] => [
    ...healthy(),
    opaque('kms', { password: 'correct horse' }),
    filter({ password: '${secret:kms:password}' }),
    cluster('breaking', { ...tls(), filterRefs: [{ name: 'encryption' }] }),
  ];
  const ref = (name: string) => ({ namespace: NAMESPACE, name });

  const breakages: Record<string, (client: Client) => Promise<unknown>> = {
    'its certificate is deleted': (client) => client.delete(Secret, ref('server')),
    'its certificate is replaced by junk': (client) =>
      patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) }),
    'a Secret of its filter is deleted': (client) => client.delete(Secret, ref('kms')),
    'a key of its filter is taken away': (client) => patch(client, Secret, 'kms', { data: { password: null } }),
    'its filter is deleted': (client) => client.delete(KafkaProtocolFilter, ref('encryption')),
    'its filter is spoilt': (client) =>
      patch(client, KafkaProtocolFilter, 'encryption', {
        spec: { configTemplate: { password: 'x${secret:kms:password}' } },
      }),
    'its ingress is deleted': (client) => client.delete(KafkaProxyIngress, ref('tls')),
    'its ingress changes to another protocol': (client) =>
      patch(client, KafkaProxyIngress, 'tls', { spec: { clusterIP: { protocol: 'TCP' } } }),
    'it is edited to a service that is not there': (client) =>
      patch(client, VirtualKafkaCluster, 'breaking', { spec: { targetKafkaServiceRef: { name: 'nowhere' } } }),
  };
  for (const [name, damage] of Object.entries(breakages)) {
    test(`because ${name} keeps its last good configuration, and reports it`, () =>
      staged({ objects: running() }, async ({ client, settle }) => {
        const before = await get.deployment(client);
        await damage(client);
        await settle();
        const after = await get.deployment(client);
        assert.deepEqual(after.spec?.template, before.spec?.template);
        assert.deepEqual(await clusterNames(client), ['breaking', 'healthy']);
        const broken = await get.cluster(client, 'breaking');
        assert.equal(condition(broken, 'ResolvedRefs')?.status, 'False');
        assert.equal(condition(broken, 'StaleConfig')?.status, 'True');
        assert.ok(await client.find(Service, ref('breaking-tls-bootstrap')));
        assert.match(condition(await get.proxy(client), 'StaleConfig')?.message ?? '', /breaking/);
        assert.deepEqual(
          (await get.proxy(client)).status?.clusters?.map((one) => one.name),
          ['breaking'],
        );
      }));
  }

  test('a cluster that breaks while it is served in the middle of a change keeps the running configuration, and the change follows once it is fixed', () =>
    staged({ objects: running() }, async ({ client, clock, settle }) => {
      const before = await get.deployment(client);
      for (const password of ['first', 'second', 'battery staple']) {
        await patch(client, Secret, 'kms', { data: encoded({ password }) });
        await clock.advance(500);
      }
      await client.delete(Secret, ref('kms'));
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.proxy(client), 'StaleConfig')?.status, 'True');
      await create(client, opaque('kms', { password: 'battery staple' }));
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), checksum(before));
      assert.equal(condition(await get.proxy(client), 'StaleConfig'), undefined);
    }));

  const unusable: [
    what: string,
    damage: (client: Client) => Promise<unknown>,
    fix: (client: Client) => Promise<unknown>,
  ][] = [
    [
      'its certificate is junk',
      (client) => patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) }),
      (client) => client.update(Secret, tlsSecret('server', issued)),
    ],
    [
      'its certificate is gone',
      (client) => client.delete(Secret, ref('server')),
      (client) => create(client, tlsSecret('server', issued)),
    ],
    [
      'a Secret of its filter is gone',
      (client) => client.delete(Secret, ref('kms')),
      (client) => create(client, opaque('kms', { password: 'correct horse' })),
    ],
    [
      'its filter is gone, and then the Secret that pods mount for it',
      async (client) => {
        await client.delete(KafkaProtocolFilter, ref('encryption'));
        await client.delete(Secret, ref('kms'));
      },
      (client) => create(client, opaque('kms', { password: 'correct horse' })),
    ],
    [
      'it names a filter that is not there, and a key that pods mount is gone',
      async (client) => {
        await patch(client, VirtualKafkaCluster, 'breaking', { spec: { filterRefs: [{ name: 'nowhere' }] } });
        await patch(client, Secret, 'kms', { data: { password: null } });
      },
      (client) => patch(client, Secret, 'kms', { data: encoded({ password: 'correct horse' }) }),
    ],
    [
      'it names a certificate that is not there, and the one that pods mount is junk',
      async (client) => {
        const tls = { certificateRef: { name: 'nowhere', kind: 'Secret', group: '' } };
        await patch(client, VirtualKafkaCluster, 'breaking', {
          spec: { ingresses: [{ ingressRef: { name: 'tls' }, tls }] },
        });
        await patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) });
      },
      (client) => client.update(Secret, tlsSecret('server', issued)),
    ],
  ];
  for (const [what, damage, fix] of unusable)
    test(`holds a change of another cluster while ${what}, since pods would not start`, () =>
      staged({ objects: running() }, async (stage) => {
        const { client, settle } = stage;
        const before = await get.deployment(client);
        await damage(client);
        await settle();
        await create(client, service({ bootstrapServers: 'other.example:9092' }, 'other'));
        await patch(client, VirtualKafkaCluster, 'healthy', { spec: { targetKafkaServiceRef: { name: 'other' } } });
        await settle();
        assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
        const held = condition(await get.cluster(client, 'healthy'), 'RolloutHeld');
        assert.equal(held?.reason, 'WaitsForCluster');
        assert.match(
          held.message,
          /waits for the virtual cluster breaking, whose secret\/(?:server|kms) in namespace default is missing or cannot be used.*fix that, remove the cluster, or set spec\.isolation/,
        );
        assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
        assert.equal(condition(await get.cluster(client, 'breaking'), 'RolloutHeld'), undefined);
        assert.equal(condition(await get.cluster(client, 'breaking'), 'ResolvedRefs')?.status, 'False');
        await stage.restart();
        assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
        await fix(client);
        await stage.settle();
        assert.match(await configurationOf(client), /other\.example/);
        assert.equal(condition(await get.cluster(client, 'healthy'), 'RolloutHeld'), undefined);
      }));

  test('holds a change also after a rollback by the user', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const first = await get.deployment(client);
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'third.example:9092' } });
      await settle();
      await patch(client, Deployment, 'my-proxy', { spec: { template: first.spec?.template } });
      await settle();
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'RolledBack');
      await client.delete(Secret, ref('server'));
      await settle();
      await patch(client, VirtualKafkaCluster, 'healthy', { spec: { targetKafkaServiceRef: { name: 'other' } } });
      await create(client, service({ bootstrapServers: 'other.example:9092' }, 'other'));
      await settle();
      assert.equal(checksum(await get.deployment(client)), checksum(first));
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
      await create(client, tlsSecret('server', issued));
      await settle();
      assert.match(await configurationOf(client), /other\.example/);
    }));

  test('holds a change of the pods until the broken cluster is deleted', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await client.delete(Secret, ref('server'));
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure: { pod: { labels: { team: 'a' } } } } });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure: null, replicas: 3 } });
      await settle();
      assert.equal((await get.deployment(client)).spec?.replicas, 3, 'a number of pods rolls nothing');
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure: { pod: { labels: { team: 'a' } } } } });
      await client.delete(VirtualKafkaCluster, ref('breaking'));
      await settle();
      assert.equal((await get.deployment(client)).spec?.template.metadata?.labels?.['team'], 'a');
    }));

  test('and runs an unknown configuration blocks all rollouts until it is fixed, and this is reported', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      // Act as if another configuration had been rolled out meanwhile.
      const clusters = before.metadata.annotations?.[CLUSTERS_ANNOTATION]?.replace(
        /breaking=\w+/,
        'breaking=0123456789abcdef',
      );
      await client.delete(Secret, ref('kms'));
      await patch(client, Deployment, 'my-proxy', { metadata: { annotations: { [CLUSTERS_ANNOTATION]: clusters } } });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      const held = condition(await get.proxy(client), 'Ready');
      assert.equal(held?.reason, 'Held');
      assert.match(held.message, /breaking became invalid during a change.*fix or delete it/);
      await create(client, opaque('kms', { password: 'third' }));
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), checksum(before));
    }));

  test('does not hold changes of other clusters while all mounted objects exist', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await client.delete(KafkaProtocolFilter, ref('encryption'));
      await settle();
      const before = checksum(await get.deployment(client));
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'other.example:9092' } });
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), before);
      const { virtualClusters } = parse(await configurationOf(client)) as ProxyConfiguration;
      assert.deepEqual(
        virtualClusters.map(({ name, targetCluster }) => [name, targetCluster.bootstrapServers]),
        [
          ['breaking', 'kafka.example:9092'],
          ['healthy', 'other.example:9092'],
        ],
      );
    }));

  test('reports no configuration in force once its proxy is deleted, and is served again by a proxy of that name', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await client.delete(KafkaProxy, ref('my-proxy'));
      await settle();
      const left = await get.cluster(client, 'breaking');
      assert.equal(condition(left, 'StaleConfig'), undefined);
      assert.match(
        condition(left, 'ResolvedRefs')?.message ?? '',
        /^spec\.proxyRef: kafkaproxy\/my-proxy .* does not exist/,
      );
      await create(client, proxy());
      await settle();
      assert.equal(condition(await get.cluster(client, 'breaking'), 'ResolvedRefs')?.status, 'True');
      assert.ok((await clusterNames(client)).includes('breaking'));
    }));

  test('disappears when it is deleted, broken or not', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await client.delete(Secret, ref('server'));
      await settle();
      await client.delete(VirtualKafkaCluster, ref('breaking'));
      await settle();
      assert.deepEqual(await clusterNames(client), ['healthy']);
      assert.equal(condition(await get.proxy(client), 'StaleConfig'), undefined);
    }));

  test('keeps its configuration over a restart of the operator', () =>
    staged({ objects: running() }, async (stage) => {
      const before = await get.deployment(stage.client);
      await stage.client.delete(KafkaProtocolFilter, ref('encryption'));
      await stage.restart();
      assert.deepEqual((await get.deployment(stage.client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.cluster(stage.client, 'breaking'), 'StaleConfig')?.status, 'True');
    }));

  test('recovers without a rollout when its missing object is back', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await client.delete(Secret, ref('server'));
      await settle();
      await create(client, tlsSecret('server', issued));
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.cluster(client, 'breaking'), 'StaleConfig'), undefined);
      assert.equal(condition(await get.cluster(client, 'breaking'), 'ResolvedRefs')?.status, 'True');
    }));

  test('does not remove the proxy, even if all clusters break at once', () =>
    staged({ objects: [proxy(), service(), tcpIngress(), cluster('only')] }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await client.delete(KafkaService, ref('upstream'));
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.ok(await client.find(ConfigMap, ref(before.spec?.template.spec?.volumes?.[0]?.configMap?.name ?? '')));
    }));
});
