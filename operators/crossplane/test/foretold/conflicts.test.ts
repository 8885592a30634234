// Names of runtime configurations that are in use already: the preview of each edit equals its effects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind, KubeObject } from '@capstan/kube';
import { compareWithPreview, type Stage, toRest } from '@capstan/testing';
import { DeploymentRuntimeConfig, Provider } from '../../src/kinds/index.ts';
import { crd, deploymentOfUser, fakeRegistry, meta, object, provider, REGISTRY, staged } from '../fixtures.ts';

const image = (name: string) => `${REGISTRY}/team/${name}:v1`;
const options = { fieldManager: 'kubectl', force: true };

function filledRegistry() {
  const registry = fakeRegistry();
  for (const [name, kind] of [
    ['provider-a', 'Bucket'],
    ['provider-b', 'Queue'],
  ] as const)
    registry.push(image(name), [meta('Provider'), crd(kind)]);
  return registry;
}

const named = (name: string): [Kind, KubeObject] => [
  DeploymentRuntimeConfig,
  object(DeploymentRuntimeConfig, 'mine', { spec: { deploymentTemplate: { metadata: { name } } } }),
];
const using = (name: string) =>
  provider(name, { package: image(`provider-${name}`), runtimeConfigRef: { name: 'mine' } });

async function assertApplied(stage: Stage, [kind, one]: readonly [Kind, KubeObject]): Promise<void> {
  const { client } = stage;
  const { differences } = await compareWithPreview({
    stage,
    changes: [{ kind, object: await client.apply(kind, one, { ...options, dryRun: true }) }],
    make: async () => void (await client.apply(kind, one, options)),
  });
  assert.deepEqual(differences, []);
}

async function healthOf({ client }: Stage, name: string): Promise<string | undefined> {
  const { status } = await client.get<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }>(
    Provider,
    { name },
  );
  return status?.conditions?.find(({ type }) => type === 'Healthy')?.status;
}

test("a name that a user's Deployment has is foretold to be refused, and so is what follows when it is given up", async () => {
  const objects = [deploymentOfUser('web'), named('first'), using('a')];
  await staged({ registry: filledRegistry(), objects }, async (stage) => {
    await stage.settle();
    await toRest(stage);
    assert.equal(await healthOf(stage, 'a'), 'True');
    await assertApplied(stage, named('web'));
    assert.equal(await healthOf(stage, 'a'), 'False');
    await assertApplied(stage, named('second'));
    assert.equal(await healthOf(stage, 'a'), 'True');
  });
});

test('the second package that asks for a name is foretold to be refused, and to get the name when the first one goes', async () => {
  const objects = [named('one'), using('a')];
  await staged({ registry: filledRegistry(), objects }, async (stage) => {
    await stage.settle();
    await toRest(stage);
    await assertApplied(stage, using('b'));
    assert.equal(await healthOf(stage, 'b'), 'False');
    const { differences } = await compareWithPreview({
      stage,
      changes: [{ kind: Provider, ref: { name: 'a' }, gone: true }],
      make: async () => void (await stage.client.delete(Provider, { name: 'a' })),
    });
    assert.deepEqual(differences, []);
    assert.equal(await healthOf(stage, 'b'), 'True');
  });
});
