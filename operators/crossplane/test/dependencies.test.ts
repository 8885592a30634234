// The dependencies of packages.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, type KubeObject } from '@capstan/kube';
import { Configuration, ConfigurationRevision, FunctionPackage, Lock, Provider } from '../src/kinds/index.ts';
import {
  crd,
  detail,
  type FakeRegistry,
  fakeRegistry,
  meta,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  staged,
} from './fixtures.ts';

const source = (name: string) => `${REGISTRY}/team/${name}`;
const image = (name: string, version: string) => `${source(name)}:${version}`;
const configuration = (name: string, spec: object) =>
  [Configuration, object(Configuration, name, { spec })] as [typeof Configuration, KubeObject];
const xrdCrd = ['CompositeResourceDefinition', 'Composition'].map(
  (kind) =>
    [
      CustomResourceDefinition,
      crd(kind, 'apiextensions.crossplane.io', { fields: { anything: { type: 'string' } } }),
    ] as never,
);

function push(registry: FakeRegistry, kind: string, name: string, version: string, dependsOn: object[] = []) {
  const objects = kind === 'Provider' ? [crd(`${name.replaceAll('-', '')}kind`)] : [];
  return registry.push(image(name, version), [meta(kind, { dependsOn }, { annotations: { version } }), ...objects]);
}

describe('dependencies', () => {
  test('dependencies that are missing are installed, in the highest version that serves, with theirs', async () => {
    const registry = fakeRegistry();
    for (const version of ['v1.0.0', 'v1.2.0', 'v2.0.0']) push(registry, 'Provider', 'provider-a', version);
    push(registry, 'Function', 'function-b', 'v0.1.0');
    push(registry, 'Configuration', 'platform', 'v1.0.0', [
      { provider: source('provider-a'), version: '>=v1.0.0, <v2.0.0' },
      { function: source('function-b'), version: '*' },
    ]);
    const objects = [...xrdCrd, configuration('platform', { package: image('platform', 'v1.0.0') })];
    await staged({ registry, objects }, async (stage) => {
      assert.equal(
        (await stage.client.get(Provider, { name: 'team-provider-a' })).spec.package,
        image('provider-a', 'v1.2.0'),
      );
      assert.equal(
        (await stage.client.get(FunctionPackage, { name: 'team-function-b' })).spec.package,
        image('function-b', 'v0.1.0'),
      );
      assert.equal((await detail(stage, Configuration, 'platform', 'Healthy'))?.status, 'True');
      const lock = await stage.client.get(Lock, { name: 'lock' });
      assert.deepEqual(lock.packages?.map(({ kind }) => kind).toSorted(), ['Configuration', 'Function', 'Provider']);
      assert.equal((await detail(stage, Lock, 'lock', 'Resolved'))?.status, 'True');
      const [revision = ''] = await names(stage, ConfigurationRevision);
      const { status } = await stage.client.get(ConfigurationRevision, { name: revision });
      assert.deepEqual(
        [status?.foundDependencies, status?.installedDependencies, status?.invalidDependencies],
        [2, 2, 0],
      );
    });
  });

  test('are not installed where that is not wanted', async () => {
    const registry = fakeRegistry();
    push(registry, 'Provider', 'provider-a', 'v1.0.0');
    push(registry, 'Configuration', 'platform', 'v1.0.0', [{ provider: source('provider-a'), version: '*' }]);
    const spec = { package: image('platform', 'v1.0.0'), skipDependencyResolution: true };
    await staged({ registry, objects: [...xrdCrd, configuration('platform', spec)] }, async (stage) => {
      assert.deepEqual(await names(stage, Provider), []);
      assert.equal((await detail(stage, Configuration, 'platform', 'Healthy'))?.status, 'True');
    });
  });

  test('dependencies whose tags cannot be listed, or whose name is taken, are reported, and installed once that is fixed', async () => {
    const registry = fakeRegistry();
    push(registry, 'Provider', 'provider-a', 'v1.0.0');
    push(registry, 'Configuration', 'platform', 'v1.0.0', [{ provider: source('provider-a'), version: '*' }]);
    const objects = [...xrdCrd, provider('team-provider-a', { package: `${REGISTRY}/another/thing:v1` })];
    await staged({ registry, objects }, async (stage) => {
      const failure = () => detail(stage, Configuration, 'platform', 'DependenciesUnresolved');
      await stage.client.create(...configuration('platform', { package: image('platform', 'v1.0.0') }));
      await stage.settle();
      const taken = await failure();
      assert.equal(taken?.reason, 'NameTaken');
      assert.match(taken?.message ?? '', /would be named team-provider-a, and there is a Provider .*another\/thing:v1/);
      await stage.client.delete(Provider, { name: 'team-provider-a' });
      await stage.collected();
      assert.equal(await failure(), undefined);
      assert.deepEqual(await names(stage, Provider), ['team-provider-a']);
    });
    const away = fakeRegistry();
    push(away, 'Configuration', 'platform', 'v1.0.0', [{ provider: source('provider-a'), version: '*' }]);
    const tags = away.tags.bind(away);
    let isAway = true;
    away.tags = async (...asked) => {
      if (isAway) throw new Error('the registry does not answer');
      return tags(...asked);
    };
    const wanted = [...xrdCrd, configuration('platform', { package: image('platform', 'v1.0.0') })];
    await staged({ registry: away, objects: wanted }, async (stage) => {
      assert.equal((await detail(stage, Configuration, 'platform', 'DependenciesUnresolved'))?.reason, 'Registry');
      isAway = false;
      push(away, 'Provider', 'provider-a', 'v1.0.0');
      await stage.clock.advance(120_000);
      await stage.settle();
      assert.equal((await detail(stage, Configuration, 'platform', 'Healthy'))?.status, 'True');
    });
  });

  test('dependencies that do not exist in a matching version are reported, and block no other package', async () => {
    const registry = fakeRegistry();
    push(registry, 'Provider', 'provider-a', 'v1.0.0');
    push(registry, 'Provider', 'provider-c', 'v1.0.0');
    push(registry, 'Configuration', 'broken', 'v1.0.0', [{ provider: source('provider-a'), version: '>=v9.0.0' }]);
    push(registry, 'Configuration', 'fine', 'v1.0.0', [{ provider: source('provider-c'), version: '*' }]);
    const objects = [
      ...xrdCrd,
      configuration('broken', { package: image('broken', 'v1.0.0') }),
      configuration('fine', { package: image('fine', 'v1.0.0') }),
    ];
    await staged({ registry, objects }, async (stage) => {
      assert.equal((await detail(stage, Configuration, 'fine', 'Healthy'))?.status, 'True');
      assert.match(
        (await detail(stage, Configuration, 'broken', 'Healthy'))?.message ?? '',
        /missing dependencies: "registry\.example\/team\/provider-a" \(>=v9\.0\.0\)/,
      );
      assert.match(
        (await detail(stage, Configuration, 'broken', 'DependenciesUnresolved'))?.message ?? '',
        /of 1 tags none serves >=v9\.0\.0/,
      );
      assert.equal((await detail(stage, Lock, 'lock', 'Resolved'))?.status, 'False');
      assert.deepEqual(await names(stage, Provider), ['team-provider-c']);
      push(registry, 'Provider', 'provider-a', 'v9.1.0');
      await stage.clock.advance(660_000);
      await stage.settle();
      assert.equal((await detail(stage, Configuration, 'broken', 'Healthy'))?.status, 'True');
      assert.equal((await detail(stage, Lock, 'lock', 'Resolved'))?.status, 'True');
    });
  });

  test('dependencies that are installed in an unsuitable version are reported, and upgraded only where that is allowed', async () => {
    for (const upgradeDependencies of [false, true]) {
      const registry = fakeRegistry();
      for (const version of ['v1.0.0', 'v2.0.0', 'v2.1.0', 'v3.0.0']) push(registry, 'Provider', 'provider-a', version);
      push(registry, 'Configuration', 'platform', 'v1.0.0', [{ provider: source('provider-a'), version: '>=v2.0.0' }]);
      const objects = [
        ...xrdCrd,
        provider('mine', { package: image('provider-a', 'v1.0.0') }),
        configuration('platform', { package: image('platform', 'v1.0.0') }),
      ];
      await staged({ registry, objects, settings: { upgradeDependencies } }, async (stage) => {
        const { spec } = await stage.client.get(Provider, { name: 'mine' });
        if (upgradeDependencies) {
          assert.equal(spec.package, image('provider-a', 'v2.0.0'));
          assert.equal((await detail(stage, Configuration, 'platform', 'Healthy'))?.status, 'True');
        } else {
          assert.equal(spec.package, image('provider-a', 'v1.0.0'));
          assert.match(
            (await detail(stage, Configuration, 'platform', 'Healthy'))?.message ?? '',
            /provider-a must be >=v2\.0\.0, and what is installed is version v1\.0\.0; change spec\.package of the Provider mine$/,
          );
        }
      });
    }
  });

  test('dependencies that are pinned by a digest beside their tag are compared by the tag', async () => {
    const registry = fakeRegistry();
    const digest = push(registry, 'Provider', 'provider-a', 'v2.1.0');
    push(registry, 'Configuration', 'platform', 'v1.0.0', [{ provider: source('provider-a'), version: '>=v2.0.0' }]);
    const objects = [
      ...xrdCrd,
      provider('mine', { package: `${image('provider-a', 'v2.1.0')}@${digest}` }),
      configuration('platform', { package: image('platform', 'v1.0.0') }),
    ];
    await staged({ registry, objects }, async (stage) => {
      assert.equal((await detail(stage, Configuration, 'platform', 'Healthy'))?.message, '');
      const { packages = [] } = await stage.client.get(Lock, { name: 'lock' });
      assert.deepEqual(
        packages.filter(({ kind }) => kind === 'Provider').map(({ version }) => version),
        ['v2.1.0'],
      );
    });
  });

  test('dependencies that form a cycle are reported', async () => {
    const registry = fakeRegistry();
    push(registry, 'Configuration', 'a', 'v1.0.0', [{ configuration: source('b'), version: '*' }]);
    push(registry, 'Configuration', 'b', 'v1.0.0', [{ configuration: source('a'), version: '*' }]);
    await staged(
      { registry, objects: [...xrdCrd, configuration('team-a', { package: image('a', 'v1.0.0') })] },
      async (stage) => {
        assert.match(
          (await detail(stage, Configuration, 'team-a', 'Healthy'))?.message ?? '',
          /form a cycle: .*team\/a → .*team\/b → .*team\/a/,
        );
        assert.match((await detail(stage, Lock, 'lock', 'Resolved'))?.message ?? '', /cycle/);
      },
    );
  });

  test('dependencies that two packages require in different versions are reported on both', async () => {
    const registry = fakeRegistry();
    for (const version of ['v1.0.0', 'v2.0.0']) push(registry, 'Provider', 'provider-a', version);
    push(registry, 'Configuration', 'old', 'v1.0.0', [{ provider: source('provider-a'), version: '<v2.0.0' }]);
    push(registry, 'Configuration', 'new', 'v1.0.0', [{ provider: source('provider-a'), version: '>=v2.0.0' }]);
    const objects = [
      ...xrdCrd,
      configuration('old', { package: image('old', 'v1.0.0') }),
      configuration('new', { package: image('new', 'v1.0.0') }),
    ];
    await staged({ registry, objects }, async (stage) => {
      const healths = await Promise.all(['old', 'new'].map((name) => detail(stage, Configuration, name, 'Healthy')));
      assert.ok(healths.some((health) => health?.status === 'False'));
      const reported = await Promise.all(
        ['old', 'new'].map((name) => detail(stage, Configuration, name, 'DependenciesUnresolved')),
      );
      const words = [...healths, ...reported].map((one) => one?.message ?? '').join('\n');
      assert.match(words, /must be (<v2\.0\.0|>=v2\.0\.0), and what is installed is version|none serves all/);
    });
  });
});

test('a Configuration whose kinds are not served says which', async () => {
  const registry = fakeRegistry();
  registry.push(image('platform', 'v1.0.0'), [
    meta('Configuration'),
    { apiVersion: 'apiextensions.crossplane.io/v1', kind: 'Composition', metadata: { name: 'c' }, spec: {} },
  ]);
  await staged(
    { registry, objects: [configuration('platform', { package: image('platform', 'v1.0.0') })] },
    async (stage) => {
      assert.match(
        (await detail(stage, Configuration, 'platform', 'Healthy'))?.message ?? '',
        /Composition c cannot be installed, because apiextensions\.crossplane\.io\/v1 is not served; install/,
      );
      for (const [kind, one] of xrdCrd as [typeof CustomResourceDefinition, KubeObject][])
        await stage.client.create(kind, one as CustomResourceDefinition);
      await stage.clock.advance(60_000);
      await stage.settle();
      assert.equal((await detail(stage, Configuration, 'platform', 'Healthy'))?.status, 'True');
      await patch(stage, Configuration, 'platform', { spec: { commonLabels: { team: 'x' } } });
      await stage.settle();
    },
  );
});
