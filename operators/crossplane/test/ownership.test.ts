// No object of a user is deleted or replaced, whatever names a runtime configuration gives and in whatever order things happen.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Client,
  ConfigMap,
  Deployment,
  type Kind,
  type KubeObject,
  Namespace,
  type OwnerReference,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import { createRandom, type Stage } from '@capstan/testing';
import { DeploymentRuntimeConfig, Provider } from '../src/kinds/index.ts';
import { allReady, detail, fakeRegistry, meta, names, object, provider, REGISTRY, SYSTEM, staged } from './fixtures.ts';

const image = (name: string) => `${REGISTRY}/team/provider-${name}:v1`;
const ref = (name: string) => ({ namespace: SYSTEM, name });

function registryOf(...packages: readonly string[]) {
  const registry = fakeRegistry();
  for (const name of packages) registry.push(image(name), [meta('Provider', {}, { annotations: { name } })]);
  return registry;
}

const using = (name: string, config: string): [Kind, KubeObject] =>
  provider(name, { package: image(name), runtimeConfigRef: { name: config } });
const config = (name: string, spec: object): [Kind, KubeObject] => [
  DeploymentRuntimeConfig,
  object(DeploymentRuntimeConfig, name, { spec }),
];
const named = (name: string) => ({ deploymentTemplate: { metadata: { name } } });

/** A Deployment that runs pods of its own. */
const usersDeployment = (name: string, metadata: KubeObject['metadata'] = {}): [Kind, KubeObject] => {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'shop:1' }] } };
  return [
    Deployment,
    {
      ...object(Deployment, name, { spec: { selector: { matchLabels: labels }, template } }),
      metadata: { ...ref(name), ...metadata },
    },
  ];
};

const NAMESPACE: [Kind, KubeObject] = [Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } }];

/** Another application, which controls objects. */
async function controllerIn(client: Client): Promise<OwnerReference> {
  const app = await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('app') });
  return { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', uid: app.metadata.uid ?? '', controller: true };
}

async function create(stage: Stage, objects: readonly [Kind, KubeObject][]): Promise<void> {
  for (const [kind, one] of objects) await stage.client.create(kind, one);
  await stage.settle();
}

const healthOf = async (stage: Stage, name: string) => detail(stage, Provider, name, 'Healthy');

describe('a runtime config that names the Deployment of a user', () => {
  test('leaves it, reports the problem on the package, and leaves it when the package goes', async () => {
    const objects = [NAMESPACE, usersDeployment('shop'), config('mine', named('shop')), using('example', 'mine')];
    await staged({ registry: registryOf('example'), objects }, async (stage) => {
      const { metadata, spec } = await stage.client.get(Deployment, ref('shop'));
      for (let turn = 0; turn < 3; turn++) {
        await allReady(stage);
        await stage.restart();
      }
      assert.deepEqual(await names(stage, Deployment, SYSTEM), ['shop'], 'nothing is started beside it');
      const now = await stage.client.get(Deployment, ref('shop'));
      assert.equal(now.metadata.uid, metadata.uid);
      assert.deepEqual(now.spec?.selector, spec?.selector);
      const health = await healthOf(stage, 'example');
      assert.equal(health?.status, 'False');
      assert.match(health?.message ?? '', /shop/);
      await stage.client.delete(Provider, { name: 'example' });
      await stage.collected();
      assert.equal((await stage.client.get(Deployment, ref('shop'))).metadata.uid, metadata.uid);
    });
  });

  test('reports a conflict where another controller has it', async () => {
    await staged({ registry: registryOf('example'), objects: [NAMESPACE] }, async (stage) => {
      const ownerReferences = [await controllerIn(stage.client)];
      await create(stage, [
        usersDeployment('shop', { ownerReferences }),
        config('mine', named('shop')),
        using('example', 'mine'),
      ]);
      await allReady(stage);
      await stage.settle();
      assert.match((await healthOf(stage, 'example'))?.message ?? '', /is controlled by ConfigMap app/);
      const { metadata } = await stage.client.get(Deployment, ref('shop'));
      assert.equal(metadata.labels?.['capstan.dev/inventory'], undefined);
    });
  });
});

test('the first of two packages with one fixed name keeps it, and the second reports the conflict until it is free', async () => {
  const registry = registryOf('first', 'second');
  await staged({ registry, objects: [config('mine', named('fixed')), using('first', 'mine')] }, async (stage) => {
    await allReady(stage);
    const { uid } = (await stage.client.get(Deployment, ref('fixed'))).metadata;
    const [, second] = using('second', 'mine');
    await stage.client.create(Provider, second as Provider);
    for (let turn = 0; turn < 4; turn++) {
      await stage.settle();
      await allReady(stage);
    }
    assert.equal((await stage.client.get(Deployment, ref('fixed'))).metadata.uid, uid);
    assert.deepEqual(await names(stage, Deployment, SYSTEM), ['fixed']);
    assert.equal((await healthOf(stage, 'first'))?.status, 'True');
    assert.match((await healthOf(stage, 'second'))?.message ?? '', /belongs to another owner|is controlled by/);
    stage.transport.clear();
    await stage.restart();
    assert.deepEqual(stage.transport.writes, [], 'the two do not fight');
    await stage.client.delete(Provider, { name: 'first' });
    await stage.collected();
    await allReady(stage);
    await stage.settle();
    assert.notEqual((await stage.client.get(Deployment, ref('fixed'))).metadata.uid, uid);
    assert.equal((await healthOf(stage, 'second'))?.status, 'True');
  });
});

test('an account that a user labelled like ours is not removed', async () => {
  const account = object(ServiceAccount, 'team', {});
  const labels = { 'pkg.crossplane.io/runtime-account': 'true' };
  const objects: [Kind, KubeObject][] = [
    NAMESPACE,
    [ServiceAccount, { ...account, metadata: { ...ref('team'), labels } }],
    provider('example', { package: image('example') }),
  ];
  await staged({ registry: registryOf('example'), objects }, async (stage) => {
    await allReady(stage);
    await stage.restart();
    assert.ok(await stage.client.find(ServiceAccount, ref('team')));
  });
});

/** Random names, owners, orders and restarts. The stage itself fails when anything of a user is deleted or replaced. */
for (const seed of [1, 2, 3, 4]) {
  test(`no object of a user goes, whatever happens (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const pick = <T>(items: readonly T[]): T => items[random.integer(0, items.length - 1)] as T;
    const pool = ['shop', 'fixed', 'hooks'];
    const spec = () => ({
      deploymentTemplate: { metadata: { name: pick(pool) } },
      serviceTemplate: { metadata: { name: pick(pool) } },
      serviceAccountTemplate: { metadata: { name: pick(pool) } },
    });
    await staged({ registry: registryOf('first', 'second'), objects: [NAMESPACE] }, async (stage) => {
      const controller = await controllerIn(stage.client);
      const metadataOf = () => (random.chance(0.3) ? { ownerReferences: [controller] } : {});
      const ports = { selector: { app: 'x' }, ports: [{ port: 80 }] };
      const service = object(Service, 'x', { spec: ports });
      const users: [Kind, KubeObject][] = [
        usersDeployment(pick(pool), metadataOf()),
        [Service, { ...service, metadata: { ...ref(pick(pool)), ...metadataOf() } }],
        [ServiceAccount, { ...object(ServiceAccount, 'x'), metadata: { ...ref(pick(pool)), ...metadataOf() } }],
      ];
      await create(stage, [...users, config('mine', spec()), using('first', 'mine'), using('second', 'mine')]);
      const kept = await Promise.all(
        users.map(async ([kind, one]) => ({ kind, found: await stage.client.get(kind, one.metadata as never) })),
      );
      for (let turn = 0; turn < 6; turn++) {
        const move = random.integer(0, 3);
        if (move === 0) await stage.client.patch(DeploymentRuntimeConfig, { name: 'mine' }, 'merge', { spec: spec() });
        if (move === 1) await stage.restart();
        if (move === 2) await allReady(stage);
        if (move === 3 && turn > 3) await stage.client.delete(Provider, { name: 'first' }).catch(() => undefined);
        await stage.settle();
      }
      await stage.client.delete(Provider, { name: 'second' });
      await stage.collected();
      for (const { kind, found } of kept) {
        const now = await stage.client.find(kind, found.metadata as never);
        assert.equal(now?.metadata.uid, found.metadata.uid, `${kind.kind} ${found.metadata.name} is still there`);
      }
    });
  });
}
