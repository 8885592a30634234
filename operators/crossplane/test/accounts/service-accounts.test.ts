// The account that packages run as, where a configuration names it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRoleBinding,
  ConfigMap,
  Deployment,
  type Kind,
  type KubeObject,
  Namespace,
  ServiceAccount,
} from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { DeploymentRuntimeConfig, Provider } from '../../src/kinds/index.ts';
import {
  allReady,
  crd,
  detail,
  example,
  meta,
  names,
  patch,
  provider,
  REGISTRY,
  runtimeConfig,
  SYSTEM,
  staged,
  using,
} from '../fixtures.ts';

const deploymentOf = (stage: Stage, name: string) => stage.client.get(Deployment, { namespace: SYSTEM, name });

describe('a ServiceAccount that is named', () => {
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { namespace: SYSTEM, name: 'shared', labels: { mine: 'yes' } },
    imagePullSecrets: [{ name: 'of-mine' }],
  };
  const named = runtimeConfig('mine', {
    serviceAccountTemplate: { metadata: { name: 'shared', annotations: { 'cloud.example/role': 'admin' } } },
  });

  test('and is there already is updated, never taken over, and outlives the package', async () => {
    const { registry, name } = example();
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } };
    await staged(
      { registry, objects: [[Namespace, namespace], [ServiceAccount, account], named, using('mine')] },
      async (stage) => {
        await allReady(stage);
        const ref = { namespace: SYSTEM, name: 'shared' };
        const found = await stage.client.get(ServiceAccount, ref);
        assert.equal(found.metadata.annotations?.['cloud.example/role'], 'admin');
        assert.equal(found.metadata.labels?.['mine'], 'yes');
        assert.equal(found.metadata.ownerReferences, undefined);
        assert.ok(Object.keys(found.metadata.annotations ?? {}).some((key) => key.startsWith('original.capstan.dev/')));
        assert.deepEqual(found.imagePullSecrets, [{ name: 'of-mine' }]);
        assert.equal((await deploymentOf(stage, name)).spec?.template.spec?.serviceAccountName, 'shared');
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
        await stage.client.delete(Provider, { name: 'example' });
        await stage.settle();
        const left = await stage.client.get(ServiceAccount, ref);
        assert.equal(left.metadata.annotations?.['cloud.example/role'], undefined);
        assert.deepEqual(await names(stage, Provider), []);
      },
    );
  });

  test('and is not there is made, and goes with the package', async () => {
    const { registry } = example();
    await staged({ registry, objects: [named, using('mine')] }, async (stage) => {
      const found = await stage.client.get(ServiceAccount, { namespace: SYSTEM, name: 'shared' });
      assert.deepEqual(
        found.metadata.ownerReferences?.map(({ kind }) => kind),
        ['Provider'],
      );
      await stage.client.delete(Provider, { name: 'example' });
      await stage.settle();
      assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes('shared'));
    });
  });

  test('and is there already with another value of an annotation is updated, and gets its own back', async () => {
    const { registry, name } = example();
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } };
    const ref = { namespace: SYSTEM, name: 'shared' };
    const own = { ...account, metadata: { ...account.metadata, annotations: { 'cloud.example/role': 'user' } } };
    await staged(
      { registry, objects: [[Namespace, namespace], [ServiceAccount, own], named, using('mine')] },
      async (stage) => {
        await allReady(stage);
        const role = async () =>
          (await stage.client.get(ServiceAccount, ref)).metadata.annotations?.['cloud.example/role'];
        assert.equal(await role(), 'admin');
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
        assert.equal((await deploymentOf(stage, name)).spec?.template.spec?.serviceAccountName, 'shared');
        await stage.client.delete(Provider, { name: 'example' });
        await stage.settle();
        assert.equal(await role(), 'user');
      },
    );
  });

  test('and belongs to a user who is no package is a conflict that names it', async () => {
    const { registry } = example();
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } };
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: SYSTEM, name: 'theirs' } };
    await staged({ registry, objects: [[Namespace, namespace], [ConfigMap, owner], named] }, async (stage) => {
      const { uid = '' } = (await stage.client.get(ConfigMap, { namespace: SYSTEM, name: 'theirs' })).metadata;
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid, controller: true };
      const metadata = { ...account.metadata, ownerReferences: [reference] };
      await stage.client.create(ServiceAccount, { ...account, metadata });
      await stage.client.create(...using('mine'));
      await stage.settle();
      const health = await detail(stage, Provider, 'example', 'Healthy');
      assert.equal(health?.status, 'False');
      assert.match(health?.message ?? '', /ServiceAccount crossplane-system\/shared is controlled by ConfigMap theirs/);
    });
  });

  test('and is there already serves two packages as well as one', async () => {
    const { registry } = example();
    registry.push(`${REGISTRY}/team/other:v1`, [meta('Provider'), crd('Volume')]);
    const other = provider('other', { package: `${REGISTRY}/team/other:v1`, runtimeConfigRef: { name: 'mine' } });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } };
    const objects: [Kind, KubeObject][] = [
      [Namespace, namespace],
      [ServiceAccount, account],
      named,
      using('mine'),
      other,
    ];
    await staged({ registry, objects }, async (stage) => {
      await allReady(stage);
      for (const name of ['example', 'other'])
        assert.equal((await detail(stage, Provider, name, 'Healthy'))?.message, '', name);
      const { metadata } = await stage.client.get(ServiceAccount, { namespace: SYSTEM, name: 'shared' });
      assert.equal(metadata.ownerReferences, undefined);
      await stage.client.delete(Provider, { name: 'example' });
      await stage.settle();
      const left = await stage.client.get(ServiceAccount, { namespace: SYSTEM, name: 'shared' });
      assert.equal(left.metadata.annotations?.['cloud.example/role'], 'admin');
      assert.equal((await detail(stage, Provider, 'other', 'Healthy'))?.message, '');
    });
  });

  test('and is there already, by configurations that differ, is updated for the first; the other one says why it waits', async () => {
    const { registry } = example();
    registry.push(`${REGISTRY}/team/other:v1`, [meta('Provider'), crd('Volume')]);
    const role = 'cloud.example/role';
    const differing = runtimeConfig('theirs', {
      serviceAccountTemplate: { metadata: { name: 'shared', annotations: { [role]: 'reader' } } },
    });
    const other = provider('other', { package: `${REGISTRY}/team/other:v1`, runtimeConfigRef: { name: 'theirs' } });
    const users = { ...account, metadata: { ...account.metadata, annotations: { [role]: 'of the user' } } };
    const objects: [Kind, KubeObject][] = [
      [Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } }],
      [ServiceAccount, users],
      named,
      differing,
      using('mine'),
    ];
    await staged({ registry, objects }, async (stage) => {
      const roleOf = async () =>
        (await stage.client.get(ServiceAccount, { namespace: SYSTEM, name: 'shared' })).metadata.annotations?.[role];
      await stage.client.create(...other);
      await stage.settle();
      await allReady(stage);
      assert.equal(await roleOf(), 'admin');
      const waits = await detail(stage, Provider, 'other', 'Healthy');
      assert.equal(waits?.status, 'False');
      assert.match(waits.message, /ServiceAccount crossplane-system\/shared: .*role is set to another value already/);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      await stage.client.delete(Provider, { name: 'example' });
      await stage.settle();
      await allReady(stage);
      assert.equal(await roleOf(), 'reader');
      assert.equal((await detail(stage, Provider, 'other', 'Healthy'))?.status, 'True');
      await stage.client.delete(Provider, { name: 'other' });
      await stage.settle();
      assert.equal(await roleOf(), 'of the user');
    });
  });

  describe('by a configuration that two packages use', () => {
    const ref = { namespace: SYSTEM, name: 'shared' };
    const two = async (work: (stage: Stage, uid: string) => Promise<void>) => {
      const { registry } = example();
      registry.push(`${REGISTRY}/team/other:v1`, [meta('Provider'), crd('Volume')]);
      const other = provider('other', { package: `${REGISTRY}/team/other:v1`, runtimeConfigRef: { name: 'mine' } });
      const theirs = runtimeConfig('theirs', { serviceAccountTemplate: { metadata: { name: 'elsewhere' } } });
      await staged({ registry, objects: [named, theirs, using('mine')] }, async (stage) => {
        await stage.client.create(...other);
        await stage.settle();
        await allReady(stage);
        const { uid = '' } = (await stage.client.get(ServiceAccount, ref)).metadata;
        for (const name of ['example', 'other'])
          assert.equal((await detail(stage, Provider, name, 'Healthy'))?.message, '', name);
        await work(stage, uid);
      });
    };
    const owners = async (stage: Stage) =>
      (await stage.client.get(ServiceAccount, ref)).metadata.ownerReferences
        ?.map(({ kind, name, controller }) => `${kind} ${kind === 'Provider' ? name : ''} ${controller}`)
        .toSorted();

    test('is one account for both, without conflicting writes', () =>
      two(async (stage) => {
        assert.deepEqual(await owners(stage), ['Provider example false', 'Provider other false']);
        const { resourceVersion } = (await stage.client.get(ServiceAccount, ref)).metadata;
        await stage.settle(600_000);
        assert.equal((await stage.client.get(ServiceAccount, ref)).metadata.resourceVersion, resourceVersion);
      }));

    test('outlives the package that made it, and the other one runs on', () =>
      two(async (stage, uid) => {
        await stage.client.delete(Provider, { name: 'example' });
        await stage.settle();
        const found = await stage.client.get(ServiceAccount, ref);
        assert.equal(found.metadata.uid, uid);
        assert.equal(found.metadata.annotations?.['cloud.example/role'], 'admin');
        assert.equal((await detail(stage, Provider, 'other', 'Healthy'))?.status, 'True');
      }));

    for (const order of [
      ['example', 'other'],
      ['other', 'example'],
    ])
      test(`goes with the last of them: ${order.join(', then ')}`, () =>
        two(async (stage) => {
          for (const name of order) {
            assert.ok((await names(stage, ServiceAccount, SYSTEM)).includes('shared'));
            await stage.client.delete(Provider, { name });
            await stage.settle();
          }
          assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes('shared'));
        }));

    test('goes when the configuration gives it another name, also if the operator was down then', () =>
      two(async (stage) => {
        await stage.program.stop();
        await patch(stage, DeploymentRuntimeConfig, 'mine', {
          spec: { serviceAccountTemplate: { metadata: { name: 'renamed' } } },
        });
        await stage.restart();
        await allReady(stage);
        await stage.settle();
        const left = await names(stage, ServiceAccount, SYSTEM);
        assert.deepEqual([left.includes('renamed'), left.includes('shared')], [true, false]);
      }));

    test('is in no binding of a package that has left it', () =>
      two(async (stage) => {
        for (const name of ['example', 'other']) {
          await patch(stage, Provider, name, { spec: { runtimeConfigRef: { name: 'theirs' } } });
          await stage.settle();
          await allReady(stage);
          await stage.settle();
        }
        const { items } = await stage.client.list(ClusterRoleBinding, {});
        const subjects = items.flatMap((binding) => (binding.subjects ?? []).map(({ name }) => name));
        assert.deepEqual(
          [...new Set(subjects.filter((name) => ['shared', 'elsewhere'].includes(name)))],
          ['elsewhere'],
        );
        assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes('shared'));
      }));

    test('stays when the package that made it takes another, and goes with the last', () =>
      two(async (stage, uid) => {
        await patch(stage, Provider, 'example', { spec: { runtimeConfigRef: { name: 'theirs' } } });
        await stage.settle();
        await allReady(stage);
        await stage.settle();
        assert.equal((await stage.client.get(ServiceAccount, ref)).metadata.uid, uid);
        assert.equal((await detail(stage, Provider, 'other', 'Healthy'))?.status, 'True');
        await stage.client.delete(Provider, { name: 'other' });
        await stage.settle();
        assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes('shared'));
      }));
  });
});
