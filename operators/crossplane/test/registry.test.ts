// The whole way with a registry of our own on loopback: packages built, pushed, pulled, verified and kept.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Deployment, Secret } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { createRegistrySource } from '../src/facts/registry-source.ts';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { createCrossplane } from '../src/operator.ts';
import { type RunningRegistry, startRegistry } from '../src/registry/index.ts';
import { xpkgCommand } from '../src/xpkg/commands/index.ts';
import { BOUND, detail, object, provider, SYSTEM } from './fixtures.ts';

let registry: RunningRegistry;
let folder: string;
const requests: string[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'capstan-crossplane-'));
  registry = await startRegistry({
    access: { type: 'token', users: { reader: 'secret' } },
    onRequest: ({ method, path }) => requests.push(`${method} ${path}`),
  });
  await writeFile(
    join(folder, 'crossplane.yaml'),
    'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-example}\n',
  );
  await writeFile(
    join(folder, 'bucket.yaml'),
    `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.example.org}
spec:
  group: example.org
  names: {kind: Bucket, plural: buckets}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
  );
});

after(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});

async function xpkg(...argv: string[]): Promise<void> {
  const printed: string[] = [];
  const auths = { [registry.address]: { auth: Buffer.from('reader:secret').toString('base64') } };
  await writeFile(join(folder, 'config.json'), JSON.stringify({ auths }));
  const code = await xpkgCommand(argv, {
    stdout: (text) => printed.push(text),
    stderr: (text) => printed.push(text),
    env: { DOCKER_CONFIG: folder, HOME: folder },
    cwd: folder,
    signal: new AbortController().signal,
  });
  assert.equal(code, 0, printed.join(''));
}

describe('a package', () => {
  test('built and pushed by xpkg is pulled with its secret, kept on disk, and not pulled again', async () => {
    const file = join(folder, 'example.xpkg');
    const image = `${registry.address}/team/provider-example:v1.0.0`;
    await xpkg('build', '-f', folder, '-o', file);
    await xpkg('push', '-f', file, image);
    const cacheDir = join(folder, 'cache');
    const login = {
      ...object(Secret, 'login'),
      metadata: { namespace: SYSTEM, name: 'login' },
      type: 'kubernetes.io/dockerconfigjson',
      data: {
        '.dockerconfigjson': Buffer.from(
          JSON.stringify({ auths: { [registry.address]: { username: 'reader', password: 'secret' } } }),
        ).toString('base64'),
      },
    };
    const stage = await createStage({
      operators: [
        createCrossplane({ source: createRegistrySource({ cacheDir, registry: 'none.example' }), bound: BOUND }),
      ],
      async given(client) {
        await client.create(Secret, login);
        await client.create(...provider('example', { package: image, packagePullSecrets: [{ name: 'login' }] }));
      },
    });
    try {
      const until = async (isSo: () => Promise<boolean>) => {
        for (let turn = 0; turn < 500; turn++) {
          await stage.settle();
          if (await isSo()) return;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        const { status } = await stage.client.get(Provider, { name: 'example' });
        assert.fail(JSON.stringify(status?.conditions));
      };
      await until(async () => (await stage.client.list(Deployment, { namespace: SYSTEM })).items.length === 1);
      const [revision] = (await stage.client.list(ProviderRevision, {})).items;
      assert.equal(
        (await detail(stage, ProviderRevision, revision?.metadata.name ?? '', 'RevisionHealthy'))?.status,
        'True',
      );
      assert.equal((await readdir(cacheDir)).filter((name) => name.endsWith('.xpkg')).length, 1);
      requests.length = 0;
      await stage.restart();
      await until(async () => stage.program.runtime.isIdle && stage.program.runtime.unsettled === 0);
      assert.deepEqual(requests, []);
      assert.deepEqual(stage.transport.writes, []);
    } finally {
      await stage.end();
    }
  });
});
