// A DeploymentRuntimeConfig on a cluster: what is written in it is what runs, and what leaves it leaves.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Deployment, type Kind, type KubeObject, Service, ServiceAccount } from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { parse } from 'yaml';
import {
  ControllerConfig,
  DeploymentRuntimeConfig,
  FunctionPackage,
  FunctionRevision,
  Provider,
} from '../src/kinds/index.ts';
import { runtimeConfigFeature } from '../src/runtime/index.ts';
import type { Settings } from '../src/settings.ts';
import {
  allReady,
  condition,
  crd,
  fakeRegistry,
  meta,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  revisionName,
  SYSTEM,
  said,
  staged,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1.0.0`;
const FUNCTION = `${REGISTRY}/team/function-example:v1.0.0`;
const seed = (file: string) => parse(readFileSync(new URL(`seed/${file}`, import.meta.url), 'utf8')) as KubeObject;
const config = (name: string, spec: object): [Kind, KubeObject] => [
  DeploymentRuntimeConfig,
  object(DeploymentRuntimeConfig, name, { spec }),
];

interface Given {
  objects: readonly [Kind, KubeObject][];
  settings?: Partial<Settings>;
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
    return withPackages({ objects: [config('mine', spec), fn] }, async (stage) => {
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

  test('an edit is a patch of the Deployment, and what leaves the config leaves the Deployment', () =>
    withPackages(
      {
        objects: [
          config('mine', {
            deploymentTemplate: {
              metadata: { labels: { a: '1', b: '2' } },
              spec: { replicas: 3, template: { spec: { nodeSelector: { disk: 'ssd' }, priorityClassName: 'high' } } },
            },
          }),
          using('mine'),
        ],
      },
      async (stage, revision) => {
        await allReady(stage);
        await stage.client.update(DeploymentRuntimeConfig, {
          ...(await stage.client.get(DeploymentRuntimeConfig, { name: 'mine' })),
          spec: { deploymentTemplate: { metadata: { labels: { a: '1' } } } },
        });
        await stage.settle();
        const { metadata, spec } = await stage.client.get(Deployment, inSystem(revision));
        assert.equal(metadata.labels?.['a'], '1');
        assert.equal(metadata.labels['b'], undefined);
        assert.equal(spec?.replicas, 1);
        assert.equal(spec.template.spec?.nodeSelector, undefined);
        assert.equal(spec.template.spec?.priorityClassName, undefined);
        assert.deepEqual(await names(stage, Deployment, SYSTEM), [revision]);
      },
    ));

  test('renamed objects replace the old ones, which go when the new ones are up', () =>
    withPackages({ objects: [config('mine', {}), using('mine')] }, async (stage, revision) => {
      await allReady(stage);
      await patch(stage, DeploymentRuntimeConfig, 'mine', {
        spec: {
          deploymentTemplate: { metadata: { name: 'renamed' } },
          serviceAccountTemplate: { metadata: { name: 'renamed' } },
        },
      });
      await stage.settle();
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [revision, 'renamed']);
      await allReady(stage);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), ['renamed']);
      assert.deepEqual(await names(stage, ServiceAccount, SYSTEM), ['renamed']);
      assert.equal((await said(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    }));

  test('the seed’s own example is taken as it stands, nothing of it is pruned, and its author is told', () => {
    const given = seed('runtime-config.yaml');
    return withPackages(
      {
        objects: [
          [DeploymentRuntimeConfig, { ...given, apiVersion: DeploymentRuntimeConfig.apiVersion }],
          using('default'),
        ],
      },
      async (stage, revision) => {
        const stored = await stage.client.get(DeploymentRuntimeConfig, { name: 'default' });
        assert.deepEqual(stored.spec, (given as KubeObject & { spec: object }).spec);
        const { metadata, spec } = await stage.client.get(Deployment, inSystem(revision));
        assert.equal(metadata.labels?.['example'], 'label');
        assert.equal(spec?.template.spec?.securityContext?.runAsUser, 2000);
        const told = JSON.stringify(stored.status?.conditions);
        assert.match(told, /spec\.deploymentTemplate\.serviceTemplate was taken for spec\.serviceTemplate/);
        assert.match(told, /template\.containers was taken for/);
      },
    );
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
      [config('broken', { deploymentTemplate: { spec: { template: { spec: { containers: 'none' } } } } })],
      /DeploymentRuntimeConfig broken cannot be used: .*containers must be a list/,
    ],
  ] as const) {
    test(`a config that ${title} is told with its remedy, and the payload is delivered all the same`, () =>
      withPackages(
        { objects: [...extra, provider('example', { package: IMAGE, runtimeConfigRef: ref })] },
        async (stage) => {
          const { status, message: text = '' } = (await said(stage, Provider, 'example', 'Healthy')) ?? {};
          assert.equal(status, 'False');
          assert.match(text, message);
          assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
          const [revision] = (await stage.client.list(FunctionRevision)).items;
          assert.equal(revision, undefined);
        },
      ));
  }

  test('a config that is deleted or broken later leaves what runs as it is', () =>
    withPackages(
      { objects: [config('mine', { deploymentTemplate: { spec: { replicas: 2 } } }), using('mine')] },
      async (stage, revision) => {
        await allReady(stage);
        await stage.client.delete(DeploymentRuntimeConfig, { name: 'mine' });
        await stage.settle();
        assert.equal((await stage.client.get(Deployment, inSystem(revision))).spec?.replicas, 2);
        assert.equal((await said(stage, Provider, 'example', 'Healthy'))?.status, 'False');
      },
    ));
});

describe('the stages of runtime configs', () => {
  const debug: [Kind, KubeObject] = [
    ControllerConfig,
    object(ControllerConfig, 'debug', { spec: { replicas: 4, args: ['--debug'] } }),
  ];
  const both = provider('example', {
    package: IMAGE,
    runtimeConfigRef: { name: 'mine' },
    controllerConfigRef: { name: 'debug' },
  });
  const objects = [debug, config('mine', { deploymentTemplate: { spec: { replicas: 3 } } }), both];
  const warned = async (stage: Stage) => {
    const { items } = await stage.client.list({
      ...Provider,
      kind: 'ProviderRevision',
      plural: 'providerrevisions',
    } as Kind);
    return items.map((item) => condition(item, 'ConfigWarning')?.message ?? '').join();
  };

  test('in beta the runtime config counts, and the other is told to be ignored', () =>
    withPackages({ objects }, async (stage, revision) => {
      assert.equal((await stage.client.get(Deployment, inSystem(revision))).spec?.replicas, 3);
      assert.match(await warned(stage), /spec\.controllerConfigRef is ignored/);
    }));

  test('with --enable-runtime-config=false the ControllerConfig counts', () =>
    withPackages(
      { objects, settings: { runtimeConfig: runtimeConfigFeature('beta', false) } },
      async (stage, revision) => {
        const { spec } = await stage.client.get(Deployment, inSystem(revision));
        assert.equal(spec?.replicas, 4);
        assert.deepEqual(spec.template.spec?.containers[0]?.args, ['--debug']);
        assert.match(await warned(stage), /spec\.runtimeConfigRef is ignored/);
      },
    ));

  test('in GA a package with a ControllerConfig waits for its author', () =>
    withPackages({ objects, settings: { runtimeConfig: runtimeConfigFeature('GA') } }, async (stage) => {
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      const { status, message = '' } = (await said(stage, Provider, 'example', 'Healthy')) ?? {};
      assert.equal(status, 'False');
      assert.match(message, /crossplane convert deployment-runtime/);
    }));
});
