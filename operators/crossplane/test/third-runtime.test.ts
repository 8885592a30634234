// Runtimes are a table: the flag chooses a runtime that is added in one file, and it is treated as the first one is.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRoleBinding,
  Deployment,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { rulesOf } from '@capstan/reconcile';
import type { Stage } from '@capstan/testing';
import { ControllerConfig, DeploymentRuntimeConfig, Provider, ProviderRevision } from '../src/kinds/index.ts';
import { createCrossplane } from '../src/operator.ts';
import { parsePackageRuntime, RUNTIMES, runtimeConfigFeature } from '../src/runtime/index.ts';
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
  revisionName,
  SYSTEM,
  staged,
} from './fixtures.ts';
import { StatefulSetRuntimeConfig, statefulSetRuntime } from './stateful-set-runtime.ts';

const image = (version: string) => `${REGISTRY}/team/provider-example:${version}`;
const runtimes = { ...RUNTIMES, StatefulSet: statefulSetRuntime };
const packageRuntime = parsePackageRuntime('Provider=StatefulSet', runtimes);
if ('fault' in packageRuntime) throw new Error(packageRuntime.fault);
const settings = { runtimes, packageRuntime };

const webhook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'validating' },
  webhooks: [
    { name: 'v.example.org', admissionReviewVersions: ['v1'], sideEffects: 'None', clientConfig: {}, rules: [] },
  ],
};

function twoVersions() {
  const registry = fakeRegistry();
  const push = (version: string, kind: string) =>
    revisionName('example', registry.push(image(version), [meta('Provider'), crd(kind), webhook]));
  return { registry, first: push('v1', 'Bucket'), second: push('v2', 'Pail') };
}

async function podsReady(stage: Stage): Promise<void> {
  for (const { metadata, spec } of (await stage.client.list(StatefulSet, { namespace: SYSTEM })).items) {
    const replicas = spec?.replicas ?? 1;
    const status = { observedGeneration: metadata.generation, replicas, readyReplicas: replicas };
    const ref = { namespace: SYSTEM, name: metadata.name ?? '' };
    await stage.client.patch(StatefulSet, ref, 'merge', { status }, { subresource: 'status' });
  }
  await stage.settle();
}

describe('a third runtime', () => {
  test('is chosen by its name, runs what the first would, and is followed when its config changes', async () => {
    const { registry, first, second } = twoVersions();
    await staged({ registry, settings, objects: [provider('example', { package: image('v1') })] }, async (stage) => {
      assert.deepEqual(await names(stage, StatefulSet, SYSTEM), [first]);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      assert.deepEqual(await names(stage, Service, SYSTEM), [first]);
      assert.ok((await names(stage, Secret, SYSTEM)).includes('example-tls-server'));
      assert.match(
        (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
        /StatefulSet .*pods are missing/,
      );
      await podsReady(stage);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      // Its default is created, because the flag names the runtime, and counts for packages without a reference.
      assert.deepEqual(await names(stage, StatefulSetRuntimeConfig), ['default']);
      const ref = { namespace: SYSTEM, name: first };
      assert.equal((await stage.client.get(StatefulSet, ref)).spec?.replicas, 2);
      await patch(stage, StatefulSetRuntimeConfig, 'default', { spec: { replicas: 3 } });
      await stage.settle();
      assert.equal((await stage.client.get(StatefulSet, ref)).spec?.replicas, 3);
      // Webhooks and permissions follow the workload.
      const led = await stage.client.get(ValidatingWebhookConfiguration, { name: 'crossplane-provider-example' });
      assert.equal(led.webhooks?.[0]?.clientConfig.service?.name, first);
      const binding = await stage.client.get(ClusterRoleBinding, { name: `crossplane:provider:${first}:system` });
      assert.deepEqual(binding.subjects, [{ kind: 'ServiceAccount', namespace: SYSTEM, name: first }]);
      // The one before stays until the next is ready.
      await podsReady(stage);
      await patch(stage, Provider, 'example', { spec: { package: image('v2') } });
      await stage.settle();
      assert.deepEqual(await names(stage, StatefulSet, SYSTEM), [first, second].toSorted());
      await podsReady(stage);
      assert.deepEqual(await names(stage, StatefulSet, SYSTEM), [second]);
      assert.deepEqual(
        (await names(stage, ServiceAccount, SYSTEM)).filter((name) => name !== 'default'),
        [second],
      );
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    });
  });

  test('has configs of its own: what is wrong with one is on it, a foreign one and a ControllerConfig have no say', async () => {
    const { registry, first } = twoVersions();
    const scene = {
      registry,
      settings: { ...settings, runtimeConfig: runtimeConfigFeature('beta', false) },
      objects: [
        [ControllerConfig, object(ControllerConfig, 'old', { spec: { replicas: 7 } })],
        provider('example', { package: image('v1'), controllerConfigRef: { name: 'old' } }),
      ] as never,
    };
    await staged(scene, async (stage) => {
      assert.equal((await stage.client.get(StatefulSet, { namespace: SYSTEM, name: first })).spec?.replicas, 2);
      assert.match(
        (await detail(stage, ProviderRevision, first, 'ConfigWarning'))?.message ?? '',
        /controllerConfigRef/,
      );
      await patch(stage, StatefulSetRuntimeConfig, 'default', { spec: { replicas: 10 } });
      await stage.settle();
      assert.match((await detail(stage, StatefulSetRuntimeConfig, 'default', 'Valid'))?.message ?? '', /too many/);
      assert.match(
        (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
        /StatefulSetRuntimeConfig default/,
      );
      const runtimeConfigRef = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', name: 'x' };
      await patch(stage, Provider, 'example', { spec: { runtimeConfigRef } });
      await stage.settle();
      assert.match(
        (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
        /which the runtime StatefulSet cannot use; name a StatefulSetRuntimeConfig of pkg\.example\.org\/v1/,
      );
      assert.deepEqual(await names(stage, StatefulSet, SYSTEM), [first]);
    });
  });

  test('stands beside the first: Functions run as Deployments from their own configs', async () => {
    const { registry } = twoVersions();
    const fn = `${REGISTRY}/team/function-example:v1`;
    registry.push(fn, [meta('Function')]);
    const { FunctionPackage } = await import('../src/kinds/index.ts');
    const objects = [
      provider('example', { package: image('v1') }),
      [FunctionPackage, object(FunctionPackage, 'fn', { spec: { package: fn } })],
    ] as never;
    await staged({ registry, settings, objects }, async (stage) => {
      await allReady(stage);
      await podsReady(stage);
      assert.equal((await detail(stage, FunctionPackage, 'fn', 'Healthy'))?.status, 'True');
      assert.equal((await names(stage, Deployment, SYSTEM)).length, 1);
      assert.deepEqual(await names(stage, DeploymentRuntimeConfig), ['default']);
    });
  });

  test('is granted what it writes, and nothing is granted for runtimes that are not selected', () => {
    const granted = (operator: ReturnType<typeof createCrossplane>) =>
      (rulesOf(operator).named[SYSTEM] ?? [])
        .filter(({ verbs }) => verbs.includes('delete'))
        .flatMap(({ resources }) => resources)
        .filter((resource) => resource.endsWith('sets') || resource === 'deployments');
    assert.deepEqual(granted(createCrossplane()), ['deployments']);
    assert.deepEqual(granted(createCrossplane(settings)).toSorted(), ['deployments', 'statefulsets']);
    const all = { Provider: 'StatefulSet', Function: 'StatefulSet', Configuration: 'StatefulSet' };
    assert.deepEqual(granted(createCrossplane({ runtimes, packageRuntime: all })), ['statefulsets']);
  });

  test('is among the choices that the flag names', () => {
    const refused = parsePackageRuntime('Nomad', runtimes);
    assert.match('fault' in refused ? refused.fault : '', /use Deployment or External or StatefulSet/);
  });
});
