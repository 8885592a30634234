// Random edits of packages and runtime configurations: each is previewed, made and compared.
// On the embedded server only: minutes pass at once there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deployment, type Kind, type KubeObject, ServiceAccount } from '@capstan/kube';
import {
  assertForetold,
  compareWithPreview,
  createRandom,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  type Stage,
  toRest,
} from '@capstan/testing';
import { DeploymentRuntimeConfig, FunctionPackage, Provider } from '../../src/kinds/index.ts';
import { crd, deploymentOfUser, fakeRegistry, meta, object, provider, REGISTRY, SYSTEM, staged } from '../fixtures.ts';

const image = (name: string, version: string) => `${REGISTRY}/team/${name}:${version}`;

function filledRegistry() {
  const registry = fakeRegistry();
  for (const [name, kind] of [
    ['provider-a', 'Bucket'],
    ['provider-b', 'Queue'],
  ] as const) {
    registry.push(image(name, 'v1'), [meta('Provider'), crd(kind), crd(`Old${kind}`)]);
    registry.push(image(name, 'v2'), [
      meta('Provider'),
      crd(kind, 'example.org', { fields: { tier: { type: 'string' } } }),
    ]);
  }
  registry.push(image('function-a', 'v1'), [meta('Function')]);
  registry.push(image('function-a', 'v2'), [meta('Function', {}, { annotations: { version: '2' } })]);
  return registry;
}

type Make = (random: SeededRandom) => readonly [Kind, KubeObject];
const OBJECTS: readonly Make[] = [
  ...['a', 'b'].map(
    (name): Make =>
      (random) =>
        provider(name, packageSpec(`provider-${name}`, random)),
  ),
  (random) => [FunctionPackage, object(FunctionPackage, 'function', { spec: packageSpec('function-a', random) })],
  (random) => [DeploymentRuntimeConfig, object(DeploymentRuntimeConfig, 'mine', { spec: configSpec(random) })],
];

function packageSpec(name: string, random: SeededRandom): object {
  return {
    package: image(name, random.pick(['v1', 'v2'])),
    ...(random.chance(0.5) && { runtimeConfigRef: { name: random.pick(['mine', 'default']) } }),
    ...(random.chance(0.3) && { revisionHistoryLimit: random.integer(0, 2) }),
    ...(random.chance(0.1) && { revisionActivationPolicy: 'Manual' }),
  };
}

function configSpec(random: SeededRandom): object {
  const some = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.4)));
  return some({
    deploymentTemplate: some({
      // Both providers and the function may have one name, which is that of a user's Deployment in some edits.
      metadata: some({ name: random.pick(['fixed', 'taken']), labels: { team: random.pick(['x', 'y']) } }),
      spec: some({ replicas: random.integer(0, 3), template: { spec: some({ nodeSelector: { disk: 'fast' } }) } }),
    }),
    serviceAccountTemplate: { metadata: some({ name: 'shared', labels: { team: 'x' } }) },
    serviceTemplate: { metadata: some({ labels: { team: random.pick(['x', 'y']) } }) },
  });
}

const ready = async (stage: Stage) => {
  await stage.settle();
  await toRest(stage);
};

describe('a preview of Crossplane', () => {
  for (const { seed, edits, variety } of foretoldRuns(15))
    test(`${edits} random edits of packages do what their previews show (seed ${seed})`, async (t) => {
      const random = createRandom(seed);
      const next = (): RandomEdit => {
        const [kind, one] = random.pick(OBJECTS)(random);
        return random.chance(0.15) ? { kind, gone: { name: one.metadata.name ?? '' } } : { kind, object: one };
      };
      const objects = [provider('a', { package: image('provider-a', 'v1') }), deploymentOfUser('taken')];
      await staged({ registry: filledRegistry(), objects }, async (stage) => {
        await ready(stage);
        const { unknown } = await assertForetold({ stage, edits, next, variety, report: (line) => t.diagnostic(line) });
        assert.ok(unknown <= edits / 5, `${unknown} differences concern objects that were listed as not known`);
      });
    });

  test('an upgrade shows all that it changes: the tag is resolved and the package is pulled', async () => {
    const objects = [provider('a', { package: image('provider-a', 'v1') })];
    await staged({ registry: filledRegistry(), objects }, async (stage) => {
      await ready(stage);
      const changed = { spec: { package: image('provider-a', 'v2') } };
      const after = await stage.client.patch(Provider, { name: 'a' }, 'merge', changed, { dryRun: true });
      const make = async () => void (await stage.client.patch(Provider, { name: 'a' }, 'merge', changed));
      const { predicted, differences } = await compareWithPreview({
        stage,
        changes: [{ kind: Provider, object: after }],
        make,
      });
      assert.deepEqual(differences, []);
      assert.ok(predicted.writes.filter(({ verb }) => verb !== 'status').length >= 5);
      assert.ok(predicted.later.some(({ verb, object: what }) => verb === 'delete' && what.startsWith('Deployment ')));
    });
  });

  test('the first package shows its Deployment, although its certificates do not exist yet', async () => {
    await staged({ registry: filledRegistry(), objects: [] }, async (stage) => {
      await stage.settle();
      const [kind, one] = provider('a', { package: image('provider-a', 'v1') });
      const options = { fieldManager: 'kubectl', force: true };
      const { predicted, differences } = await compareWithPreview({
        stage,
        changes: [{ kind, object: await stage.client.apply(kind, one, { ...options, dryRun: true }) }],
        make: async () => void (await stage.client.apply(kind, one, options)),
      });
      assert.deepEqual(differences, []);
      assert.deepEqual(predicted.mayFollow, []);
      assert.ok(predicted.writes.some(({ object: what, creates }) => what.startsWith('Deployment ') && creates));
    });
  });

  test('the deletion of one package keeps the ServiceAccount that two others use', async () => {
    const shared = object(DeploymentRuntimeConfig, 'mine', {
      spec: { serviceAccountTemplate: { metadata: { name: 'shared' } } },
    });
    const ref = { runtimeConfigRef: { name: 'mine' } };
    const objects: [Kind, KubeObject][] = [
      [DeploymentRuntimeConfig, shared],
      provider('a', { package: image('provider-a', 'v1'), ...ref }),
      provider('b', { package: image('provider-b', 'v1'), ...ref }),
      [FunctionPackage, object(FunctionPackage, 'function', { spec: { package: image('function-a', 'v1'), ...ref } })],
    ];
    await staged({ registry: filledRegistry(), objects }, async (stage) => {
      await ready(stage);
      const { predicted, differences } = await compareWithPreview({
        stage,
        changes: [{ kind: Provider, ref: { name: 'a' }, gone: true }],
        make: async () => void (await stage.client.delete(Provider, { name: 'a' })),
      });
      assert.deepEqual(differences, []);
      const all = [...predicted.writes, ...predicted.later];
      const gone = all.filter(({ verb }) => verb === 'delete').map(({ object: what }) => what);
      assert.ok(!gone.includes(`ServiceAccount ${SYSTEM}/shared`), gone.join());
      assert.ok(await stage.client.find(ServiceAccount, { namespace: SYSTEM, name: 'shared' }));
      assert.equal((await stage.client.list(Deployment, { namespace: SYSTEM })).items.length, 2);
    });
  });
});
