import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import crossplane, { DeploymentRuntimeConfig, Lock, Provider } from '@capstan/crossplane';
import {
  type Client,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  isNotFound,
  type KubeObject,
  Namespace,
  Secret,
  systemClock,
} from '@capstan/kube';
import { ensureCrds, fieldManager, finalizerOf, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import submariner from '@capstan/submariner';
import { createRandom, createTestCluster } from '@capstan/testing';
import { applyInstallation } from './apply.ts';
import { installationOf } from './install-options.ts';
import { isOwnObject } from './own-objects.ts';
import { type RemoveInstallationOptions, removedObjects, removeInstallation } from './remove.ts';

const OWN = { fieldManager: fieldManager('crossplane', 'essentials') };
const HOME = 'crossplane-system';

/** A cluster in which Crossplane was installed and created its own objects; its pods do not run. */
async function withCrossplane(
  work: (
    client: Client,
    remove: (objects?: RemoveInstallationOptions['objects']) => Promise<string[]>,
    listed: () => Promise<string[]>,
  ) => Promise<void>,
  given: (client: Client) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const { client, close } = await createTestCluster({ clock: systemClock, random: createRandom(1) });
  const { signal } = new AbortController();
  const installation = installationOf([crossplane], { flags: {}, operatorFlags: {} }, undefined);
  const options = { client, clock: systemClock, installation, signal };
  try {
    await given(client);
    const installing = applyInstallation({ ...options, timeoutMs: 1, report() {} });
    await assert.rejects(installing, /did not become ready/);
    await ensureCrds({ client, clock: systemClock, operators: [crossplane], install: false, wait: true, signal });
    await client.create(Lock, { ...typed(Lock), metadata: { name: 'lock' } }, OWN);
    await client.create(
      DeploymentRuntimeConfig,
      { ...typed(DeploymentRuntimeConfig), metadata: { name: 'default' }, spec: {} },
      OWN,
    );
    const authority = { namespace: HOME, name: 'crossplane-root-ca' };
    await client.create(Secret, { ...typed(Secret), metadata: authority, data: { 'tls.crt': 'YQ==' } }, OWN);
    const remove = async (objects?: RemoveInstallationOptions['objects']) => {
      const lines: string[] = [];
      await removeInstallation({ ...options, objects, timeoutMs: 5_000, report: (line) => lines.push(line) });
      return lines;
    };
    await work(client, remove, () => removedObjects({ ...options, objects: undefined }));
  } finally {
    await close();
  }
}

const typed = <A extends string, K extends string>({ apiVersion, kind }: { apiVersion: A; kind: K }) => ({
  apiVersion,
  kind,
});
const definitions = async (client: Client) => (await client.list(CustomResourceDefinition)).items.length;
const namespaces = async (client: Client) =>
  (await client.list(Namespace)).items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);

describe('an uninstallation', () => {
  test('removes what the operator made for itself, and the namespaces that were made for it', () =>
    withCrossplane(async (client, remove) => {
      const lines = await remove();
      assert.equal(await definitions(client), 0);
      assert.deepEqual(
        (await namespaces(client)).filter((name) => name === HOME || name === SYSTEM_NAMESPACE),
        [],
        lines.join('\n'),
      );
    }));

  test('counts an object that a user edited as the user’s', () =>
    withCrossplane(async (client, remove) => {
      const labels = { team: 'a' };
      await client.patch(DeploymentRuntimeConfig, { name: 'default' }, 'merge', { metadata: { labels } }, EDITOR);
      await assert.rejects(remove(), /1 DeploymentRuntimeConfig\.pkg\.crossplane\.io/);
      assert.ok(await client.find(Deployment, { namespace: SYSTEM_NAMESPACE, name: 'capstan-crossplane' }));
      assert.ok(await client.find(Lock, { name: 'lock' }), 'nothing is removed');
    }));

  test('leaves a namespace with objects of others, and one that was there before', () =>
    withCrossplane(
      async (client, remove) => {
        const notes = { namespace: HOME, name: 'notes' };
        await client.create(ConfigMap, { ...typed(ConfigMap), metadata: notes, data: { a: 'b' } }, EDITOR);
        const lines = await remove();
        assert.ok(lines.includes(`the namespace ${HOME} stays, because it holds ConfigMap notes`), lines.join('\n'));
        const left = await namespaces(client);
        assert.ok(left.includes(HOME));
        assert.ok(left.includes(SYSTEM_NAMESPACE));
        await client.get(ConfigMap, notes);
      },
      (client) => client.create(Namespace, { ...typed(Namespace), metadata: { name: SYSTEM_NAMESPACE } }, EDITOR),
    ));

  test('can be repeated after it was interrupted anywhere', () =>
    withCrossplane(async (client, remove) => {
      await client.delete(Deployment, { namespace: SYSTEM_NAMESPACE, name: 'capstan-crossplane' });
      await client.delete(Lock, { name: 'lock' });
      await remove();
      assert.deepEqual(await remove(), [
        'the operators crossplane are stopped',
        'everything else of the installation is removed',
      ]);
      assert.equal(await definitions(client), 0);
    }));

  test('releases objects whose operator does not run any more, and reports it', () =>
    withCrossplane(async (client, remove) => {
      const finalizers = crossplane.reconcilers.slice(0, 1).map(finalizerOf);
      const provider = {
        ...typed(Provider),
        metadata: { name: 'p', finalizers },
        spec: { package: 'example.com/p:v1' },
      };
      await client.apply(Provider, provider, { ...EDITOR, force: false });
      // The Deployment is there: its pods may come up and release it.
      await assert.rejects(remove('delete'), /1 Provider\.pkg\.crossplane\.io/);
      await client.delete(Deployment, { namespace: SYSTEM_NAMESPACE, name: 'capstan-crossplane' });
      const lines = await remove('delete');
      assert.match(lines.join('\n'), /1 of them were released here.*\(Provider\.pkg\.crossplane\.io p\)/);
      assert.equal(await definitions(client), 0);
    }));

  test('an uninstallation with --dry-run lists what it removes, and changes nothing', () =>
    withCrossplane(async (client, remove, listed) => {
      const before = await listed();
      assert.deepEqual(await listed(), before);
      for (const line of [
        'Lock.pkg.crossplane.io lock',
        'DeploymentRuntimeConfig.pkg.crossplane.io default',
        `Secret ${HOME}/crossplane-root-ca`,
        `Namespace ${HOME}, if nothing else is in it`,
        `Deployment.apps ${SYSTEM_NAMESPACE}/capstan-crossplane`,
        `Namespace ${SYSTEM_NAMESPACE}, if nothing else is in it`,
      ])
        assert.ok(before.includes(line), `${line} is not in\n${before.join('\n')}`);
      await remove();
      const kinds = { Deployment, Secret } as const;
      for (const line of before) {
        const [, kind = '', namespace = '', name = ''] = /^(\w+)\S* (?:(.+)\/)?([^,]+)$/.exec(line) ?? [];
        const known = kinds[kind as keyof typeof kinds];
        if (known === undefined) continue;
        await assert.rejects(client.get(known, { namespace, name }), isNotFound, line);
      }
    }));
});

test('an object of an operator’s programs is its own, and a field of another writer makes it the user’s', () => {
  const object = (...managers: string[]): KubeObject => ({
    ...typed(Lock),
    metadata: { name: 'a', managedFields: managers.map((manager) => ({ manager, operation: 'Update' as const })) },
  });
  for (const [managers, isOwn] of [
    [[], true],
    [['capstan.submariner.submariner'], true],
    [['submariner-gateway', 'capstan.submariner-gateway.sync-policy', 'kube-controller-manager'], true],
    [['capstan.sesame.sesame-deployment'], false],
    [['submariner'], false],
    [['submariner-gateway', 'kubectl-edit'], false],
    [['subctl'], false],
  ] as const)
    assert.equal(isOwnObject(object(...managers), [submariner]), isOwn, managers.join());
});

const EDITOR = { fieldManager: 'kubectl-edit' };
