// From one version of a package to the next, and back.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  Deployment,
  externalKind,
  type Kind,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { DeploymentRuntimeConfig, Lock, Provider, ProviderRevision } from '../src/kinds/index.ts';
import {
  allReady,
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
} from './fixtures.ts';

const SOURCE = `${REGISTRY}/team/provider-example`;
const image = (version: string) => `${SOURCE}:${version}`;
const Bucket = externalKind({
  group: 'example.org',
  version: 'v1',
  kind: 'Bucket',
  plural: 'buckets',
  scope: 'Cluster',
});

function twoVersions() {
  const registry = fakeRegistry();
  const one = registry.push(image('v1'), [meta('Provider'), crd('Bucket'), crd('Old')]);
  const two = registry.push(image('v2'), [
    meta('Provider'),
    crd('Bucket', 'example.org', { fields: { size: { type: 'integer' }, tier: { type: 'string' } } }),
  ]);
  return { registry, first: revisionName('example', one), second: revisionName('example', two) };
}

const upgrade = async (stage: Stage, to: string) => {
  await patch(stage, Provider, 'example', { spec: { package: image(to) } });
  await stage.settle();
};
const states = async (stage: Stage): Promise<Record<string, string>> => {
  const { items } = await stage.client.list(ProviderRevision, {});
  return Object.fromEntries(
    items.map(({ metadata, spec }) => [metadata.name ?? '', `${spec.revision} ${spec.desiredState}`] as const),
  );
};
const controllerOf = async (stage: Stage, name: string) =>
  (await stage.client.get(CustomResourceDefinition, { name })).metadata.ownerReferences?.map(
    ({ name: owner, controller }) => `${owner} ${controller}`,
  );

describe('an upgrade', () => {
  test('keeps what runs until the new version is ready, and its types with their data throughout', async () => {
    const { registry, first, second } = twoVersions();
    await staged({ registry, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
      await allReady(stage);
      await stage.client.create(Bucket, object(Bucket, 'mine', { spec: { size: 3 } }));
      const { uid } = (await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' })).metadata;
      await upgrade(stage, 'v2');
      assert.deepEqual(await states(stage), { [first]: '1 Inactive', [second]: '2 Active' });
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [first, second].toSorted());
      assert.deepEqual(await names(stage, Service, SYSTEM), [first, second].toSorted());
      assert.deepEqual(await controllerOf(stage, 'buckets.example.org'), [
        `${second} true`,
        `${first} false`,
        'example false',
      ]);
      await allReady(stage);
      await stage.settle();
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [second]);
      assert.deepEqual(await names(stage, Service, SYSTEM), [second]);
      assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes(first));
      assert.equal(
        (await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' })).metadata.uid,
        uid,
      );
      assert.deepEqual(((await stage.client.get(Bucket, { name: 'mine' })) as { spec?: object }).spec, { size: 3 });
      // Dropped by the new version: its data may still be wanted.
      await stage.client.get(CustomResourceDefinition, { name: 'olds.example.org' });
    });
  });

  test('an upgrade that never gets ready leaves the version before it running', async () => {
    const { registry, first, second } = twoVersions();
    await staged({ registry, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
      await allReady(stage);
      await upgrade(stage, 'v2');
      await stage.settle(600_000);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [first, second].toSorted());
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'False');
    });
  });

  test('an upgrade with a fixed name goes over in one rolling update', async () => {
    const { registry, second } = twoVersions();
    const config = object(DeploymentRuntimeConfig, 'fixed', {
      spec: { deploymentTemplate: { metadata: { name: 'runner' } } },
    });
    const spec = { package: image('v1'), runtimeConfigRef: { name: 'fixed' } };
    await staged(
      { registry, objects: [[DeploymentRuntimeConfig, config], provider('example', spec)] },
      async (stage) => {
        await allReady(stage);
        const before = await stage.client.get(Deployment, { namespace: SYSTEM, name: 'runner' });
        await upgrade(stage, 'v2');
        const after = await stage.client.get(Deployment, { namespace: SYSTEM, name: 'runner' });
        assert.equal(after.metadata.uid, before.metadata.uid);
        assert.deepEqual(after.spec?.selector, { matchLabels: { 'pkg.crossplane.io/provider': 'example' } });
        assert.equal(after.spec?.template.metadata?.labels?.['pkg.crossplane.io/revision'], second);
        assert.equal(after.metadata.ownerReferences?.find(({ controller }) => controller)?.name, second);
        await ready(stage.client, after);
        await stage.settle();
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      },
    );
  });

  test('keeps as many old revisions as are asked for, and never the one in force less', async () => {
    const registry = fakeRegistry();
    const digests = [1, 2, 3, 4].map((n) =>
      registry.push(image(`v${n}`), [meta('Provider', {}, { annotations: { n: `${n}` } }), crd('Bucket')]),
    );
    const [first = '', , third = '', fourth = ''] = digests.map((digest) => revisionName('example', digest));
    await staged({ registry, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
      for (const version of ['v2', 'v3', 'v4']) {
        await allReady(stage);
        await upgrade(stage, version);
      }
      await allReady(stage);
      assert.deepEqual(await states(stage), { [third]: '3 Inactive', [fourth]: '4 Active' });
      await patch(stage, Provider, 'example', { spec: { revisionHistoryLimit: 0 } });
      await upgrade(stage, 'v1');
      await allReady(stage);
      assert.deepEqual(await states(stage), { [third]: '3 Inactive', [fourth]: '4 Inactive', [first]: '5 Active' });
    });
  });

  test('is undone by asking for the version before: that revision is active again, as the newest', async () => {
    const { registry, first, second } = twoVersions();
    await staged({ registry, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
      await allReady(stage);
      await upgrade(stage, 'v2');
      await allReady(stage);
      registry.asked.length = 0;
      await upgrade(stage, 'v1');
      await allReady(stage);
      assert.deepEqual(await states(stage), { [first]: '3 Active', [second]: '2 Inactive' });
      assert.deepEqual(registry.asked, [`resolve ${image('v1')}`]);
      assert.equal((await controllerOf(stage, 'buckets.example.org'))?.[0], `${first} true`);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });
});

describe('with manual activation', () => {
  test('a revision waits for its user, and another one may be activated later', async () => {
    const { registry, first, second } = twoVersions();
    const spec = { package: image('v1'), revisionActivationPolicy: 'Manual' };
    await staged({ registry, objects: [provider('example', spec)] }, async (stage) => {
      assert.deepEqual(await detail(stage, Provider, 'example', 'Installed'), {
        status: 'False',
        reason: 'InactivePackageRevision',
        message: `the revision ${first} is inactive; set its spec.desiredState to Active`,
      });
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      await patch(stage, ProviderRevision, first, { spec: { desiredState: 'Active' } });
      await stage.settle();
      await allReady(stage);
      assert.equal((await detail(stage, Provider, 'example', 'Installed'))?.status, 'True');
      await upgrade(stage, 'v2');
      assert.deepEqual(await states(stage), { [first]: '1 Active', [second]: '2 Inactive' });
      await patch(stage, ProviderRevision, second, { spec: { desiredState: 'Active' } });
      await stage.settle();
      await allReady(stage);
      assert.deepEqual(await states(stage), { [first]: '1 Inactive', [second]: '2 Active' });
      // Back by hand.
      await patch(stage, ProviderRevision, first, { spec: { desiredState: 'Active' } });
      await stage.settle();
      await allReady(stage);
      assert.deepEqual(await states(stage), { [first]: '1 Active', [second]: '2 Inactive' });
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [first]);
    });
  });

  test('a revision that its user deactivates stops running, and its types stay', async () => {
    const { registry, first } = twoVersions();
    const spec = { package: image('v1'), revisionActivationPolicy: 'Manual' };
    await staged({ registry, objects: [provider('example', spec)] }, async (stage) => {
      await patch(stage, ProviderRevision, first, { spec: { desiredState: 'Active' } });
      await stage.settle();
      await allReady(stage);
      await patch(stage, ProviderRevision, first, { spec: { desiredState: 'Inactive' } });
      await stage.settle();
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
    });
  });
});

test('a paused Provider is left alone, by either annotation, and goes on afterwards', async () => {
  const { registry, first } = twoVersions();
  await staged({ registry, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
    await allReady(stage);
    await patch(stage, Provider, 'example', { metadata: { annotations: { 'crossplane.io/paused': 'true' } } });
    await stage.settle();
    stage.transport.clear();
    await upgrade(stage, 'v2');
    assert.deepEqual(Object.keys(await states(stage)), [first]);
    assert.deepEqual(
      stage.transport.writes.filter((line) => !line.endsWith('/status')),
      [],
    );
    assert.equal((await detail(stage, Provider, 'example', 'Synced'))?.reason, 'ReconcilePaused');
    await patch(stage, Provider, 'example', { metadata: { annotations: { 'crossplane.io/paused': null } } });
    await stage.settle();
    assert.equal(Object.keys(await states(stage)).length, 2);
    assert.equal(await detail(stage, Provider, 'example', 'Synced'), undefined);
  });
});

for (const propagationPolicy of ['Background', 'Foreground'] as const)
  test(`a Provider that is deleted takes its revisions, types, permissions and runtime with it (${propagationPolicy})`, async () => {
    const { registry } = twoVersions();
    await staged({ registry, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
      await allReady(stage);
      await upgrade(stage, 'v2');
      await allReady(stage);
      await stage.client.delete(Provider, { name: 'example' }, { propagationPolicy });
      await stage.collected();
      assert.deepEqual(await names(stage, Provider), []);
      assert.deepEqual(await names(stage, ProviderRevision), []);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      assert.deepEqual(await names(stage, Service, SYSTEM), []);
      const left = async (kind: Kind, namespace?: string) =>
        (await names(stage, kind, namespace)).filter((name) => name.includes('example'));
      for (const kind of [CustomResourceDefinition, ClusterRole, ClusterRoleBinding])
        assert.deepEqual(await left(kind), [], kind.kind);
      for (const kind of [ServiceAccount, Secret]) assert.deepEqual(await left(kind, SYSTEM), [], kind.kind);
      assert.deepEqual((await stage.client.get(Lock, { name: 'lock' })).packages ?? [], []);
    });
  });
