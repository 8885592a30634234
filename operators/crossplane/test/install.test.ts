// From a package to its running workload.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, Deployment, type Kind, Secret, Service, ServiceAccount } from '@capstan/kube';
import { DeploymentRuntimeConfig, Lock, Provider, ProviderRevision } from '../src/kinds/index.ts';
import { friendlyId } from '../src/xpkg/names.ts';
import { allReady, condition, crd, fakeRegistry, meta, object, REGISTRY, SYSTEM, staged } from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1.0.0`;

describe('a Provider', () => {
  test('is pulled, its types installed, its runtime made, and healthy once its pods are', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
    const name = friendlyId('example', digest.slice('sha256:'.length));
    await staged(
      { registry, objects: [[Provider, object(Provider, 'example', { spec: { package: IMAGE } })]] },
      async (stage) => {
        const { client } = stage;
        const revision = await client.get(ProviderRevision, { name });
        assert.deepEqual(
          [revision.spec.desiredState, revision.spec.revision, revision.spec.image],
          ['Active', 1, IMAGE],
        );
        const installed = await client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
        assert.deepEqual(
          installed.metadata.ownerReferences?.map(({ kind, controller }) => [kind, controller]),
          [
            ['ProviderRevision', true],
            ['Provider', false],
          ],
        );
        for (const kind of [Deployment, Service, ServiceAccount] as Kind[])
          await client.get(kind, { namespace: SYSTEM, name });
        const { data } = await client.get(Secret, { namespace: SYSTEM, name: 'example-tls-server' });
        assert.deepEqual(Object.keys(data ?? {}).toSorted(), ['ca.crt', 'tls.crt', 'tls.key']);
        assert.equal(condition(await client.get(Provider, { name: 'example' }), 'Healthy')?.status, 'False');
        await allReady(stage);
        const provider = await client.get(Provider, { name: 'example' });
        assert.deepEqual(
          ['Installed', 'Healthy'].map((type) => condition(provider, type)?.status),
          ['True', 'True'],
          JSON.stringify(provider.status, null, 1),
        );
        assert.deepEqual(
          (await client.get(Lock, { name: 'lock' })).packages?.map(({ source, version }) => [source, version]),
          [[`${REGISTRY}/team/provider-example`, 'v1.0.0']],
        );
        await client.get(DeploymentRuntimeConfig, { name: 'default' });
        assert.deepEqual(registry.asked, [`resolve ${IMAGE}`, `pull ${REGISTRY}/team/provider-example@${digest}`]);
      },
    );
  });

  test('is reported by Events that say what was done, without warnings while it succeeds', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
    const reported: string[] = [];
    await staged(
      { registry, reported, objects: [[Provider, object(Provider, 'example', { spec: { package: IMAGE } })]] },
      async (stage) => {
        await allReady(stage);
        assert.deepEqual(
          reported.filter((event) => event.startsWith('Warning')),
          [],
        );
        assert.ok(reported.includes('Normal ProviderRevision SyncPackage: the package’s objects are installed'));
      },
    );
  });

  test('restarts without a write and without a pull', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
    await staged(
      { registry, objects: [[Provider, object(Provider, 'example', { spec: { package: IMAGE } })]] },
      async (stage) => {
        await allReady(stage);
        registry.asked.length = 0;
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
        assert.deepEqual(registry.asked, []);
      },
    );
  });
});
