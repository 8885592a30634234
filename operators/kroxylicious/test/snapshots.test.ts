// `rollout.onStaleInput: Snapshot`: pods mount copies of Secrets and ConfigMaps, so that a cluster whose Secret breaks does not block
// changes of other clusters.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, type KubeObject, ReplicaSet, Secret } from '@capstan/kube';
import { rulesOf } from '@capstan/reconcile';
import { createKroxylicious, KafkaProxy, VirtualKafkaCluster } from '../src/index.ts';
import {
  certificate,
  cluster,
  condition,
  configMap,
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
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const issued = await certificate();
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const certificateRef = { name: 'server', kind: 'Secret', group: '' };

const running = (rollout: object = { onStaleInput: 'Snapshot' }): KubeObject[] => [
  proxy({ rollout }),
  service(),
  service({ bootstrapServers: 'other.example:9092' }, 'other'),
  tcpIngress(),
  tlsIngress(),
  opaque('kms', { password: 'correct horse', unused: 'not to be copied' }),
  configMap('rules', { rules: 'all' }),
  tlsSecret('server', issued),
  filter({ password: '${secret:kms:password}', rules: '${configmap:rules:rules}' }),
  cluster('a', {
    ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef } }],
    filterRefs: [{ name: 'encryption' }],
  }),
  cluster('b'),
];

const editB = (client: Client) =>
  patch(client, VirtualKafkaCluster, 'b', { spec: { targetKafkaServiceRef: { name: 'other' } } });

async function snapshots(client: Client): Promise<Secret[]> {
  const { items } = await client.list(Secret, { namespace: NAMESPACE });
  return items.filter(({ metadata }) => metadata.annotations?.['kroxylicious.io/snapshot-of'] !== undefined);
}

const sources = (found: readonly Secret[]) =>
  found.map(({ metadata }) => metadata.annotations?.['kroxylicious.io/snapshot-of'] ?? '').toSorted();

/** Returns the files of a Deployment's pods, as a kubelet would write them. */
async function mounted(client: Client, name = 'my-proxy'): Promise<Record<string, string>> {
  const { spec } = await get.deployment(client, name);
  const files: Record<string, string> = {};
  for (const volume of spec?.template.spec?.volumes ?? [])
    for (const { secret } of volume.projected?.sources ?? [])
      for (const { key, path } of secret?.items ?? []) {
        const found = await client.get(Secret, ref(secret?.name ?? ''));
        assert.ok(found.data?.[key] !== undefined, `${secret?.name} has ${key}`);
        files[`${volume.name}/${path}`] = Buffer.from(found.data[key], 'base64').toString('utf8');
      }
  return files;
}

describe('snapshots', () => {
  test('hold only the named keys, have an owner and are immutable', () =>
    staged({ objects: running() }, async ({ client }) => {
      const found = await snapshots(client);
      assert.deepEqual(sources(found), ['ConfigMap rules', 'Secret kms', 'Secret server']);
      for (const { metadata, immutable } of found) {
        assert.equal(immutable, true);
        assert.deepEqual(
          metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`),
          ['VirtualKafkaCluster a'],
        );
        assert.match(metadata.name ?? '', /^a-snapshot-[0-9a-f]{12}$/);
      }
      assert.deepEqual(await mounted(client), {
        'configmaps-rules/rules': 'all',
        'secrets-kms/password': 'correct horse',
        'secrets-server/tls.crt': issued.certificate,
        'secrets-server/tls.key': issued.key,
      });
    }));

  test('need only the rights to create and to delete Secrets, and no others', () => {
    // The webhook of sidecars renews its certificate. It is another reconciler.
    const { everywhere } = rulesOf(createKroxylicious({ sidecarWebhook: false }));
    const verbs = everywhere.filter(({ resources }) => resources.includes('secrets')).flatMap((rule) => rule.verbs);
    assert.deepEqual(verbs.toSorted(), ['create', 'delete', 'get', 'list', 'watch']);
  });

  test('exist only if they are requested', () =>
    staged({ objects: running({}) }, async ({ client }) => {
      assert.deepEqual(sources(await snapshots(client)), []);
    }));

  const breakages: Record<string, (client: Client) => Promise<unknown>> = {
    'its certificate is junk': (client) => patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) }),
    'its certificate is deleted': (client) => client.delete(Secret, ref('server')),
    'a Secret of its filter is deleted': (client) => client.delete(Secret, ref('kms')),
    'a key of its filter is taken away': (client) => patch(client, Secret, 'kms', { data: { password: null } }),
  };
  for (const [what, damage] of Object.entries(breakages))
    test(`let b roll with the last good a while ${what}`, () =>
      staged({ objects: running() }, async (stage) => {
        const { client, settle } = stage;
        const before = await get.deployment(client);
        const files = await mounted(client);
        await damage(client);
        await settle();
        assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template, 'a alone rolls nothing');
        await editB(client);
        await settle();
        assert.match(await configurationOf(client), /other\.example/);
        assert.deepEqual(await mounted(client), files);
        assert.equal(condition(await get.cluster(client, 'b'), 'RolloutHeld'), undefined);
        const stale = await get.cluster(client, 'a');
        assert.equal(condition(stale, 'ResolvedRefs')?.status, 'False');
        assert.match(condition(stale, 'StaleConfig')?.message ?? '', /with snapshots of the content/);
        assert.match(condition(await get.proxy(client), 'StaleConfig')?.message ?? '', /pods mount snapshots/);
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
      }));

  test('snapshots that are requested after the content broke are reported as missing, and b waits', () =>
    staged({ objects: running({}) }, async ({ client, settle }) => {
      await client.delete(Secret, ref('server'));
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { rollout: { onStaleInput: 'Snapshot' } } });
      await editB(client);
      await settle();
      const missing = /there is no snapshot of the last good content yet/;
      assert.match(condition(await get.cluster(client, 'a'), 'StaleConfig')?.message ?? '', missing);
      assert.match(condition(await get.proxy(client), 'StaleConfig')?.message ?? '', missing);
      assert.equal(condition(await get.cluster(client, 'b'), 'RolloutHeld')?.reason, 'WaitsForCluster');
      await create(client, tlsSecret('server', issued));
      await settle();
      assert.deepEqual(sources(await snapshots(client)), ['ConfigMap rules', 'Secret kms', 'Secret server']);
      assert.match(await configurationOf(client), /other\.example/);
      assert.equal(condition(await get.cluster(client, 'a'), 'StaleConfig'), undefined);
    }));

  test('are taken again when the content changes, and old ones stay while a ReplicaSet mounts them', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const [old = ''] = (await snapshots(client))
        .filter(({ metadata }) => metadata.annotations?.['kroxylicious.io/snapshot-of'] === 'Secret kms')
        .map(({ metadata }) => metadata.name);
      const { spec } = await get.deployment(client);
      const revision = {
        apiVersion: ReplicaSet.apiVersion,
        kind: ReplicaSet.kind,
        metadata: { ...ref('my-proxy-1'), labels: spec?.template.metadata?.labels ?? {} },
        spec: { replicas: 0, selector: spec?.selector, template: spec?.template },
      } as ReplicaSet;
      await client.create(ReplicaSet, revision);
      await patch(client, Secret, 'kms', { data: encoded({ password: 'battery staple' }) });
      await settle();
      assert.equal((await mounted(client))['secrets-kms/password'], 'battery staple');
      assert.equal((await snapshots(client)).length, 4);
      assert.ok(await client.find(Secret, ref(old)), 'a rollback finds it');
      await patch(client, Secret, 'kms', { data: encoded({ password: 'third' }) });
      await settle();
      await client.delete(ReplicaSet, ref('my-proxy-1'));
      await settle();
      assert.equal(await client.find(Secret, ref(old)), undefined, 'no revision mounts it any more');
    }));

  test('roll nothing for a change of a key that is not named', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await patch(client, Secret, 'kms', { data: encoded({ unused: 'other' }) });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
    }));

  test('snapshots that are deleted by hand are recreated, unless the content is broken: then changes of b are held', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const [kms] = (await snapshots(client)).filter(
        ({ metadata }) => metadata.annotations?.['kroxylicious.io/snapshot-of'] === 'Secret kms',
      );
      const name = kms?.metadata.name ?? '';
      await client.delete(Secret, ref(name));
      await settle();
      assert.ok(await client.find(Secret, ref(name)));
      await client.delete(Secret, ref('kms'));
      await settle();
      await client.delete(Secret, ref(name));
      await settle();
      const before = await get.deployment(client);
      await editB(client);
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.match(
        condition(await get.cluster(client, 'b'), 'RolloutHeld')?.message ?? '',
        new RegExp(`secret/${name} in namespace default is missing`),
      );
    }));

  test('are deleted when they are no longer requested, after the pods mount the sources again', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await patch(client, KafkaProxy, 'my-proxy', { spec: { rollout: null } });
      await settle();
      const { spec } = await get.deployment(client);
      assert.ok(spec?.template.spec?.volumes?.some(({ secret }) => secret?.secretName === 'kms'));
      assert.deepEqual(sources(await snapshots(client)), []);
    }));

  test('are deleted with their cluster', () =>
    staged({ objects: running() }, async (stage) => {
      await stage.client.delete(VirtualKafkaCluster, ref('a'));
      await stage.settle();
      await stage.collected();
      assert.deepEqual(sources(await snapshots(stage.client)), []);
    }));

  test('also work for clusters with their own pods', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await patch(client, KafkaProxy, 'my-proxy', { spec: { isolation: 'VirtualCluster' } });
      await settle();
      await client.delete(Secret, ref('server'));
      await settle();
      const infrastructure = { pod: { labels: { team: 'a' } } };
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure } });
      await settle();
      const { spec } = await get.deployment(client, 'my-proxy-a');
      assert.equal(spec?.template.metadata?.labels?.['team'], 'a');
      assert.equal((await mounted(client, 'my-proxy-a'))['secrets-server/tls.key'], issued.key);
    }));

  test('keep their names under a new digest key, and pods are not rolled', () =>
    staged({ objects: running() }, async (stage) => {
      const { client } = stage;
      const before = await get.deployment(client);
      const names = (await snapshots(client)).map(({ metadata }) => metadata.name);
      await stage.restart({ digestKey: { id: 'other', bytes: new Uint8Array(32).fill(1) } });
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.deepEqual(
        (await snapshots(client)).map(({ metadata }) => metadata.name),
        names,
      );
    }));

  test('exist before the first pod that mounts them starts', () =>
    staged({ objects: running() }, async ({ client, settle, transport }) => {
      transport.clear();
      await patch(client, Secret, 'kms', { data: encoded({ password: 'battery staple' }) });
      await settle();
      const order = transport.writes
        .filter((line) => /secrets|deployments/.test(line))
        .map((line) => line.split(' ')[0]);
      assert.deepEqual(order.slice(0, 2), ['POST', 'PATCH']);
    }));
});
