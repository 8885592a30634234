// The requests to the registry: their times, log-in data and names, and the handling of a registry that does not answer.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deployment, type KubeObject, Namespace, Secret, ServiceAccount } from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { ImageConfig, Provider, ProviderRevision } from '../src/kinds/index.ts';
import {
  allReady,
  condition,
  crd,
  detail,
  fakeRegistry,
  meta,
  minutes,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  revisionName,
  SYSTEM,
  staged,
} from './fixtures.ts';

const SOURCE = `${REGISTRY}/team/provider-example`;
const IMAGE = `${SOURCE}:v1`;
const PACKAGE = [meta('Provider'), crd('Bucket')];
const NEXT = [meta('Provider', {}, { annotations: { next: 'yes' } }), crd('Bucket')];
const namespace = [Namespace, object(Namespace, SYSTEM)] as [typeof Namespace, KubeObject];
const pullSecret = (name: string) =>
  [
    Secret,
    {
      ...object(Secret, name),
      metadata: { namespace: SYSTEM, name },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths: {} })).toString('base64') },
    },
  ] as unknown as [typeof Secret, KubeObject];
const imageConfig = (name: string, spec: object) =>
  [ImageConfig, object(ImageConfig, name, { spec })] as [typeof ImageConfig, KubeObject];

describe('pull policies', () => {
  test('IfNotPresent asks once: a tag that moves is not noticed, until the identifier is cleared', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, PACKAGE);
    await staged({ registry, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      await allReady(stage);
      const moved = registry.push(IMAGE, NEXT);
      registry.asked.length = 0;
      await patch(stage, Provider, 'example', { spec: { revisionHistoryLimit: 5 } });
      await stage.settle();
      await stage.clock.advance(minutes(120));
      await stage.settle();
      assert.deepEqual(registry.asked, []);
      await stage.client.patch(
        Provider,
        { name: 'example' },
        'merge',
        { status: { currentIdentifier: '' } },
        { subresource: 'status' },
      );
      await stage.settle();
      assert.ok((await names(stage, ProviderRevision)).includes(revisionName('example', moved)));
    });
  });

  test('Always asks every minute, and a tag that has moved is a new revision', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, PACKAGE);
    await staged(
      { registry, objects: [provider('example', { package: IMAGE, packagePullPolicy: 'Always' })] },
      async (stage) => {
        await allReady(stage);
        await stage.clock.advance(minutes(3));
        await stage.settle();
        assert.equal(registry.asked.filter((line) => line === `resolve ${IMAGE}`).length, 4);
        const moved = registry.push(IMAGE, NEXT);
        await stage.clock.advance(minutes(1));
        await stage.settle();
        const name = revisionName('example', moved);
        assert.equal((await stage.client.get(ProviderRevision, { name })).spec.desiredState, 'Active');
        const pulled = (await stage.client.get(Deployment, { namespace: SYSTEM, name })).spec?.template.spec
          ?.containers[0];
        assert.equal(pulled?.imagePullPolicy, 'Always');
      },
    );
  });

  test('Always keeps what is known while the registry is away', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, PACKAGE);
    await staged(
      { registry, objects: [provider('example', { package: IMAGE, packagePullPolicy: 'Always' })] },
      async (stage) => {
        await allReady(stage);
        registry.breakDown('connection refused');
        await stage.clock.advance(minutes(2));
        await stage.settle();
        const installed = await detail(stage, Provider, 'example', 'Installed');
        assert.equal(installed?.status, 'True');
        assert.match(installed?.message ?? '', /could not be checked again: connection refused/);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
        await stage.restart();
        assert.equal((await detail(stage, Provider, 'example', 'Installed'))?.status, 'True');
        assert.equal((await names(stage, ProviderRevision)).length, 1);
      },
    );
  });

  test('Never takes what is in the cache, and says so when it is not', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, PACKAGE);
    await staged(
      { registry, objects: [provider('example', { package: IMAGE, packagePullPolicy: 'Never' })] },
      async (stage) => {
        assert.deepEqual(registry.asked, []);
        assert.match(
          (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
          /is not in the cache, and its pull policy is Never/,
        );
        assert.equal((await detail(stage, Provider, 'example', 'Installed'))?.status, 'True');
      },
    );
  });

  test('a digest needs no look-up', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, PACKAGE);
    await staged({ registry, objects: [provider('example', { package: `${SOURCE}@${digest}` })] }, async (stage) => {
      assert.deepEqual(registry.asked, [`pull ${SOURCE}@${digest}`]);
      assert.deepEqual(await names(stage, ProviderRevision), [revisionName('example', digest)]);
    });
  });
});

describe('a package that cannot be had', () => {
  test('is tried again, ever more seldom, and installed when it is there', async () => {
    const registry = fakeRegistry();
    await staged({ registry, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      const installed = await detail(stage, Provider, 'example', 'Installed');
      assert.deepEqual([installed?.status, installed?.reason], ['False', 'UnpackingPackage']);
      assert.match(installed?.message ?? '', /MANIFEST_UNKNOWN.*check the tag/);
      await stage.clock.advance(minutes(10));
      await stage.settle();
      const { length } = registry.asked;
      assert.ok(length > 5 && length < 30, `asked ${length} times in ten minutes`);
      registry.push(IMAGE, PACKAGE);
      await stage.clock.advance(minutes(2));
      await stage.settle();
      await allReady(stage);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('after another leaves the one before in force', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, PACKAGE);
    const name = revisionName('example', digest);
    await staged({ registry, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      await allReady(stage);
      await patch(stage, Provider, 'example', { spec: { package: `${SOURCE}:v9` } });
      await stage.settle();
      const installed = await detail(stage, Provider, 'example', 'Installed');
      assert.match(installed?.message ?? '', new RegExp(`MANIFEST_UNKNOWN.*the revision ${name} stays active`));
      assert.equal((await stage.client.get(ProviderRevision, { name })).spec.desiredState, 'Active');
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [name]);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('because its name is none says so', async () => {
    const registry = fakeRegistry();
    await staged(
      { registry, objects: [provider('example', { package: 'registry.example/UPPER/x:v1' })] },
      async (stage) => {
        const installed = await detail(stage, Provider, 'example', 'Installed');
        assert.match(installed?.message ?? '', /spec\.package cannot be read/);
        assert.deepEqual(registry.asked, []);
      },
    );
  });
});

describe('pull secrets', () => {
  test('pull secrets of the package, of the ImageConfig and of the manager’s account go to the registry; the pods get them too', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, PACKAGE);
    const account = {
      ...object(ServiceAccount, 'crossplane'),
      metadata: { namespace: SYSTEM, name: 'crossplane' },
      imagePullSecrets: [{ name: 'of-manager' }],
    };
    const config = imageConfig('login', {
      matchImages: [{ prefix: REGISTRY }],
      registry: { authentication: { pullSecretRef: { name: 'of-config' } } },
    });
    const objects = [
      namespace,
      ...['of-package', 'of-config', 'of-manager'].map(pullSecret),
      [ServiceAccount, account],
      config,
      provider('example', { package: IMAGE, packagePullSecrets: [{ name: 'of-package' }] }),
    ] as never;
    await staged({ registry, objects }, async (stage) => {
      assert.deepEqual(registry.logins, ['of-package', 'of-config', 'of-manager']);
      const { spec } = await stage.client.get(Deployment, { namespace: SYSTEM, name: revisionName('example', digest) });
      assert.deepEqual(spec?.template.spec?.imagePullSecrets, [{ name: 'of-package' }, { name: 'of-config' }]);
      const { status } = await stage.client.get(Provider, { name: 'example' });
      assert.deepEqual(status?.appliedImageConfigRefs, [{ name: 'login', reason: 'SetImagePullSecret' }]);
    });
  });

  test('pull secrets that are missing are named beside the registry’s answer, and used as soon as they are there', async () => {
    const registry = fakeRegistry();
    const spec = { package: IMAGE, packagePullSecrets: [{ name: 'later' }] };
    await staged({ registry, objects: [namespace, provider('example', spec)] }, async (stage) => {
      assert.match(
        (await detail(stage, Provider, 'example', 'Installed'))?.message ?? '',
        /pull secrets are not there.*: later/,
      );
      registry.push(IMAGE, PACKAGE);
      registry.asked.length = 0;
      await stage.client.create(...pullSecret('later'));
      await stage.settle();
      assert.equal(registry.asked[0], `resolve ${IMAGE}`);
      assert.equal((await detail(stage, Provider, 'example', 'Installed'))?.status, 'True');
    });
  });
});

describe('an ImageConfig', () => {
  test('rewrites the reference that is pulled and run, and nothing that names the package', async () => {
    const registry = fakeRegistry();
    const mirrored = 'mirror.example/copy/team/provider-example:v1';
    const digest = registry.push(mirrored, PACKAGE);
    const config = imageConfig('mirror', {
      matchImages: [{ prefix: `${REGISTRY}/` }],
      rewriteImage: { prefix: 'mirror.example/copy/' },
    });
    await staged({ registry, objects: [config, provider('example', { package: IMAGE })] }, async (stage) => {
      const found = await stage.client.get(Provider, { name: 'example' });
      assert.equal(found.status?.resolvedPackage, mirrored);
      assert.equal(found.status?.currentIdentifier, IMAGE);
      const revision = await stage.client.get(ProviderRevision, { name: revisionName('example', digest) });
      assert.deepEqual([revision.spec.image, revision.status?.resolvedImage], [IMAGE, mirrored]);
      const { spec } = await stage.client.get(Deployment, { namespace: SYSTEM, name: revisionName('example', digest) });
      assert.equal(spec?.template.spec?.containers[0]?.image, mirrored);
    });
  });

  test('chooses the runtime configuration of images that match', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, PACKAGE);
    const { DeploymentRuntimeConfig } = await import('../src/kinds/index.ts');
    const config = imageConfig('runtime', {
      matchImages: [{ prefix: REGISTRY }],
      runtime: { configRef: { name: 'two' } },
    });
    const two = [
      DeploymentRuntimeConfig,
      object(DeploymentRuntimeConfig, 'two', { spec: { deploymentTemplate: { spec: { replicas: 2 } } } }),
    ];
    await staged(
      { registry, objects: [config, two as never, provider('example', { package: IMAGE })] },
      async (stage) => {
        const name = revisionName('example', digest);
        assert.equal((await stage.client.get(Deployment, { namespace: SYSTEM, name })).spec?.replicas, 2);
        await patch(stage, DeploymentRuntimeConfig, 'two', { spec: { deploymentTemplate: { spec: { replicas: 3 } } } });
        await stage.settle();
        assert.equal((await stage.client.get(Deployment, { namespace: SYSTEM, name })).spec?.replicas, 3);
      },
    );
  });

  const publicKey = '-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n';
  const keySecret = [
    Secret,
    {
      ...object(Secret, 'cosign'),
      metadata: { namespace: SYSTEM, name: 'cosign' },
      data: { 'cosign.pub': Buffer.from(publicKey).toString('base64') },
    },
  ] as unknown as [typeof Secret, KubeObject];
  const verification = (authority: object) =>
    imageConfig('signed', {
      matchImages: [{ prefix: REGISTRY }],
      verification: { provider: 'Cosign', cosign: { authorities: [authority] } },
    });
  const byKey = verification({ name: 'release', key: { secretRef: { name: 'cosign', key: 'cosign.pub' } } });

  test('an ImageConfig that asks for a signature keeps out unsigned packages, and lets in signed ones', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, PACKAGE);
    const name = revisionName('example', digest);
    await staged(
      { registry, objects: [namespace, keySecret, byKey, provider('example', { package: IMAGE })] },
      async (stage) => {
        const refused = condition(await stage.client.get(ProviderRevision, { name }), 'Verified');
        assert.deepEqual([refused?.status, refused?.reason], ['False', 'SignatureVerificationFailed']);
        assert.match(
          (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
          /none of release has signed/,
        );
        assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
        // It only has to be signed: the signature is looked up again, at growing intervals.
        registry.signed.set(digest, publicKey);
        await stage.clock.advance(minutes(2));
        await stage.settle();
        await allReady(stage);
        assert.equal(condition(await stage.client.get(ProviderRevision, { name }), 'Verified')?.status, 'True');
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
        registry.asked.length = 0;
        await stage.restart();
        assert.deepEqual(registry.asked, []);
      },
    );
  });

  test('an ImageConfig that names another key has the signature re-checked, and so has a Secret with another key', async () => {
    const registry = fakeRegistry();
    const digest = registry.push(IMAGE, PACKAGE);
    registry.signed.set(digest, publicKey);
    const name = revisionName('example', digest);
    const verdict = async (stage: Stage) =>
      condition(await stage.client.get(ProviderRevision, { name }), 'Verified')?.status;
    const scene = { registry, objects: [namespace, keySecret, byKey, provider('example', { package: IMAGE })] };
    await staged(scene, async (stage) => {
      await allReady(stage);
      assert.equal(await verdict(stage), 'True');
      const keyOf = (text: string) => ({ data: { 'cosign.pub': Buffer.from(text).toString('base64') } });
      await patch(stage, Secret, 'cosign', keyOf('another key'), SYSTEM);
      await stage.settle();
      assert.equal(await verdict(stage), 'False');
      // The running workload was verified when it started; a mistyped key does not end it.
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [name]);
      assert.match((await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '', /\(ImageConfig signed\)/);
      await patch(stage, Secret, 'cosign', keyOf(publicKey), SYSTEM);
      await stage.settle();
      assert.equal(await verdict(stage), 'True');
      const other = { name: 'other', key: { secretRef: { name: 'absent', key: 'cosign.pub' } } };
      await patch(stage, ImageConfig, 'signed', { spec: { verification: { cosign: { authorities: [other] } } } });
      await stage.settle();
      assert.match((await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '', /put it under cosign.pub/);
      await stage.client.delete(ImageConfig, { name: 'signed' });
      await stage.settle();
      assert.equal(await verdict(stage), undefined);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('an ImageConfig that asks for a signature without a key where there is no trust root is refused, and the package not installed', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, PACKAGE);
    const keyless = verification({ name: 'public', keyless: { identities: [{ issuer: 'https://x.example' }] } });
    await staged({ registry, objects: [keyless, provider('example', { package: IMAGE })] }, async (stage) => {
      assert.match(
        (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
        /without a key .*no trust root.*--sigstore-trusted-root/,
      );
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
    });
  });
});
