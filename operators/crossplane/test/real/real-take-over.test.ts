// Objects that Crossplane itself rendered are taken over where they are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployment, type Kind, type KubeObject, ServiceAccount } from '@capstan/kube';
import { compareStart } from '@capstan/testing';
import { ProviderRevision } from '../../src/kinds/index.ts';
import { allReady, EXAMPLE, example, operatorWith, provider, ready, SYSTEM, staged } from '../fixtures.ts';
import { renderWith, skip, VERSIONS } from './crossplane.ts';

for (const version of VERSIONS)
  test(`the Deployment and the account that Crossplane ${version} rendered go on as ours`, { skip }, async () => {
    const { registry, name } = example();
    await staged(
      { registry, objects: [provider('example', { package: EXAMPLE })], ruled: '0034: upstream' },
      async (stage) => {
        await allReady(stage);
        const { client } = stage;
        const ref = { namespace: SYSTEM, name };
        const { uid = '' } = (await client.get(ProviderRevision, { name })).metadata;
        const [image = ''] =
          (await client.get(Deployment, ref)).spec?.template.spec?.containers.map(
            (container) => container.image ?? '',
          ) ?? [];
        const revision = {
          kind: 'Provider' as const,
          packageName: 'example',
          name,
          uid,
          image,
          pullSecrets: [],
          tlsServerSecretName: 'example-tls-server',
          tlsClientSecretName: 'example-tls-client',
        };
        const [theirs] = renderWith(version, [{ revision, namespace: SYSTEM }]);
        assert.ok(theirs?.serviceAccount);
        const uids: (string | undefined)[] = [];
        const objects: [Kind, KubeObject][] = [
          [ServiceAccount, { ...theirs.serviceAccount, apiVersion: 'v1', kind: 'ServiceAccount' }],
          [Deployment, { ...theirs.deployment, apiVersion: 'apps/v1', kind: 'Deployment' }],
        ];
        const { differences, unknown } = await compareStart({
          stage,
          operators: [operatorWith({ registry, settings: { now: () => stage.clock.now() } })],
          async given() {
            for (const [kind, object] of objects) {
              await client.delete(kind, ref);
              uids.push((await client.create(kind, object)).metadata.uid);
            }
            await ready(client, await client.get(Deployment, ref));
          },
        });
        assert.deepEqual([...differences, ...unknown], [], 'each write was previewed');
        await allReady(stage);
        await stage.settle();
        for (const [at, [kind]] of objects.entries()) {
          const { metadata } = await client.get(kind, ref);
          assert.equal(metadata.uid, uids[at], `the ${kind.kind} is the same`);
          assert.ok(metadata.labels?.['capstan.dev/inventory'], `the ${kind.kind} is ours`);
        }
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
      },
    );
  });
