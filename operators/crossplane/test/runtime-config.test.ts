// A package runs according to its DeploymentRuntimeConfig.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Deployment, type KubeObject, Service, ServiceAccount } from '@capstan/kube';
import { preview } from '@capstan/reconcile';
import type { Stage } from '@capstan/testing';
import { parse } from 'yaml';
import { ControllerConfig, DeploymentRuntimeConfig, Provider, ProviderRevision } from '../src/kinds/index.ts';
import { runtimeConfigFeature } from '../src/runtime/index.ts';
import {
  allReady,
  condition,
  detail,
  EXAMPLE,
  example,
  names,
  object,
  patch,
  provider,
  runtimeConfig,
  SYSTEM,
  staged,
  using,
} from './fixtures.ts';

const podSpec = (spec: object) => ({ deploymentTemplate: { spec: { template: { spec } } } });
const deploymentOf = (stage: Stage, name: string) => stage.client.get(Deployment, { namespace: SYSTEM, name });
const revisionCondition = async (stage: Stage, name: string, type: string) =>
  condition(await stage.client.get(ProviderRevision, { name }), type);

describe('a DeploymentRuntimeConfig', () => {
  test('a DeploymentRuntimeConfig that changes is followed, removed fields included, without a new revision', async () => {
    const { registry, name } = example();
    const given = runtimeConfig('mine', {
      deploymentTemplate: {
        metadata: { labels: { team: 'a' }, annotations: { note: 'x' } },
        spec: { replicas: 2, template: { spec: { nodeSelector: { disk: 'ssd' }, priorityClassName: 'high' } } },
      },
    });
    await staged({ registry, objects: [given, using('mine')] }, async (stage) => {
      await allReady(stage);
      const before = await deploymentOf(stage, name);
      assert.equal(before.spec?.replicas, 2);
      assert.deepEqual(before.spec?.template.spec?.nodeSelector, { disk: 'ssd' });
      assert.equal(before.metadata.labels?.['team'], 'a');
      stage.transport.clear();
      await stage.client.patch(DeploymentRuntimeConfig, { name: 'mine' }, 'json', [
        { op: 'replace', path: '/spec', value: podSpec({ priorityClassName: 'low' }) },
      ]);
      await stage.settle();
      const after = await deploymentOf(stage, name);
      assert.equal(after.spec?.replicas, 1);
      assert.equal(after.spec?.template.spec?.nodeSelector, undefined);
      assert.equal(after.spec?.template.spec?.priorityClassName, 'low');
      assert.equal(after.metadata.labels?.['team'], undefined);
      assert.equal(after.metadata.annotations?.['note'], undefined);
      assert.equal((await names(stage, ProviderRevision)).length, 1);
    });
  });

  test('a DeploymentRuntimeConfig that one package uses writes its Deployment and nothing else when it changes', async () => {
    const { registry, name } = example();
    await staged({ registry, objects: [provider('example', { package: EXAMPLE })] }, async (stage) => {
      await allReady(stage);
      stage.transport.clear();
      await patch(stage, DeploymentRuntimeConfig, 'default', { spec: podSpec({ priorityClassName: 'low' }) });
      await stage.settle();
      assert.deepEqual(stage.transport.writes, [`PATCH /apis/apps/v1/namespaces/${SYSTEM}/deployments/${name}`]);
    });
  });

  test('can be tried first: a preview shows what it would make and remove, certificates included', async () => {
    const { registry, name } = example();
    const named = runtimeConfig('mine', {
      deploymentTemplate: { metadata: { name: 'fixed' } },
      serviceTemplate: { metadata: { name: 'fixed' } },
    });
    await staged({ registry, objects: [named, provider('example', { package: EXAMPLE })] }, async (stage) => {
      await allReady(stage);
      stage.transport.clear();
      const spec = { runtimeConfigRef: { name: 'mine' } };
      const requirement = await stage.client.patch(Provider, { name: 'example' }, 'merge', { spec }, { dryRun: true });
      const { writes, later, unknowns } = await preview(stage.program.runtime, [
        { kind: Provider, object: requirement },
      ]);
      const detail = writes.filter(({ verb }) => verb !== 'status').map(({ verb, object: what }) => `${verb} ${what}`);
      assert.deepEqual(detail, [
        `apply ProviderRevision ${name}`,
        `apply Service ${SYSTEM}/fixed`,
        `mint Secret ${SYSTEM}/example-tls-server`,
        `apply Deployment ${SYSTEM}/fixed`,
      ]);
      assert.deepEqual(
        later
          .filter(({ verb }) => verb !== 'status')
          .map(({ verb, object: what, until }) => `${verb} ${what}: ${until}`)
          .toSorted(),
        [
          `delete Deployment ${SYSTEM}/${name}: what replaces it is ready`,
          `delete Service ${SYSTEM}/${name}: what replaces it is ready`,
          `mint Secret ${SYSTEM}/example-tls-server: pods are ready`,
        ],
      );
      assert.deepEqual(unknowns, [`Secret ${SYSTEM}/example-tls-server: its content is created when it is written`]);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [name]);
    });
  });

  test('named default is made when it is absent and never overwritten', async () => {
    const { registry, name } = example();
    const own = runtimeConfig('default', { deploymentTemplate: { spec: { replicas: 3 } } });
    await staged({ registry, objects: [own, provider('example', { package: EXAMPLE })] }, async (stage) => {
      assert.equal((await deploymentOf(stage, name)).spec?.replicas, 3);
      await stage.restart();
      const { spec } = await stage.client.get(DeploymentRuntimeConfig, { name: 'default' });
      assert.deepEqual(spec, { deploymentTemplate: { spec: { replicas: 3 } } });
    });
  });

  test('a DeploymentRuntimeConfig of the design document is accepted as it stands, and renders the same as an empty one', async () => {
    const { registry, name } = example();
    const seed = parse(readFileSync(new URL('./seed/runtime-config.yaml', import.meta.url), 'utf8')) as KubeObject;
    const v1alpha1 = { ...DeploymentRuntimeConfig, version: 'v1alpha1', apiVersion: seed.apiVersion };
    const render = async (objects: Parameters<typeof staged>[0]['objects']) => {
      let spec: Deployment['spec'];
      let warnings: string | undefined;
      await staged({ registry, objects: objects ?? [] }, async (stage) => {
        const deployment = await deploymentOf(stage, name);
        spec = deployment.spec;
        warnings = (await revisionCondition(stage, name, 'ConfigWarning'))?.message;
        const shown = condition(await stage.client.get(DeploymentRuntimeConfig, { name: 'default' }), 'Valid');
        assert.equal(shown?.reason, warnings === undefined ? undefined : 'Warnings');
      });
      return {
        spec: {
          ...spec,
          template: {
            ...spec?.template,
            metadata: {},
            spec: {
              ...spec?.template.spec,
              containers: spec?.template.spec?.containers.map((container) => ({ ...container, env: [] })),
            },
          },
        },
        warnings,
      };
    };
    const package_ = provider('example', { package: EXAMPLE });
    const fromSeed = await render([[v1alpha1, seed], package_]);
    const fromEmpty = await render([runtimeConfig('default', {}), package_]);
    assert.deepEqual(fromSeed.spec, fromEmpty.spec);
    assert.match(
      fromSeed.warnings ?? '',
      /spec\.deploymentTemplate\.serviceTemplate was taken for spec\.serviceTemplate/,
    );
    assert.equal(fromEmpty.warnings, undefined);
  });

  test('a DeploymentRuntimeConfig that renames objects leaves none of the old ones behind', async () => {
    const { registry, name } = example();
    await staged({ registry, objects: [runtimeConfig('mine', {}), using('mine')] }, async (stage) => {
      await allReady(stage);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [name]);
      const metadata = { metadata: { name: 'renamed' } };
      await patch(stage, DeploymentRuntimeConfig, 'mine', {
        spec: { deploymentTemplate: metadata, serviceTemplate: metadata, serviceAccountTemplate: metadata },
      });
      await stage.settle();
      // The old one runs until the new one is ready.
      assert.deepEqual(await names(stage, Deployment, SYSTEM), [name, 'renamed'].toSorted());
      await allReady(stage);
      for (const kind of [Deployment, Service]) assert.deepEqual(await names(stage, kind, SYSTEM), ['renamed']);
      assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes(name));
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });
});

describe('a runtime configuration that cannot be used', () => {
  const cases: {
    name: string;
    objects: ReturnType<typeof runtimeConfig>[];
    ref: object;
    message: RegExp;
  }[] = [
    {
      name: 'is not there',
      objects: [],
      ref: { name: 'nowhere' },
      message: /the DeploymentRuntimeConfig nowhere does not exist; create it/,
    },
    {
      name: 'is of another kind',
      objects: [],
      ref: { apiVersion: 'pkg.example.org/v1', kind: 'CloudRunRuntimeConfig', name: 'default' },
      message:
        /names a CloudRunRuntimeConfig of pkg\.example\.org\/v1, which the runtime Deployment cannot use; .*--package-runtime=External/,
    },
    {
      name: 'has a value of the wrong type',
      objects: [runtimeConfig('bad', podSpec({ containers: [{ name: 'package-runtime', env: 'x' }] }))],
      ref: { name: 'bad' },
      message: /the DeploymentRuntimeConfig bad cannot be used: .*env/,
    },
    {
      name: 'is refused by the server',
      objects: [runtimeConfig('bad', podSpec({ restartPolicy: 'Never' }))],
      ref: { name: 'bad' },
      message: /Deployment crossplane-system\/.*restartPolicy.*\(the runtime configuration is bad\)/,
    },
    {
      name: 'has two containers of one name',
      objects: [
        runtimeConfig('bad', podSpec({ containers: [{ name: 'package-runtime' }, { name: 'package-runtime' }] })),
      ],
      ref: { name: 'bad' },
      message: /cannot be used: .*containers\[1\] has the name of .*containers\[0\] \(package-runtime\); keep one/,
    },
    {
      name: 'has a port that there is none of',
      objects: [
        runtimeConfig(
          'bad',
          podSpec({ containers: [{ name: 'package-runtime', ports: [{ name: 'http', containerPort: 70_000 }] }] }),
        ),
      ],
      ref: { name: 'bad' },
      message: /cannot be used: .*ports\[0\]\.containerPort cannot be 70000; write a port from 1 to 65535/,
    },
  ];
  for (const { name, objects, ref, message } of cases)
    test(`because it ${name}: what runs stays, the cause is on the package`, async () => {
      const { registry, name: revision } = example();
      await staged({ registry, objects: [...objects, provider('example', { package: EXAMPLE })] }, async (stage) => {
        await allReady(stage);
        const before = await deploymentOf(stage, revision);
        await patch(stage, Provider, 'example', { spec: { runtimeConfigRef: ref } });
        await stage.settle();
        const health = await detail(stage, Provider, 'example', 'Healthy');
        assert.equal(health?.status, 'False');
        assert.match(health?.message ?? '', message);
        assert.match((await detail(stage, ProviderRevision, revision, 'RuntimeHealthy'))?.message ?? '', message);
        const after = await deploymentOf(stage, revision);
        assert.deepEqual(
          [after.metadata.uid, after.metadata.generation],
          [before.metadata.uid, before.metadata.generation],
        );
        await patch(stage, Provider, 'example', { spec: { runtimeConfigRef: null } });
        await stage.settle(600_000);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      });
    });

  test('has a variable or a mount twice: the last counts, with a warning on it', async () => {
    const { registry, name } = example();
    const mount = { name: 'data', mountPath: '/data' };
    const env = ['1', '2'].map((value) => ({ name: 'A', value }));
    const twice = runtimeConfig(
      'twice',
      podSpec({
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [{ name: 'beside', image: 'x', env, volumeMounts: [mount, { ...mount }] }],
      }),
    );
    const package_ = provider('example', { package: EXAMPLE, runtimeConfigRef: { name: 'twice' } });
    await staged({ registry, objects: [twice, package_] }, async (stage) => {
      const beside = (await deploymentOf(stage, name)).spec?.template.spec?.containers.find(
        (one) => one.name === 'beside',
      );
      assert.deepEqual([beside?.env, beside?.volumeMounts], [[env[1]], [mount]]);
      const message = (await detail(stage, DeploymentRuntimeConfig, 'twice', 'Valid'))?.message ?? '';
      assert.match(message, /env\[1\] has the name of .*env\[0\] \(A\)/);
      assert.match(message, /volumeMounts\[1\] has the mountPath of .*volumeMounts\[0\] \(\/data\)/);
    });
  });

  test('is used as soon as it is made', async () => {
    const { registry, name } = example();
    await staged({ registry, objects: [using('later')] }, async (stage) => {
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      await stage.client.create(...runtimeConfig('later', { deploymentTemplate: { spec: { replicas: 2 } } }));
      await stage.settle();
      assert.equal((await deploymentOf(stage, name)).spec?.replicas, 2);
    });
  });
});

describe('the stages of the feature', () => {
  const controllerConfig = [ControllerConfig, object(ControllerConfig, 'old', { spec: { replicas: 4 } })] as [
    typeof ControllerConfig,
    KubeObject,
  ];
  const both = provider('example', {
    package: EXAMPLE,
    controllerConfigRef: { name: 'old' },
    runtimeConfigRef: { name: 'mine' },
  });
  const objects = [
    controllerConfig,
    runtimeConfig('mine', { deploymentTemplate: { spec: { replicas: 2 } } }),
    both,
  ] as never;

  test('off: the ControllerConfig counts, and use of the other is reported', async () => {
    const { registry, name } = example();
    const settings = { runtimeConfig: runtimeConfigFeature('beta', false) };
    await staged({ registry, objects, settings }, async (stage) => {
      assert.equal((await deploymentOf(stage, name)).spec?.replicas, 4);
      assert.match(
        (await revisionCondition(stage, name, 'ConfigWarning'))?.message ?? '',
        /spec\.runtimeConfigRef is ignored/,
      );
    });
  });

  test('the runtime config counts when it is on, and use of the other is reported', async () => {
    const { registry, name } = example();
    await staged({ registry, objects }, async (stage) => {
      assert.equal((await deploymentOf(stage, name)).spec?.replicas, 2);
      assert.match(
        (await revisionCondition(stage, name, 'ConfigWarning'))?.message ?? '',
        /spec\.controllerConfigRef is ignored/,
      );
    });
  });

  test('GA: a package that still names a ControllerConfig is left as it is and not healthy', async () => {
    const { registry } = example();
    const settings = { runtimeConfig: runtimeConfigFeature('GA') };
    await staged({ registry, objects, settings }, async (stage) => {
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      assert.match((await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '', /no longer supported/);
    });
  });
});
