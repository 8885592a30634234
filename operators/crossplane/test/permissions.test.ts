// What providers may do.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClusterRole, ClusterRoleBinding } from '@capstan/kube';
import { ProviderRevision } from '../src/kinds/index.ts';
import {
  allReady,
  condition,
  crd,
  fakeRegistry,
  meta,
  names,
  object,
  provider,
  REGISTRY,
  revisionName,
  SYSTEM,
  staged,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1`;
const REQUEST = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'create'] }];

describe('a provider', () => {
  test('gets roles for its own types, and a binding to what its pods run as', async () => {
    const registry = fakeRegistry();
    const revision = revisionName(
      'example',
      registry.push(IMAGE, [meta('Provider'), crd('Bucket'), crd('Volume', 'block.example.org')]),
    );
    await staged({ registry, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      await allReady(stage);
      const role = (suffix: string) =>
        stage.client.get(ClusterRole, { name: `crossplane:provider:${revision}:${suffix}` });
      const system = await role('system');
      assert.deepEqual(system.rules?.slice(0, 3), [
        {
          apiGroups: ['block.example.org'],
          resources: ['volumes', 'volumes/status'],
          verbs: ['get', 'list', 'watch', 'update', 'patch', 'create'],
        },
        {
          apiGroups: ['example.org'],
          resources: ['buckets', 'buckets/status'],
          verbs: ['get', 'list', 'watch', 'update', 'patch', 'create'],
        },
        { apiGroups: ['block.example.org', 'example.org'], resources: ['*/finalizers'], verbs: ['update'] },
      ]);
      const edit = await role('aggregate-to-edit');
      assert.equal(edit.metadata.labels?.['rbac.crossplane.io/aggregate-to-edit'], 'true');
      assert.deepEqual(
        edit.rules?.map(({ verbs }) => verbs),
        [['*'], ['*']],
      );
      assert.deepEqual((await role('aggregate-to-view')).rules?.[0]?.verbs, ['get', 'list', 'watch']);
      const binding = await stage.client.get(ClusterRoleBinding, { name: `crossplane:provider:${revision}:system` });
      assert.deepEqual(binding.subjects, [{ kind: 'ServiceAccount', namespace: SYSTEM, name: revision }]);
      assert.equal(binding.roleRef.name, system.metadata.name);
    });
  });

  test('without types gets none', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, [meta('Provider')]);
    await staged({ registry, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      await allReady(stage);
      assert.deepEqual(
        (await names(stage, ClusterRole)).filter((name) => name.startsWith('crossplane:provider:')),
        [],
      );
    });
  });

  test('that asks for more gets nothing, unless a ClusterRole allows it', async () => {
    for (const providerClusterRole of [undefined, 'allowed']) {
      const registry = fakeRegistry();
      const revision = revisionName(
        'example',
        registry.push(IMAGE, [meta('Provider', { controller: { permissionRequests: REQUEST } }), crd('Bucket')]),
      );
      const allowed = object(ClusterRole, 'allowed', {
        rules: [{ apiGroups: ['apps'], resources: ['*'], verbs: ['*'] }],
      });
      await staged(
        {
          registry,
          settings: { providerClusterRole },
          objects: [[ClusterRole, allowed], provider('example', { package: IMAGE })],
        },
        async (stage) => {
          const roles = (await names(stage, ClusterRole)).filter((name) => name.startsWith('crossplane:provider:'));
          const found = condition(await stage.client.get(ProviderRevision, { name: revision }), 'PermissionsRefused');
          if (providerClusterRole === undefined) {
            assert.deepEqual(roles, []);
            assert.match(
              found?.message ?? '',
              /get deployments\.apps, create deployments\.apps; name a ClusterRole that allows them with --provider-clusterrole/,
            );
          } else {
            assert.equal(roles.length, 3);
            assert.equal(found, undefined);
            const system = await stage.client.get(ClusterRole, { name: `crossplane:provider:${revision}:system` });
            assert.deepEqual(system.rules?.at(-1), REQUEST[0]);
          }
        },
      );
    }
  });

  test('of a family may use the types of its kin from the same place, and nobody else’s', async () => {
    const registry = fakeRegistry();
    const family = { labels: { 'pkg.crossplane.io/provider-family': 'cloud' } };
    const images = ['one', 'two'].map((name) => `${REGISTRY}/team/provider-${name}:v1`);
    const stranger = `${REGISTRY}/others/provider-three:v1`;
    const [first = ''] = images.map((image, i) =>
      revisionName(`p${i}`, registry.push(image, [meta('Provider', {}, family), crd(`Kind${i}`)])),
    );
    registry.push(stranger, [meta('Provider', {}, family), crd('Stranger')]);
    const objects = [
      ...images.map((image, i) => provider(`p${i}`, { package: image })),
      provider('p9', { package: stranger }),
    ];
    await staged({ registry, objects }, async (stage) => {
      await allReady(stage);
      const { rules } = await stage.client.get(ClusterRole, { name: `crossplane:provider:${first}:system` });
      assert.deepEqual(rules?.[0]?.resources, ['kind0s', 'kind0s/status', 'kind1s', 'kind1s/status']);
    });
  });
});
