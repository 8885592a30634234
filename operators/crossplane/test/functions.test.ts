// Functions, certificates, and the start on an empty cluster.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, Deployment, type KubeObject, Namespace, Secret, Service } from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { DeploymentRuntimeConfig, FunctionPackage, FunctionRevision, Lock, Provider } from '../src/kinds/index.ts';
import {
  allReady,
  crd,
  detail,
  fakeRegistry,
  meta,
  minutes,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  revisionName,
  SYSTEM,
  staged,
  startOfStage,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/function-example:v1`;
const PROVIDER_IMAGE = `${REGISTRY}/team/provider-example:v1`;
const aFunction = [FunctionPackage, object(FunctionPackage, 'example', { spec: { package: IMAGE } })] as [
  typeof FunctionPackage,
  KubeObject,
];

const secretText = async (stage: Stage, name: string, key: string) =>
  Buffer.from((await stage.client.get(Secret, { namespace: SYSTEM, name })).data?.[key] ?? '', 'base64').toString();

describe('a Function', () => {
  test('runs behind a headless Service whose address is on its revision; its input types are not installed', async () => {
    const registry = fakeRegistry();
    const name = revisionName('example', registry.push(IMAGE, [meta('Function'), crd('Input')]));
    await staged({ registry, objects: [aFunction] }, async (stage) => {
      await allReady(stage);
      const service = await stage.client.get(Service, { namespace: SYSTEM, name });
      assert.equal(service.spec?.clusterIP, 'None');
      const revision = await stage.client.get(FunctionRevision, { name });
      assert.equal(revision.status?.endpoint, `dns:///${name}.${SYSTEM}:9443`);
      assert.ok(!(await names(stage, CustomResourceDefinition)).includes('inputs.example.org'));
      assert.equal((await detail(stage, FunctionPackage, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('written as v1beta1 is the same', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, [meta('Function')]);
    const v1beta1 = { ...FunctionPackage, version: 'v1beta1', apiVersion: 'pkg.crossplane.io/v1beta1' };
    await staged(
      { registry, objects: [[v1beta1, { ...object(v1beta1, 'example', { spec: { package: IMAGE } }) }]] },
      async (stage) => {
        await allReady(stage);
        assert.equal((await detail(stage, FunctionPackage, 'example', 'Healthy'))?.status, 'True');
      },
    );
  });
});

describe('certificates', () => {
  test('are renewed before they expire, and recreated when the Service is renamed or the authority replaced', async () => {
    const registry = fakeRegistry();
    const name = revisionName('example', registry.push(PROVIDER_IMAGE, [meta('Provider'), crd('Bucket')]));
    const config = object(DeploymentRuntimeConfig, 'mine', { spec: {} });
    const objects = [
      [DeploymentRuntimeConfig, config] as never,
      provider('example', { package: PROVIDER_IMAGE, runtimeConfigRef: { name: 'mine' } }),
    ];
    // As if they had been created so long ago that two thirds of their year are over in less than an hour.
    const created = { at: startOfStage() - 243.3 * 24 * 3600 * 1000 };
    await staged({ registry, objects, settings: { now: () => created.at } }, async (stage) => {
      await allReady(stage);
      const first = await secretText(stage, 'example-tls-server', 'tls.crt');
      assert.match(new X509Certificate(first).subjectAltName ?? '', new RegExp(`DNS:${name}.${SYSTEM}.svc(,|$)`));
      await stage.clock.advance(minutes(10));
      await stage.settle();
      assert.equal(await secretText(stage, 'example-tls-server', 'tls.crt'), first);
      created.at = stage.clock.now();
      await stage.clock.advance(minutes(60));
      await stage.settle();
      const renewed = await secretText(stage, 'example-tls-server', 'tls.crt');
      assert.notEqual(renewed, first);
      await patch(stage, DeploymentRuntimeConfig, 'mine', {
        spec: { serviceTemplate: { metadata: { name: 'webhooks' } } },
      });
      await stage.settle();
      const renamed = new X509Certificate(await secretText(stage, 'example-tls-server', 'tls.crt'));
      assert.match(renamed.subjectAltName ?? '', /DNS:webhooks\.crossplane-system\.svc/);
      await stage.client.delete(Secret, { namespace: SYSTEM, name: 'crossplane-root-ca' });
      await stage.settle();
      const root = new X509Certificate(await secretText(stage, 'crossplane-root-ca', 'tls.crt'));
      const reissued = new X509Certificate(await secretText(stage, 'example-tls-server', 'tls.crt'));
      assert.ok(reissued.verify(root.publicKey));
    });
  });
});

describe('the start', () => {
  test('the start on an empty cluster makes the namespace, the Lock, the default configuration and the authority', async () => {
    await staged({ registry: fakeRegistry() }, async (stage) => {
      await stage.client.get(Namespace, { name: SYSTEM });
      await stage.client.get(Lock, { name: 'lock' });
      const { spec } = await stage.client.get(DeploymentRuntimeConfig, { name: 'default' });
      assert.equal(spec?.deploymentTemplate?.spec?.replicas, 1);
      assert.deepEqual(await names(stage, Secret, SYSTEM), ['crossplane-root-ca']);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    });
  });

  test('leaves a Lock and a default configuration that are there as they are', async () => {
    const own = object(DeploymentRuntimeConfig, 'default', { spec: { deploymentTemplate: { spec: { replicas: 7 } } } });
    await staged({ registry: fakeRegistry(), objects: [[DeploymentRuntimeConfig, own]] }, async (stage) => {
      const { spec } = await stage.client.get(DeploymentRuntimeConfig, { name: 'default' });
      assert.deepEqual(spec, { deploymentTemplate: { spec: { replicas: 7 } } });
    });
  });
});

test('runtimes with several replicas, log lines in the status, and what pods get', async () => {
  const registry = fakeRegistry();
  const name = revisionName('example', registry.push(PROVIDER_IMAGE, [meta('Provider'), crd('Bucket')]));
  await staged(
    { registry, settings: { statusLogLines: 5 }, objects: [provider('example', { package: PROVIDER_IMAGE })] },
    async (stage) => {
      const { spec } = await stage.client.get(Deployment, { namespace: SYSTEM, name });
      assert.equal(spec?.template.spec?.containers[0]?.terminationMessagePolicy, 'FallbackToLogsOnError');
      await patch(stage, Provider, 'example', {
        spec: { commonLabels: { team: 'blue' }, commonAnnotations: { note: 'x' } },
      });
      await stage.settle();
      const found = await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
      assert.deepEqual([found.metadata.labels?.['team'], found.metadata.annotations?.['note']], ['blue', 'x']);
    },
  );
});
