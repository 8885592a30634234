// KafkaServices that name a Kafka of Strimzi, whose CRD may be installed and removed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, CustomResourceDefinition, Namespace, Secret } from '@capstan/kube';
import { CAUSE_ANNOTATION, parseCause } from '@capstan/reconcile';
import { createStage, type Stage } from '@capstan/testing';
import { createKroxylicious, KafkaService, StrimziKafka, StrimziKafkaV1beta2 } from '../src/index.ts';
import {
  certificate,
  checksum,
  cluster,
  condition,
  configurationOf,
  create,
  encoded,
  get,
  NAMESPACE,
  opaque,
  patch,
  proxy,
  service,
  tcpIngress,
} from './fixtures.ts';

const issued = await certificate();
const OTHER = 'kafka';

/** Installs the CRD with the versions that a release of Strimzi serves. The last one is the stored version. */
async function installStrimzi(client: Client, versions: readonly string[] = ['v1']): Promise<void> {
  const names = { kind: 'Kafka', listKind: 'KafkaList', plural: 'kafkas', singular: 'kafka' };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const served = versions.map((name, i) => {
    const storage = i === versions.length - 1;
    return { name, served: true, storage, schema, subresources: { status: {} } };
  });
  const spec = { group: 'kafka.strimzi.io', names, scope: 'Namespaced', versions: served };
  await client.create(CustomResourceDefinition, {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: 'CustomResourceDefinition',
    metadata: { name: 'kafkas.kafka.strimzi.io' },
    spec,
  });
}

async function kafka(
  client: Client,
  namespace = NAMESPACE,
  listeners = ['plain', 'tls'],
  kind = StrimziKafka,
): Promise<void> {
  const spec = { kafka: { version: '4.0.0', listeners: listeners.map((name) => ({ name, port: 9092 })) } };
  await client.create(kind, {
    apiVersion: kind.apiVersion,
    kind: 'Kafka',
    metadata: { namespace, name: 'my-kafka' },
    spec,
  });
}

const serve = (client: Client, servers: string, namespace = NAMESPACE, kind = StrimziKafka) =>
  client.patch(
    kind,
    { namespace, name: 'my-kafka' },
    'merge',
    { status: { listeners: [{ name: 'tls', bootstrapServers: servers }], observedGeneration: 1 } },
    { subresource: 'status' },
  );

async function strimziStage(
  spec: object,
  given: (client: Client) => Promise<void>,
  check: (stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await createStage({
    operators: [createKroxylicious()],
    async given(client) {
      await given(client);
      await create(
        client,
        proxy(),
        tcpIngress(),
        service({ strimziKafkaRef: { name: 'my-kafka', listenerName: 'tls', ...spec } }),
        cluster('one'),
      );
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

describe('a Kafka of Strimzi', () => {
  test('provides its listener’s address, and causes a rollout only when the address changes', () =>
    strimziStage(
      {},
      async (client) => {
        await installStrimzi(client);
        await kafka(client);
        await serve(client, 'my-kafka-bootstrap:9093');
      },
      async ({ client, settle }) => {
        assert.match(await configurationOf(client), /my-kafka-bootstrap:9093/);
        assert.equal((await get.service(client)).status?.bootstrapServers, 'my-kafka-bootstrap:9093');
        const before = checksum(await get.deployment(client));
        await patch(client, StrimziKafka, 'my-kafka', { spec: { kafka: { config: { 'log.retention.ms': 1 } } } });
        await settle();
        assert.equal(checksum(await get.deployment(client)), before);
        await serve(client, 'elsewhere:9093');
        await settle();
        assert.match(await configurationOf(client), /elsewhere:9093/);
        const rolled = await get.deployment(client);
        assert.notEqual(checksum(rolled), before);
        const [change] = parseCause(rolled.metadata.annotations?.[CAUSE_ANNOTATION])?.changes ?? [];
        assert.equal(change?.object, 'Kafka.kafka.strimzi.io default/my-kafka');
        assert.match(String(change.paths), /bootstrapServers/);
        assert.deepEqual(change.via, [
          'KafkaService(default/upstream)',
          'VirtualKafkaCluster(default/one)',
          'kroxylicious.kafka-proxy(default/my-proxy)',
        ]);
      },
    ));

  test('is reported while it is missing, lacks the listener, or has no address yet', () =>
    strimziStage({}, installStrimzi, async ({ client, settle }) => {
      const reason = async () => condition(await get.service(client), 'ResolvedRefs')?.reason;
      assert.equal(await reason(), 'ReferencedResourcesNotFound');
      await kafka(client, NAMESPACE, ['plain']);
      await settle();
      assert.equal(await reason(), 'InvalidReferencedResource');
      await patch(client, StrimziKafka, 'my-kafka', { spec: { kafka: { listeners: [{ name: 'tls' }] } } });
      await settle();
      assert.equal(await reason(), 'ReferencedResourceNotReconciled');
      await serve(client, 'a:1');
      await settle();
      assert.equal(await reason(), 'ResolvedRefs');
    }));

  test('provides its CA, which a trust anchor from the user overrides', () =>
    strimziStage(
      { trustStrimziCaCertificate: true },
      async (client) => {
        await installStrimzi(client);
        await kafka(client);
        await serve(client, 'a:1');
        await create(client, opaque('my-kafka-cluster-ca-cert', { 'ca.crt': issued.ca }));
      },
      async ({ client, settle }) => {
        assert.match(await configurationOf(client), /trusted-certs\/my-kafka-cluster-ca-cert\/ca\.crt/);
        const before = checksum(await get.deployment(client));
        await patch(client, Secret, 'my-kafka-cluster-ca-cert', {
          data: encoded({ 'ca.crt': (await certificate()).ca }),
        });
        await settle();
        assert.notEqual(checksum(await get.deployment(client)), before);
        await create(client, opaque('own', { 'ca.pem': issued.ca }));
        await patch(client, KafkaService, 'upstream', {
          spec: { tls: { trustAnchorRef: { kind: 'Secret', name: 'own', key: 'ca.pem' } } },
        });
        await settle();
        assert.match(await configurationOf(client), /trusted-certs\/own\/ca\.pem/);
      },
    ));

  test('a Kafka of Strimzi in another namespace has its CA copied to the namespace of the pods', () =>
    strimziStage(
      { namespace: OTHER, trustStrimziCaCertificate: true },
      async (client) => {
        await installStrimzi(client);
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } });
        await kafka(client, OTHER);
        await serve(client, 'a.kafka:1', OTHER);
        const secret = opaque('my-kafka-cluster-ca-cert', { 'ca.crt': issued.ca });
        await client.create(Secret, { ...secret, metadata: { ...secret.metadata, namespace: OTHER } });
      },
      async ({ client, settle }) => {
        assert.match(await configurationOf(client), /trusted-certs\/upstream-strimzi-ca\/ca\.crt/);
        const copied = async () =>
          (await client.get(ConfigMap, { namespace: NAMESPACE, name: 'upstream-strimzi-ca' })).data?.['ca.crt'];
        assert.equal(await copied(), issued.ca);
        const before = checksum(await get.deployment(client));
        const junk = { data: encoded({ 'ca.crt': 'junk' }) };
        await client.patch(Secret, { namespace: OTHER, name: 'my-kafka-cluster-ca-cert' }, 'merge', junk);
        await settle();
        assert.equal(checksum(await get.deployment(client)), before, 'the proxy would not start with it');
        assert.equal(await copied(), issued.ca);
        assert.match(
          condition(await get.service(client), 'ResolvedRefs')?.message ?? '',
          /key ca\.crt of secret\/my-kafka-cluster-ca-cert in namespace \S+ is not usable/,
        );
      },
    ));

  test('a Kafka of Strimzi in another namespace works with a service of a long name', () =>
    strimziStage(
      { namespace: OTHER, trustStrimziCaCertificate: true },
      async (client) => {
        await installStrimzi(client);
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } });
        await kafka(client, OTHER);
        await serve(client, 'a.kafka:1', OTHER);
        const secret = opaque('my-kafka-cluster-ca-cert', { 'ca.crt': issued.ca });
        await client.create(Secret, { ...secret, metadata: { ...secret.metadata, namespace: OTHER } });
        const spec = {
          strimziKafkaRef: { name: 'my-kafka', listenerName: 'tls', namespace: OTHER, trustStrimziCaCertificate: true },
        };
        await create(
          client,
          service(spec, 's'.repeat(200)),
          cluster('two', { targetKafkaServiceRef: { name: 's'.repeat(200) } }),
        );
      },
      async ({ client }) => {
        const volumes = (await get.deployment(client)).spec?.template.spec?.volumes ?? [];
        const copies = volumes
          .flatMap(({ configMap }) => configMap?.name ?? [])
          .filter((name) => name.startsWith('sss'));
        assert.equal(copies.length, 1);
        assert.ok(await client.find(ConfigMap, { namespace: NAMESPACE, name: copies[0] ?? '' }));
      },
    ));

  test('a Kafka of Strimzi in a namespace that the operator does not watch is reported', async () => {
    const stage = await createStage({
      operators: [createKroxylicious()],
      world: { watchNamespaces: [NAMESPACE] },
      async given(client) {
        await installStrimzi(client);
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER } });
        await kafka(client, OTHER);
        await create(client, service({ strimziKafkaRef: { name: 'my-kafka', listenerName: 'tls', namespace: OTHER } }));
      },
    });
    try {
      const reported = condition(await get.service(stage.client), 'ResolvedRefs');
      assert.equal(reported?.reason, 'ReferencedResourcesNotFound');
      assert.match(
        reported.message,
        /spec\.strimziKafkaRef\.namespace: this operator does not watch the namespace kafka/,
      );
    } finally {
      await stage.end();
    }
  });

  test('is read in the version that its release serves, and moves to the next version without a rollout', () =>
    strimziStage(
      {},
      async (client) => {
        await installStrimzi(client, ['v1beta2']);
        await kafka(client, NAMESPACE, ['tls'], StrimziKafkaV1beta2);
        await serve(client, 'a:1', NAMESPACE, StrimziKafkaV1beta2);
      },
      async ({ client, clock, settle }) => {
        const before = checksum(await get.deployment(client));
        assert.equal((await get.service(client)).status?.bootstrapServers, 'a:1');
        const name = { name: 'kafkas.kafka.strimzi.io' };
        const { spec } = await client.get(CustomResourceDefinition, name);
        const [old] = (spec as { versions: object[] }).versions;
        const versions = (served: boolean) => [
          { ...old, served, storage: false },
          { ...old, name: 'v1', served: true, storage: true },
        ];
        for (const isOldServed of [true, false]) {
          await client.patch(CustomResourceDefinition, name, 'merge', { spec: { versions: versions(isOldServed) } });
          await clock.advance(600_000);
          await settle();
          assert.equal(condition(await get.service(client), 'ResolvedRefs')?.status, 'True');
          assert.equal(checksum(await get.deployment(client)), before);
        }
        await serve(client, 'b:1');
        await settle();
        assert.equal((await get.service(client)).status?.bootstrapServers, 'b:1');
      },
    ));

  test('may be installed while the operator runs', () =>
    strimziStage(
      {},
      () => Promise.resolve(),
      async ({ client, clock, settle }) => {
        assert.match(condition(await get.service(client), 'ResolvedRefs')?.message ?? '', /Strimzi is not installed/);
        await installStrimzi(client);
        await kafka(client);
        await serve(client, 'a:1');
        await clock.advance(120_000);
        await settle();
        assert.equal(condition(await get.service(client), 'ResolvedRefs')?.status, 'True');
      },
    ));
});
