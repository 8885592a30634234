// Objects of a running upstream installation, as its package manager makes them, are taken over where they are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployment, type Kind, type KubeObject, Service, ServiceAccount } from '@capstan/kube';
import { Provider } from '../src/kinds/index.ts';
import { allReady, EXAMPLE, example, provider, SYSTEM, said, staged } from './fixtures.ts';

/** Controlled by the revision, and nothing of ours on it. */
function asUpstream(object: KubeObject): KubeObject {
  const { name, namespace, labels = {}, ownerReferences = [] } = object.metadata;
  const { status: _status, ...content } = object as KubeObject & { status?: unknown };
  const theirs = (key: string) => !key.includes('capstan.dev');
  return {
    ...content,
    metadata: {
      ...(name && { name }),
      ...(namespace && { namespace }),
      labels: Object.fromEntries(Object.entries(labels).filter(([key]) => theirs(key))),
      ownerReferences: ownerReferences.filter(({ kind }) => kind === 'ProviderRevision'),
    },
  };
}

test('Deployments, Services and accounts of an upstream installation go on as ours: none is deleted', async () => {
  const { registry, name } = example();
  await staged({ registry, objects: [provider('example', { package: EXAMPLE })] }, async (stage) => {
    await allReady(stage);
    const { client } = stage;
    const ref = { namespace: SYSTEM, name };
    const kinds: Kind[] = [Service, ServiceAccount, Deployment];
    await stage.program.stop();
    const uids = new Map<string, string | undefined>();
    for (const kind of kinds) {
      const made = await client.get(kind, ref);
      await client.delete(kind, ref);
      uids.set(kind.kind, (await client.create(kind, asUpstream(made))).metadata.uid);
    }
    await allReady(stage);
    await stage.restart();
    await allReady(stage);
    await stage.settle();
    for (const kind of kinds) {
      const { metadata } = await client.get(kind, ref);
      assert.equal(metadata.uid, uids.get(kind.kind), `the ${kind.kind} is the same`);
      assert.deepEqual(metadata.ownerReferences?.map((one) => one.kind).toSorted(), ['Provider', 'ProviderRevision']);
      assert.ok(metadata.labels?.['capstan.dev/inventory'], `the ${kind.kind} is ours`);
    }
    assert.equal((await said(stage, Provider, 'example', 'Healthy'))?.message, '');
    stage.transport.clear();
    await stage.restart();
    assert.deepEqual(stage.transport.writes, []);
  });
});
