// Templates on a cluster: the workload matches its template, and errors in a template delay nothing else.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  CustomResourceDefinition,
  Deployment,
  type Kind,
  type KubeObject,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { parse } from 'yaml';
import {
  DeploymentRuntimeConfig,
  FunctionPackage,
  FunctionRevision,
  Provider,
  ProviderRevision,
} from '../src/kinds/index.ts';
import {
  allReady,
  crd,
  detail,
  fakeRegistry,
  meta,
  names,
  object,
  provider,
  REGISTRY,
  revisionName,
  runtimeConfig,
  SYSTEM,
  staged,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1.0.0`;
const FUNCTION = `${REGISTRY}/team/function-example:v1.0.0`;
const seed = (file: string) => parse(readFileSync(new URL(`seed/${file}`, import.meta.url), 'utf8')) as KubeObject;
interface Given {
  objects: readonly [Kind, KubeObject][];
}

async function withPackages(given: Given, check: (stage: Stage, revision: string) => Promise<void>): Promise<void> {
  const registry = fakeRegistry();
  const digest = registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
  registry.push(FUNCTION, [meta('Function')]);
  await staged({ registry, ...given }, (stage) => check(stage, revisionName('example', digest)));
}

const using = (name: string) => provider('example', { package: IMAGE, runtimeConfigRef: { name } });
const inSystem = (name: string) => ({ namespace: SYSTEM, name });

describe('a DeploymentRuntimeConfig', () => {
  test('names the objects, adds a sidecar and replicas; the Function is reachable under its new name', () => {
    const containers = [
      { name: 'sidecar', image: 'sidecar:v1', volumeMounts: [{ name: 'shared', mountPath: '/shared' }] },
      { name: 'package-runtime', volumeMounts: [{ name: 'shared', mountPath: '/shared' }] },
    ];
    const spec = {
      deploymentTemplate: {
        metadata: { name: 'runtime', labels: { some: 'label' } },
        spec: { replicas: 2, template: { spec: { volumes: [{ name: 'shared', emptyDir: {} }], containers } } },
      },
      serviceTemplate: { metadata: { name: 'endpoint' } },
      serviceAccountTemplate: { metadata: { name: 'account', annotations: { role: 'arn' } } },
    };
    const fn: [Kind, KubeObject] = [
      FunctionPackage,
      object(FunctionPackage, 'example', { spec: { package: FUNCTION, runtimeConfigRef: { name: 'mine' } } }),
    ];
    return withPackages({ objects: [runtimeConfig('mine', spec), fn] }, async (stage) => {
      const deployment = await stage.client.get(Deployment, inSystem('runtime'));
      assert.equal(deployment.spec?.replicas, 2);
      assert.equal(deployment.metadata.labels?.['some'], 'label');
      const pod = deployment.spec.template.spec;
      assert.deepEqual(
        pod?.containers.map(({ name }) => name),
        ['package-runtime', 'sidecar'],
      );
      assert.equal(pod?.serviceAccountName, 'account');
      assert.equal((await stage.client.get(ServiceAccount, inSystem('account'))).metadata.annotations?.['role'], 'arn');
      assert.equal((await stage.client.get(Service, inSystem('endpoint'))).spec?.clusterIP, 'None');
      const [revision] = (await stage.client.list(FunctionRevision)).items;
      assert.equal(revision?.status?.endpoint, `dns:///endpoint.${SYSTEM}:9443`);
    });
  });

  test('a namespace in the metadata of a template has no effect and is a warning on the config', () => {
    const metadata = { namespace: 'elsewhere', labels: { some: 'label' } };
    const spec = { deploymentTemplate: { metadata }, serviceTemplate: { metadata: { namespace: 'elsewhere' } } };
    return withPackages({ objects: [runtimeConfig('mine', spec), using('mine')] }, async (stage, revision) => {
      const deployment = await stage.client.get(Deployment, inSystem(revision));
      assert.equal(deployment.metadata.labels?.['some'], 'label');
      const config = await stage.client.get(DeploymentRuntimeConfig, { name: 'mine' });
      const text = JSON.stringify(config.status?.conditions);
      for (const template of ['deploymentTemplate', 'serviceTemplate'])
        assert.match(text, new RegExp(`spec.${template}.metadata.namespace has no effect .*elsewhere.*; remove it`));
    });
  });

  test('the seed’s Provider uses the default, which is there by itself', () => {
    const given = seed('provider.yaml') as KubeObject & { spec: { package: string } };
    const registry = fakeRegistry();
    const digest = registry.push(given.spec.package, [meta('Provider'), crd('Bucket')]);
    return staged({ registry, objects: [[Provider, given]] }, async (stage) => {
      await stage.client.get(Deployment, inSystem(revisionName('provider-example', digest)));
    });
  });

  for (const [title, ref, extra, message] of [
    ['is not there', { name: 'none' }, [], /DeploymentRuntimeConfig none does not exist; create it/],
    [
      'is of a foreign kind',
      { apiVersion: 'pkg.example.org/v1', kind: 'CloudRunRuntimeConfig', name: 'default' },
      [],
      /CloudRunRuntimeConfig of pkg\.example\.org\/v1, which the runtime Deployment cannot use; .*--package-runtime=External/,
    ],
    [
      'cannot be used',
      { name: 'broken' },
      [runtimeConfig('broken', { deploymentTemplate: { spec: { template: { spec: { containers: 'none' } } } } })],
      /DeploymentRuntimeConfig broken cannot be used: .*containers must be a list/,
    ],
  ] as const) {
    test(`a config that ${title} is reported with its remedy, and the payload is delivered all the same`, () =>
      withPackages(
        { objects: [...extra, provider('example', { package: IMAGE, runtimeConfigRef: ref })] },
        async (stage, revision) => {
          const { status, message: text = '' } = (await detail(stage, Provider, 'example', 'Healthy')) ?? {};
          assert.equal(status, 'False');
          assert.match(text, message);
          assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
          assert.ok((await names(stage, CustomResourceDefinition)).includes('buckets.example.org'));
          assert.equal((await detail(stage, ProviderRevision, revision, 'RevisionHealthy'))?.status, 'True');
        },
      ));
  }

  test('a config that is deleted or broken later leaves what runs as it is', () =>
    withPackages(
      { objects: [runtimeConfig('mine', { deploymentTemplate: { spec: { replicas: 2 } } }), using('mine')] },
      async (stage, revision) => {
        await allReady(stage);
        await stage.client.delete(DeploymentRuntimeConfig, { name: 'mine' });
        await stage.settle();
        assert.equal((await stage.client.get(Deployment, inSystem(revision))).spec?.replicas, 2);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'False');
      },
    ));
});
