import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseConfig, parseStage, runtimeConfigFeature, versionOfStage } from './stages.ts';

for (const [stage, flag, isEnabled] of [
  ['alpha', undefined, false],
  ['alpha', true, true],
  ['alpha', false, false],
  ['beta', undefined, true],
  ['beta', true, true],
  ['beta', false, false],
  ['GA', undefined, true],
  ['GA', true, true],
  ['GA', false, true],
] as const) {
  test(`${stage} with the flag ${flag ?? 'not given'}: runtime configs are ${isEnabled ? 'on' : 'off'}`, () => {
    const feature = runtimeConfigFeature(stage, flag);
    assert.equal(feature.isEnabled, isEnabled);
    assert.equal(feature.warning !== undefined, stage === 'GA' && flag === false);
  });
}

test('beta is the default stage, and stages are read in any case', () => {
  assert.deepEqual(runtimeConfigFeature(), { stage: 'beta', isEnabled: true });
  assert.deepEqual(['Alpha', ' beta', 'ga', 'stable'].map(parseStage), ['alpha', 'beta', 'GA', undefined]);
  assert.deepEqual((['alpha', 'beta', 'GA'] as const).map(versionOfStage), ['v1alpha1', 'v1beta1', 'v1']);
});

const both = { runtimeConfigRef: { name: 'r' }, controllerConfigRef: { name: 'c' } };

test('the ControllerConfig is ignored with runtime configs on, and the message names the remedy', () => {
  for (const stage of ['alpha', 'beta'] as const) {
    const { use, runtimeConfigRef, controllerConfigName, ignored } = chooseConfig(
      runtimeConfigFeature(stage, true),
      both,
    );
    assert.deepEqual([use, runtimeConfigRef, controllerConfigName], ['runtimeConfig', { name: 'r' }, undefined]);
    assert.equal(ignored?.reason, 'ControllerConfigIgnored');
    assert.equal(ignored.isBlocking, false);
    assert.match(ignored.message, /crossplane convert deployment-runtime .*--enable-runtime-config=false/);
  }
});

test('the ControllerConfig is honoured with runtime configs off, and the other ignored', () => {
  const { use, controllerConfigName, ignored } = chooseConfig(runtimeConfigFeature('beta', false), both);
  assert.deepEqual([use, controllerConfigName], ['controllerConfig', 'c']);
  assert.equal(ignored?.field, 'spec.runtimeConfigRef');
  assert.deepEqual(chooseConfig(runtimeConfigFeature('alpha'), {}), { use: 'controllerConfig' });
});

test('a reference to the default that a server wrote into the package is no reason for a warning', () => {
  const feature = runtimeConfigFeature('alpha');
  const written = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', name: 'default' };
  assert.equal(chooseConfig(feature, { runtimeConfigRef: written }).ignored, undefined);
  assert.equal(chooseConfig(feature, { runtimeConfigRef: { name: 'default' } }).ignored, undefined);
  assert.ok(chooseConfig(feature, { runtimeConfigRef: { ...written, kind: 'Other' } }).ignored);
});

test('a ControllerConfig in GA holds the package up until it is converted', () => {
  const { use, ignored } = chooseConfig(runtimeConfigFeature('GA', false), both);
  assert.equal(use, 'runtimeConfig');
  assert.deepEqual([ignored?.reason, ignored?.isBlocking], ['ControllerConfigRemoved', true]);
  assert.match(ignored?.message ?? '', /not changed.*crossplane convert/);
});
