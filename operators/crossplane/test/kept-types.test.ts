// Types that a package no longer brings, and the data of their users.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, externalKind } from '@capstan/kube';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { allReady, crd, fakeRegistry, meta, names, object, patch, provider, REGISTRY, staged } from './fixtures.ts';

const image = (version: number) => `${REGISTRY}/team/provider-example:v${version}`;
const Old = externalKind({ group: 'example.org', version: 'v1', kind: 'Old', plural: 'olds', scope: 'Cluster' });

describe('a type that a package no longer brings', () => {
  test('stays with its data after the revision that brought it is gone', async () => {
    const registry = fakeRegistry();
    registry.push(image(1), [meta('Provider'), crd('Bucket'), crd('Old')]);
    for (const version of [2, 3, 4])
      registry.push(image(version), [meta('Provider'), crd('Bucket'), crd(`New${version}`)]);
    await staged({ registry, objects: [provider('example', { package: image(1) })] }, async (stage) => {
      await allReady(stage);
      await stage.client.create(Old, object(Old, 'precious', {}));
      const [first = ''] = await names(stage, ProviderRevision);
      const { uid } = (await stage.client.get(CustomResourceDefinition, { name: 'olds.example.org' })).metadata;
      for (const version of [2, 3, 4]) {
        await patch(stage, Provider, 'example', { spec: { package: image(version) } });
        await stage.settle();
        await allReady(stage);
        await stage.settle();
      }
      assert.ok(!(await names(stage, ProviderRevision)).includes(first));
      assert.equal((await stage.client.get(CustomResourceDefinition, { name: 'olds.example.org' })).metadata.uid, uid);
      assert.deepEqual(await names(stage, Old), ['precious']);
    });
  });
});
