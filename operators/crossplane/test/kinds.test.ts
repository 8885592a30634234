// The kinds: defaults, validation, versions, and the output of kubectl.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createStage } from '@capstan/testing';
import { initCrossplane } from '../src/commands/init.ts';
import {
  ControllerConfig,
  DeploymentRuntimeConfig,
  FunctionPackage,
  ImageConfig,
  Lock,
  Provider,
  ProviderRevision,
} from '../src/kinds/index.ts';
import { CROSSPLANE_KINDS, createCrossplane } from '../src/operator.ts';
import { runtimeConfigFeature } from '../src/runtime/index.ts';
import { fakeRegistry, object } from './fixtures.ts';

/** Without the note that rules were not checked because something else is wrong. */
const paths = (kind: (typeof CROSSPLANE_KINDS)[number], name: string, parts: object) =>
  kind
    .validate(object(kind, name, parts))
    .filter((error) => !JSON.stringify(error).includes('not checked'))
    .map(({ field }) => field);

describe('kinds', () => {
  test('a Provider has upstream’s defaults, a whole reference to the runtime config default among them', () => {
    const { spec } = Provider.withDefaults(object(Provider, 'x', { spec: { package: 'r.example/p:v1' } }) as Provider);
    assert.deepEqual(spec, {
      package: 'r.example/p:v1',
      revisionActivationPolicy: 'Automatic',
      revisionHistoryLimit: 1,
      packagePullPolicy: 'IfNotPresent',
      ignoreCrossplaneConstraints: false,
      skipDependencyResolution: false,
      runtimeConfigRef: {
        apiVersion: 'pkg.crossplane.io/v1beta1',
        kind: 'DeploymentRuntimeConfig',
        name: 'default',
      },
    });
  });

  test('a reference to a runtime config gets apiVersion and kind by default, on packages and on revisions', () => {
    const whole = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', name: 'mine' };
    const runtimeConfigRef = { name: 'mine' };
    const given = object(Provider, 'x', { spec: { package: 'r.example/p:v1', runtimeConfigRef } }) as Provider;
    assert.deepEqual(Provider.withDefaults(given).spec.runtimeConfigRef, whole);
    const revision = object(ProviderRevision, 'x', {
      spec: { image: 'r.example/p:v1', revision: 1, desiredState: 'Active', runtimeConfigRef },
    }) as ProviderRevision;
    assert.deepEqual(ProviderRevision.withDefaults(revision).spec.runtimeConfigRef, whole);
  });

  test('a status that another controller writes needs no message in a condition', () => {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const conditions = [{ type: 'Healthy', status: 'True', reason: 'Fine', lastTransitionTime }];
    const spec = { package: 'p' };
    assert.deepEqual(paths(Provider, 'x', { spec, status: { conditions } }), []);
  });

  test('an impossible value is refused with its path', () => {
    assert.deepEqual(paths(Provider, 'x', { spec: {} }), ['spec.package']);
    assert.deepEqual(paths(Provider, 'x', { spec: { package: 'https://r.example/p' } }), ['spec.package']);
    assert.deepEqual(paths(Provider, 'x', { spec: { package: 'has a blank' } }), ['spec.package']);
    assert.deepEqual(paths(Provider, 'x', { spec: { package: 'p', packagePullPolicy: 'Sometimes' } }), [
      'spec.packagePullPolicy',
    ]);
    assert.deepEqual(paths(Provider, 'x', { spec: { package: 'p', revisionHistoryLimit: -1 } }), [
      'spec.revisionHistoryLimit',
    ]);
    assert.deepEqual(paths(ImageConfig, 'x', { spec: { matchImages: [] } }), ['spec.matchImages']);
    assert.equal(
      paths(ImageConfig, 'x', { spec: { matchImages: [{ prefix: 'r' }], verification: { provider: 'Cosign' } } })
        .length,
      1,
    );
    assert.equal(paths(Lock, 'other', {}).length, 1);
    assert.deepEqual(paths(Lock, 'lock', {}), []);
    assert.deepEqual(paths(DeploymentRuntimeConfig, 'x', {}), []);
  });

  test('versions and deprecations are as the design document says', () => {
    assert.deepEqual(
      DeploymentRuntimeConfig.crd().spec.versions.map(({ name, served }) => [name, served]),
      [
        ['v1beta1', true],
        ['v1', true],
        ['v1alpha1', true],
      ],
    );
    assert.deepEqual(
      FunctionPackage.crd().spec.versions.map(({ name }) => name),
      ['v1', 'v1beta1'],
    );
    const [version] = ControllerConfig.crd().spec.versions;
    assert.equal(version?.deprecated, true);
    assert.match(version?.deprecationWarning ?? '', /DeploymentRuntimeConfig/);
  });

  test('kubectl shows what one looks for first', () => {
    const columns = (kind: (typeof CROSSPLANE_KINDS)[number]) =>
      kind.crd().spec.versions[0]?.additionalPrinterColumns?.map(({ name }) => name.toUpperCase());
    assert.deepEqual(columns(Provider), ['INSTALLED', 'HEALTHY', 'PACKAGE', 'AGE']);
    assert.deepEqual(columns(ProviderRevision)?.slice(0, 5), ['HEALTHY', 'RUNTIME', 'REVISION', 'IMAGE', 'STATE']);
    for (const kind of CROSSPLANE_KINDS.filter(({ kind: name }) => name !== 'ControllerConfig'))
      assert.ok(kind.crd().spec.names.categories?.includes('crossplane'), kind.kind);
  });
});

test('core init makes what is absent, and touches nothing that is there', async () => {
  const stage = await createStage({ operators: [createCrossplane({ source: fakeRegistry() })] });
  try {
    await stage.program.stop();
    await stage.client.delete(DeploymentRuntimeConfig, { name: 'default' });
    const settings = { namespace: 'elsewhere', runtimeConfig: runtimeConfigFeature('alpha') };
    const { signal } = new AbortController();
    assert.deepEqual(await initCrossplane(stage.client, settings, signal), [
      { object: 'namespace/elsewhere', isNew: true },
      { object: 'lock/lock', isNew: false },
      { object: 'deploymentruntimeconfig/default', isNew: true },
    ]);
    const again = await initCrossplane(stage.client, settings, signal);
    assert.deepEqual(
      again.map(({ isNew }) => isNew),
      [false, false, false],
    );
  } finally {
    await stage.end();
  }
});
