// The demonstration works as described, with its registry.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Client, Deployment, type Kind, type KubeObject, ServiceAccount } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { parseAllDocuments } from 'yaml';
import prepare from '../demo/prepare.ts';
import { createRegistrySource } from '../src/facts/registry-source.ts';
import { DeploymentRuntimeConfig, FunctionPackage, Provider } from '../src/kinds/index.ts';
import { createCrossplane } from '../src/operator.ts';
import { BOUND, detail, ready, SYSTEM } from './fixtures.ts';

const KINDS: Readonly<Record<string, Kind>> = { Provider, Function: FunctionPackage, DeploymentRuntimeConfig };

test('the demonstration: a Provider with a runtime configuration, and a Function', async () => {
  const data = await mkdtemp(join(tmpdir(), 'capstan-demo-'));
  const stopping = new AbortController();
  try {
    const { REGISTRY } = await prepare({ data, signal: stopping.signal });
    const source = createRegistrySource({ cacheDir: join(data, 'cache'), registry: REGISTRY });
    const stage = await createStage({
      operators: [createCrossplane({ source, bound: BOUND })],
      given: (client) => applyDemo(client, REGISTRY),
    });
    try {
      const isHealthy = async (kind: Kind, name: string) =>
        (await detail(stage, kind, name, 'Healthy'))?.status === 'True';
      for (let turn = 0; turn < 500; turn++) {
        await stage.settle();
        for (const deployment of (await stage.client.list(Deployment, { namespace: SYSTEM })).items)
          await ready(stage.client, deployment);
        await stage.settle();
        if ((await isHealthy(Provider, 'storage')) && (await isHealthy(FunctionPackage, 'tags'))) break;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.ok(await isHealthy(Provider, 'storage'));
      assert.ok(await isHealthy(FunctionPackage, 'tags'));
      const { items } = await stage.client.list(Deployment, { namespace: SYSTEM, labelSelector: 'team=storage' });
      assert.deepEqual(
        items.map(({ spec }) => spec?.replicas),
        [2],
      );
      const account = await stage.client.get(ServiceAccount, { namespace: SYSTEM, name: 'storage' });
      assert.equal(account.metadata.annotations?.['cloud.example/role'], 'storage-admin');
    } finally {
      await stage.end();
    }
  } finally {
    stopping.abort();
    await rm(data, { recursive: true, force: true });
  }
});

async function applyDemo(client: Client, registry: string): Promise<void> {
  for (const file of ['runtime-config.yaml', 'packages.yaml']) {
    const text = await readFile(new URL(`../demo/${file}`, import.meta.url), 'utf8');
    for (const document of parseAllDocuments(text.replaceAll('${REGISTRY}', registry))) {
      const object = document.toJS() as KubeObject;
      const kind = KINDS[object.kind];
      assert.ok(kind, object.kind);
      await client.create(kind, object);
    }
  }
}
