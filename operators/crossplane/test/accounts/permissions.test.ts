// The rights of providers, and of Crossplane itself.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  type Kind,
  type KubeObject,
  Namespace,
  type PolicyRule,
} from '@capstan/kube';
import { rulesOf } from '@capstan/reconcile';
import { chosenServer } from '@capstan/testing';
import { allowedRole } from '../../src/commands/allow-command.ts';
import { Provider, ProviderRevision } from '../../src/kinds/index.ts';
import { createCrossplane } from '../../src/operator.ts';
import { BASE_RULES, boundOf, DEFAULT_MAX_ROLE } from '../../src/rbac/bound.ts';
import {
  allReady,
  condition,
  crd,
  detail,
  fakeRegistry,
  meta,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  ready,
  revisionName,
  SYSTEM,
  staged,
} from '../fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1`;
const EXTERNAL = { Provider: 'External', Function: 'External', Configuration: 'External' };
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

  test('a provider without types gets none', async () => {
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

  test('a provider that asks for more gets nothing, unless a ClusterRole allows it', async () => {
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

  test('a provider that may not be granted is on the package, and goes when it is granted', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, [meta('Provider', { controller: { permissionRequests: REQUEST } }), crd('Bucket')]);
    const rules = [{ apiGroups: ['apps'], resources: ['*'], verbs: ['*'] }];
    const objects: [Kind, KubeObject][] = [
      [ClusterRole, object(ClusterRole, 'allowed', { rules: [] })],
      provider('example', { package: IMAGE }),
    ];
    await staged({ registry, settings: { providerClusterRole: 'allowed' }, objects }, async (stage) => {
      await allReady(stage);
      const refused = await detail(stage, Provider, 'example', 'Healthy');
      assert.equal(refused?.status, 'False');
      assert.match(refused.message, /asks for permissions that it may not have.*add them to the ClusterRole allowed/);
      await patch(stage, ClusterRole, 'allowed', { rules });
      await stage.settle();
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('a provider whose types the bound does not allow gets nothing, until an administrator allows them', async () => {
    const registry = fakeRegistry();
    const requests = { controller: { permissionRequests: REQUEST } };
    registry.push(IMAGE, [meta('Provider', requests), crd('Bucket')]);
    const settings = { bound: boundOf(DEFAULT_MAX_ROLE), providerClusterRole: DEFAULT_MAX_ROLE };
    await staged({ registry, settings, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      const healthy = async () => {
        await stage.collected();
        await stage.settle();
        await allReady(stage);
        return detail(stage, Provider, 'example', 'Healthy');
      };
      assert.match((await healthy())?.message ?? '', /asks for permissions that it may not have: get deployments.apps/);
      const role = await allowedRole(stage.client, 'example', new AbortController().signal);
      const allow = async (rules: readonly PolicyRule[]) => {
        const allowed = { ...role, rules: [...rules] };
        await stage.client.apply(ClusterRole, allowed, { fieldManager: 'crossplane-allow', force: true });
        // No controller aggregates rules on the real server of a stage.
        if (chosenServer() === 'real')
          await patch(stage, ClusterRole, DEFAULT_MAX_ROLE, { rules: [...BASE_RULES, ...rules] });
      };
      await allow(role.rules.slice(1));
      assert.match(
        (await healthy())?.message ?? '',
        /allowed-provider-permissions does not allow the package's types and requests: \* buckets.example.org.*crossplane core allow example/,
      );
      await allow(role.rules);
      assert.deepEqual(await healthy(), { status: 'True', reason: 'HealthyPackageRevision', message: '' });
    });
  });

  test('gets of the base rules what the bound allows', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
    const rules = [
      { apiGroups: ['example.org'], resources: ['*'], verbs: ['*'] },
      { apiGroups: ['', 'coordination.k8s.io'], resources: ['events', 'leases'], verbs: ['*'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
    ];
    const bound = { role: 'narrow', roles: [object(ClusterRole, 'narrow', { rules })] };
    await staged(
      { registry, settings: { bound }, objects: [provider('example', { package: IMAGE })] },
      async (stage) => {
        await allReady(stage);
        const name = `crossplane:provider:${revisionName('example', digest)}:system`;
        const role = await stage.client.get(ClusterRole, { name });
        assert.deepEqual(
          role.rules?.slice(2).map(({ apiGroups, resources, verbs }) => [apiGroups, resources, verbs].join(' ')),
          [
            ' configmaps get,list,watch',
            ' events *',
            ' leases *',
            'coordination.k8s.io events *',
            'coordination.k8s.io leases *',
          ],
        );
      },
    );
  });

  test('a provider whose roles cannot be written is not healthy, and says why', async () => {
    const registry = fakeRegistry();
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
    const name = `crossplane:provider:${revision}:system`;
    await staged({ registry }, async (stage) => {
      const { metadata } = await stage.client.get(Namespace, { name: 'default' });
      const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: metadata.uid ?? '', controller: true };
      await stage.client.create(
        ClusterRole,
        object(ClusterRole, name, { metadata: { name, ownerReferences: [owner] } }),
      );
      await stage.client.create(...provider('example', { package: IMAGE }));
      await stage.settle();
      await allReady(stage);
      const found = await detail(stage, Provider, 'example', 'Healthy');
      assert.equal(found?.status, 'False');
      assert.match(found.message, /ClusterRole crossplane:provider:.*:system/);
      await stage.client.delete(ClusterRole, { name });
      await stage.settle();
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('a provider of a family may use the types of its family from the same organization, and no others', async () => {
    const registry = fakeRegistry();
    const family = { labels: { 'pkg.crossplane.io/provider-family': 'cloud' } };
    const images = ['one', 'two'].map((name) => `${REGISTRY}/team/provider-${name}:v1`);
    const foreign = `${REGISTRY}/others/provider-three:v1`;
    const [first = ''] = images.map((image, i) =>
      revisionName(`p${i}`, registry.push(image, [meta('Provider', {}, family), crd(`Kind${i}`)])),
    );
    registry.push(foreign, [meta('Provider', {}, family), crd('Stranger')]);
    const objects = [
      ...images.map((image, i) => provider(`p${i}`, { package: image })),
      provider('p9', { package: foreign }),
    ];
    await staged({ registry, objects }, async (stage) => {
      await allReady(stage);
      const { rules } = await stage.client.get(ClusterRole, { name: `crossplane:provider:${first}:system` });
      assert.deepEqual(rules?.[0]?.resources, ['kind0s', 'kind0s/status', 'kind1s', 'kind1s/status']);
    });
  });
});

describe('Crossplane itself', () => {
  test('does all its work with Roles in its own namespace, as crossplane core start has it', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
    // A namespace that is there from the beginning; the stage fails on any request that its role does not allow.
    const namespace = 'default';
    const scene = { registry, settings: { namespace }, watchNamespaces: [namespace] };
    await staged({ ...scene, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      const name = revisionName('example', digest);
      await ready(stage.client, await stage.client.get(Deployment, { namespace, name }));
      await stage.settle();
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('may change nothing everywhere but what packages bring, and grants what it holds and no more', () => {
    const { cluster, everywhere } = rulesOf(createCrossplane());
    const all = [...cluster, ...everywhere];
    assert.ok(all.every(({ apiGroups, resources, verbs }) => ![...apiGroups, ...resources, ...verbs].includes('*')));
    const granting = all.filter(({ verbs }) => verbs.includes('escalate') || verbs.includes('bind'));
    assert.deepEqual(granting, []);
    const namespaces = all.find(({ resources }) => resources.includes('namespaces'));
    assert.deepEqual(namespaces?.verbs, ['get', 'list', 'watch', 'create']);
    const statuses = all.flatMap(({ resources }) => resources.filter((name) => name.endsWith('/status')));
    assert.ok(!statuses.includes('customresourcedefinitions/status'));
    const without = rulesOf(createCrossplane({ manageRbac: false }));
    assert.ok(!without.cluster.some(({ resources }) => resources.includes('clusterroles')));
    const external = rulesOf(createCrossplane({ packageRuntime: EXTERNAL }));
    assert.deepEqual(
      external.everywhere.filter(({ resources }) => resources.some((name) => /deploy|pods|services$/.test(name))),
      [],
    );
  });
});
