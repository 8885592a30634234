// The rules of version 2, for a manager that is started with `--crossplane-version=2…`.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition } from '@capstan/kube';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { unqualified } from '../src/packages/version-2.ts';
import { allReady, crd, detail, fakeRegistry, meta, provider, REGISTRY, staged } from './fixtures.ts';

const VERSION_2 = { version: '2.1.0' };
const PACKAGE = `${REGISTRY}/team/provider-example:v1`;

describe('as of version 2', () => {
  test('objects of kinds that a package may not hold are left out, with a warning', async () => {
    const registry = fakeRegistry();
    const stray = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'stray' } };
    registry.push(PACKAGE, [meta('Provider'), crd('Bucket'), stray]);
    const reported: string[] = [];
    await staged(
      { registry, settings: VERSION_2, reported, objects: [provider('example', { package: PACKAGE })] },
      async (stage) => {
        await allReady(stage);
        await stage.settle();
        assert.ok(await stage.client.find(CustomResourceDefinition, { name: 'buckets.example.org' }));
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
        const { items } = await stage.client.list(ProviderRevision);
        const warning = await detail(stage, ProviderRevision, items[0]?.metadata.name ?? '', 'PackageWarning');
        assert.match(
          warning?.message ?? '',
          /^left out: ConfigMap "stray".* is a kind that a Provider package may not/,
        );
        assert.equal(reported.filter((line) => line.includes('LintPackage: left out: ConfigMap "stray"')).length, 1);
      },
    );
  });

  test('a package without a registry or a tag is refused, and what to write is named', async () => {
    const registry = fakeRegistry();
    registry.push('xpkg.crossplane.io/team/provider-example:v1', [meta('Provider'), crd('Bucket')]);
    const objects = [provider('example', { package: 'team/provider-example:v1' })];
    await staged({ registry, settings: VERSION_2, objects }, async (stage) => {
      const reported = await detail(stage, Provider, 'example', 'Installed');
      assert.equal(reported?.reason, 'UnpackingPackage');
      assert.match(reported.message, /team\/provider-example:v1 is not fully qualified.*xpkg\.crossplane\.io\/team\//);
      assert.deepEqual((await stage.client.list(ProviderRevision)).items, []);
    });
    await staged({ registry, objects }, async (stage) => {
      assert.equal((await stage.client.list(ProviderRevision)).items.length, 1, 'version 1 has a default registry');
    });
  });

  test('images are judged as its own rule judges them', () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const whole = ['127.0.0.1:5055/demo/p:v1', 'registry.default.svc:5000/p:v1', `a.example/p@${digest}`];
    const refused = ['localhost:5000/p:v1', 'crossplane/provider-aws:v1', 'a.example/team/p', 'a.example:v1', 'p'];
    const settings = { ...VERSION_2, registry: 'xpkg.crossplane.io' };
    for (const image of [...whole, `a.example/p:v1@${digest}`]) assert.equal(unqualified(image, settings), undefined);
    for (const image of refused) assert.match(unqualified(image, settings) ?? '', /not fully qualified/, image);
    for (const image of refused) assert.equal(unqualified(image, { ...settings, version: '1.20.0' }), undefined);
  });
});
