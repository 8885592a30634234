// From the previous version to this one on a real control plane: objects continue, nothing is rolled without a reason, a failed upgrade is
// reverted, and an interrupted one can be repeated.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { KafkaProxy } from '@capstan/kroxylicious';
import { CustomResourceDefinition, Deployment, type KubeObject } from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { installationOf } from '../src/install/install-options.ts';
import { installationObjects } from '../src/install/manifests.ts';
import { buildPreviousVersion, noPreviousVersion } from './previous-version.ts';
import { capstanImage, type RealInstallation, run, SYSTEM, startRealInstallation, until } from './real-installation.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : (noPreviousVersion() ?? false);
const OPERATOR = 'kroxylicious';
const OPERATORS = ['--operators', OPERATOR];
const PREVIOUS = 'capstan-previous:1';
/** It listens on every address of the machine otherwise, which pods share with other tests here. */
const OWN_ADDRESS = ['--health-address=$(POD_IP):8081', '--metrics-address=$(POD_IP):8080'];
const PROXY = { namespace: 'default', name: 'my-proxy' };
const RUNNING = { namespace: SYSTEM, name: `capstan-${OPERATOR}` };
const DEFINITION = { name: `${KafkaProxy.plural}.${KafkaProxy.group}` };
const DEMO = join(import.meta.dirname, '../../../operators/kroxylicious/demo');

test('an upgrade from the previous version changes the operators and nothing of what they look after', {
  skip,
}, async (t) => {
  const built: { bundle?: string } = {};
  const installation = await startRealInstallation({
    images(folder) {
      built.bundle = buildPreviousVersion(folder);
      return [capstanImage('capstan-previous', built.bundle, { extraArgs: OWN_ADDRESS })];
    },
    unknownImagesFail: true,
  });
  t.after(() => installation.close());
  const { real, capstan, kubectl, readyOf } = installation;
  const { client } = real;
  await installPrevious(installation, join(built.bundle ?? '', 'bin', 'capstan.js'));
  await until(async () => (await readyOf(OPERATOR)) === 2, 'the previous version runs');
  await kubectl('apply', '-f', DEMO);
  await until(async () => (await client.find(Deployment, PROXY)) !== undefined, 'the Deployment of the proxy');
  const first = await client.get(Deployment, PROXY);
  const definition = await client.get(CustomResourceDefinition, DEFINITION);
  let generation = first.metadata.generation ?? 0;
  const imageOf = async () => (await client.get(Deployment, RUNNING)).spec?.template.spec?.containers[0]?.image;

  await t.test('an image that cannot be pulled: definitions stay, the operator is as it was', async () => {
    const failed = await capstan(
      'upgrade',
      '--yes',
      ...OPERATORS,
      '--image',
      'registry.example.com/none:1',
      '--timeout',
      '10s',
    );
    assert.equal(failed.code, 1);
    assert.match(failed.err, /did not become ready: pod \S+ waits: ImagePullBackOff: .*registry\.example\.com\/none:1/);
    assert.match(failed.err, /its Deployment is as it was before/);
    assert.equal(await imageOf(), PREVIOUS);
    await until(async () => (await readyOf(OPERATOR)) === 2, 'the previous version runs');
    const { metadata } = await client.get(CustomResourceDefinition, DEFINITION);
    assert.notEqual(metadata.generation, definition.metadata.generation, 'the definition is the new one');
    // Operators of the previous version work with the new definitions.
    await edit(3);
  });

  await t.test(
    'an upgrade that is killed half-way leaves the operator running, and is finished by another',
    async () => {
      const child = spawn(
        process.execPath,
        [installation.program, 'upgrade', '--yes', ...OPERATORS, '--image', 'capstan:1'],
        {
          env: { ...process.env, KUBECONFIG: real.kubeconfigFile },
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
      // It has applied the definitions, and is about to apply the workloads.
      child.stderr.setEncoding('utf8').once('data', () => child.kill('SIGKILL'));
      await once(child, 'exit');
      await edit(4);
      const finished = await capstan('upgrade', '--yes', ...OPERATORS, '--image', 'capstan:1', '--timeout', '120s');
      assert.equal(finished.code, 0, finished.err);
      assert.equal(await imageOf(), 'capstan:1');
    },
  );

  await t.test('objects go on: nothing is rolled, and an edit is one write', async () => {
    const after = await client.get(Deployment, PROXY);
    assert.equal(after.metadata.uid, first.metadata.uid);
    assert.deepEqual(after.spec?.template, first.spec?.template, 'the pods are not rolled');
    assert.equal(after.metadata.generation, generation, 'nothing was written but the edits');
    await edit(5);
  });

  async function edit(replicas: number): Promise<void> {
    await client.patch(KafkaProxy, PROXY, 'merge', { spec: { replicas } });
    await until(async () => (await client.get(Deployment, PROXY)).spec?.replicas === replicas, `${replicas} replicas`);
    generation += 1;
    assert.equal((await client.get(Deployment, PROXY)).metadata.generation, generation);
  }
});

/** The former way to install: manifests of definitions and permissions; the Deployment was the user's own. */
async function installPrevious({ real, kubectl, folder }: RealInstallation, program: string): Promise<void> {
  const print = async (...args: string[]) => {
    const { code, out, err } = await run(process.execPath, [program, ...args], real.kubeconfigFile);
    assert.equal(code, 0, err);
    const file = join(folder, `${args[0]}.yaml`);
    writeFileSync(file, out);
    return file;
  };
  await kubectl('create', 'namespace', SYSTEM);
  await kubectl('apply', '--server-side', '-f', await print('crds', ...OPERATORS));
  await kubectl('apply', '--server-side', '-f', await print('rbac', ...OPERATORS, '-n', SYSTEM));
  const { default: operator } = await import('@capstan/kroxylicious');
  const { workloads } = installationObjects(
    installationOf([operator], { flags: { image: PREVIOUS }, operatorFlags: {} }, undefined),
  );
  const deployment = [...workloads.values()].flat().find(({ kind }) => kind === Deployment.kind);
  await real.client.create(Deployment, withoutLabels(deployment as KubeObject));
}

function withoutLabels(object: KubeObject): KubeObject {
  const { name, namespace = '' } = object.metadata;
  return { ...object, metadata: { namespace, ...(name !== undefined && { name }) } };
}
