// Tests `spec.isolation: VirtualCluster`. Each cluster runs in its own Deployment, and a switch never leaves a cluster unserved.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Client,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  isNotFound,
  type KubeObject,
  Secret,
  Service,
} from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import { createKroxylicious, KafkaProxy, VirtualKafkaCluster, validateConfiguration } from '../src/index.ts';
import {
  allReady,
  balancerIngress,
  certificate,
  checksum,
  cluster,
  condition,
  configurationOf,
  create,
  encoded,
  get,
  NAMESPACE,
  patch,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
  writesTo,
} from './fixtures.ts';

const [first, renewed] = await Promise.all([certificate(), certificate()]);
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const objects = (isolation: string): KubeObject[] => [
  proxy({ isolation }),
  service(),
  tcpIngress(),
  tlsIngress(),
  balancerIngress(),
  tlsSecret('server', first),
  cluster('one'),
  cluster('two', {
    ingresses: [
      { ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } },
      { ingressRef: { name: 'outside' }, tls: { certificateRef: { name: 'server' } } },
    ],
  }),
];
const deployments = async (client: Client) =>
  (await client.list(Deployment, { namespace: NAMESPACE })).items.map(({ metadata }) => metadata.name);
const leadsTo = async (client: Client, name: string) => {
  const { selector } = (await client.get(Service, ref(name))).spec ?? {};
  const all = (await client.list(Deployment, { namespace: NAMESPACE })).items;
  const isChosen = (labels: Record<string, string>) =>
    Object.entries(selector ?? {}).every(([label, value]) => labels[label] === value);
  return all.filter(({ spec }) => isChosen(spec?.template.metadata?.labels ?? {})).map(({ metadata }) => metadata.name);
};

describe('isolated clusters', () => {
  test('each have a Deployment, a configuration and Services of their own', () =>
    staged({ objects: objects('VirtualCluster') }, async ({ client, settle }) => {
      assert.deepEqual(await deployments(client), ['my-proxy-one', 'my-proxy-two']);
      for (const name of ['one', 'two']) {
        const configuration = parse(await configurationOf(client, `my-proxy-${name}`)) as ProxyConfiguration;
        assert.deepEqual(validateConfiguration(configuration), []);
        assert.deepEqual(
          configuration.virtualClusters.map((found) => found.name),
          [name],
        );
        assert.equal((await get.cluster(client, name)).status?.deployment, `my-proxy-${name}`);
      }
      assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy-one']);
      assert.deepEqual(await leadsTo(client, 'two-tls-0'), ['my-proxy-two']);
      assert.deepEqual(await leadsTo(client, 'my-proxy-two-sni'), ['my-proxy-two']);
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'RollingOut');
      await allReady(client, 'my-proxy-one');
      await settle();
      const { message } = condition(await get.proxy(client), 'Ready') ?? {};
      assert.equal(message, '1 of 2 Deployments are not ready yet: my-proxy-two');
      await allReady(client, 'my-proxy-two');
      await settle();
      const ready = await get.proxy(client);
      assert.equal(condition(ready, 'Ready')?.status, 'True');
      assert.equal(ready.status?.replicas, 2);
    }));

  test('a renewed certificate restarts its own cluster only', () =>
    staged({ objects: objects('VirtualCluster') }, async (stage) => {
      const { client } = stage;
      const before = [
        checksum(await get.deployment(client, 'my-proxy-one')),
        checksum(await get.deployment(client, 'my-proxy-two')),
      ];
      stage.transport.clear();
      await patch(client, Secret, 'server', {
        data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
      });
      await stage.settle();
      assert.deepEqual(writesTo(stage, 'deployments'), ['PATCH deployments/my-proxy-two']);
      assert.equal(checksum(await get.deployment(client, 'my-proxy-one')), before[0]);
      assert.notEqual(checksum(await get.deployment(client, 'my-proxy-two')), before[1]);
    }));

  test('report the reason and the progress of their rollouts', async () => {
    const reported: string[] = [];
    const stage = await createStage({
      operators: [createKroxylicious()],
      runtime: {
        notify: (_world, _operator, owner, { reason, note }) => reported.push(`${owner.kind} ${reason}: ${note}`),
      },
      given: (client) => create(client, ...objects('VirtualCluster')),
    });
    const { client } = stage;
    try {
      await patch(client, Secret, 'server', {
        data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
      });
      await stage.settle();
      const { status } = await get.cluster(client, 'two');
      assert.match(status?.rollout?.reason ?? '', /^Secret default\/server .* changed/);
      assert.equal(status?.rollout?.wanted, 1);
      assert.notEqual(status?.rollout?.from, status?.rollout?.configHash);
      assert.equal((await get.cluster(client, 'one')).status?.rollout?.reason, undefined);
      assert.deepEqual(
        reported.map((line) => line.replace(/ from .*/, '')),
        ['VirtualKafkaCluster RolloutStarted: deployment/my-proxy-two goes'],
      );
      await patch(client, KafkaProxy, 'my-proxy', { spec: { replicas: 3 } });
      await stage.settle();
      assert.equal(reported.length, 1, reported.join('\n'));
    } finally {
      await stage.end();
    }
  });

  test('are not rolled while their proxy is paused', () =>
    staged({ objects: objects('VirtualCluster') }, async ({ client, settle }) => {
      const before = await get.deployment(client, 'my-proxy-two');
      await patch(client, KafkaProxy, 'my-proxy', { metadata: { annotations: { 'capstan.dev/paused': 'true' } } });
      await settle();
      await patch(client, Secret, 'server', {
        data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
      });
      await settle();
      assert.deepEqual((await get.deployment(client, 'my-proxy-two')).spec, before.spec);
      await patch(client, KafkaProxy, 'my-proxy', { metadata: { annotations: { 'capstan.dev/paused': null } } });
      await settle();
      assert.notEqual(checksum(await get.deployment(client, 'my-proxy-two')), checksum(before));
    }));

  test('keep running when they break, and lose their Deployment when they are deleted', () =>
    staged({ objects: objects('VirtualCluster') }, async ({ client, settle, collected }) => {
      const before = await get.deployment(client, 'my-proxy-two');
      await client.delete(Secret, ref('server'));
      await settle();
      assert.deepEqual((await get.deployment(client, 'my-proxy-two')).spec?.template, before.spec?.template);
      assert.equal(condition(await get.cluster(client, 'two'), 'StaleConfig')?.status, 'True');
      await client.delete(VirtualKafkaCluster, ref('two'));
      await collected();
      assert.deepEqual(await deployments(client), ['my-proxy-one']);
    }));

  test('cause no writes after a restart of the operator', () =>
    staged({ objects: objects('VirtualCluster') }, async (stage) => {
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));
});

describe('switching', () => {
  test('to isolation keeps the shared Deployment until every Service selects another one', () =>
    staged({ objects: objects('Proxy') }, async ({ client, settle }) => {
      await allReady(client);
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { isolation: 'VirtualCluster' } });
      await settle();
      assert.deepEqual(await deployments(client), ['my-proxy', 'my-proxy-one', 'my-proxy-two']);
      assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy']);
      await allReady(client, 'my-proxy-one');
      await settle();
      assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy-one']);
      assert.deepEqual(await leadsTo(client, 'two-tls-bootstrap'), ['my-proxy']);
      assert.ok((await deployments(client)).includes('my-proxy'));
      await allReady(client, 'my-proxy-two');
      await settle();
      assert.deepEqual(await leadsTo(client, 'two-tls-bootstrap'), ['my-proxy-two']);
      assert.deepEqual(await deployments(client), ['my-proxy-one', 'my-proxy-two']);
      const left = (await client.list(ConfigMap, { namespace: NAMESPACE })).items.map(
        ({ metadata }) => metadata.name ?? '',
      );
      assert.equal(left.filter((name) => name.includes('proxy-config')).length, 2);
    }));

  test('back keeps each Deployment until its Services select the shared one', () =>
    staged({ objects: objects('VirtualCluster') }, async ({ client, settle }) => {
      await allReady(client, 'my-proxy-one');
      await allReady(client, 'my-proxy-two');
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { isolation: 'Proxy' } });
      await settle();
      assert.deepEqual(await deployments(client), ['my-proxy', 'my-proxy-one', 'my-proxy-two']);
      assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy-one']);
      await allReady(client);
      await settle();
      assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy']);
      assert.deepEqual(await leadsTo(client, 'two-tls-bootstrap'), ['my-proxy']);
      assert.deepEqual(await deployments(client), ['my-proxy']);
    }));
});

describe('the reason that holds a rollout', () => {
  const labelled = { spec: { infrastructure: { pod: { labels: { team: 'a' } } } } };
  const running = async (client: Client, settle: () => Promise<void>) => {
    // A Deployment may be deleted as soon as another one is ready.
    for (const name of await deployments(client))
      await allReady(client, name).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    await settle();
  };

  test('is on the isolated cluster and on its proxy while content that its pods mount is missing', () =>
    staged({ objects: objects('VirtualCluster') }, async ({ client, settle }) => {
      await running(client, settle);
      await client.delete(Secret, ref('server'));
      await settle();
      assert.equal(condition(await get.cluster(client, 'two'), 'RolloutHeld'), undefined, 'nothing waits yet');
      assert.equal(condition(await get.proxy(client), 'Ready')?.status, 'True');
      await patch(client, KafkaProxy, 'my-proxy', labelled);
      await settle();
      await running(client, settle);
      const held = condition(await get.cluster(client, 'two'), 'RolloutHeld');
      assert.equal(held?.reason, 'WaitsForContent');
      assert.match(held.message, /^the change of my-proxy-two waits for secret\/server in namespace default/);
      const ready = condition(await get.proxy(client), 'Ready');
      assert.equal(ready?.reason, 'Held');
      assert.match(ready.message, /virtualkafkacluster\/two: .*secret\/server/);
      await create(client, tlsSecret('server', first));
      await settle();
      await running(client, settle);
      assert.equal(condition(await get.cluster(client, 'two'), 'RolloutHeld'), undefined);
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Ready');
    }));

  for (const [what, damage] of Object.entries({
    deleted: (client: Client) => client.delete(Secret, ref('server')),
    junk: (client: Client) => patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) }),
  }))
    test(`holds the shared Deployment of a proxy that leaves isolation while a Secret is ${what}`, () =>
      staged({ objects: objects('VirtualCluster') }, async (stage) => {
        const { client, settle } = stage;
        await running(client, settle);
        await damage(client);
        await settle();
        await patch(client, KafkaProxy, 'my-proxy', { spec: { isolation: 'Proxy' } });
        await settle();
        assert.deepEqual(await deployments(client), ['my-proxy-one', 'my-proxy-two']);
        assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy-one']);
        const waiting = condition(await get.cluster(client, 'one'), 'RolloutHeld');
        assert.equal(waiting?.reason, 'WaitsForCluster');
        assert.match(waiting.message, /virtual cluster two, whose secret\/server in namespace default/);
        assert.equal(condition(await get.cluster(client, 'two'), 'StaleConfig')?.status, 'True');
        assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
        await client.delete(Secret, ref('server')).catch(() => undefined);
        await create(client, tlsSecret('server', first));
        await settle();
        assert.ok((await deployments(client)).includes('my-proxy'));
        await running(client, settle);
        assert.deepEqual(await deployments(client), ['my-proxy']);
        assert.equal(condition(await get.cluster(client, 'one'), 'RolloutHeld'), undefined);
      }));

  test('holds the own Deployment of a broken cluster in an isolated proxy', () =>
    staged({ objects: objects('Proxy') }, async ({ client, settle }) => {
      await running(client, settle);
      await client.delete(Secret, ref('server'));
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { isolation: 'VirtualCluster' } });
      await settle();
      await running(client, settle);
      assert.deepEqual(await deployments(client), ['my-proxy', 'my-proxy-one']);
      assert.deepEqual(await leadsTo(client, 'two-tls-0'), ['my-proxy']);
      assert.deepEqual(await leadsTo(client, 'one-tcp-bootstrap'), ['my-proxy-one']);
      assert.equal(condition(await get.cluster(client, 'two'), 'RolloutHeld')?.reason, 'WaitsForContent');
      await create(client, tlsSecret('server', first));
      await settle();
      await running(client, settle);
      assert.deepEqual(await deployments(client), ['my-proxy-one', 'my-proxy-two']);
    }));

  test('is on the proxy if the network of the proxy is faulty', () =>
    staged({ objects: objects('VirtualCluster') }, async ({ client, settle }) => {
      await running(client, settle);
      const before = checksum(await get.deployment(client, 'my-proxy-one'));
      // Act as the definition of another release, which accepts any duration.
      const name = 'kafkaproxies.kroxylicious.io';
      const { spec } = await client.get(CustomResourceDefinition, { name });
      const anyText = (key: string, value: unknown) => (key === 'pattern' ? undefined : value);
      const versions: unknown = JSON.parse(JSON.stringify(spec.versions, anyText));
      await client.patch(CustomResourceDefinition, { name }, 'merge', { spec: { versions } });
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { network: { proxy: { shutdownTimeout: 'PT5S' } } } });
      await settle();
      const ready = condition(await get.proxy(client), 'Ready');
      assert.equal(ready?.reason, 'InvalidConfiguration');
      assert.match(ready.message, /shutdownTimeout "PT5S" must be a duration such as 30s/);
      assert.equal(checksum(await get.deployment(client, 'my-proxy-one')), before);
    }));
});
