// How Envoys of an instance subscribe, from the first day and after an upgrade.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DaemonSet } from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { chooseFlags, runningEnvoys } from '../../src/deployment/xds-mode.ts';
import { SesameDeployment } from '../../src/index.ts';
import { at, conditionOf, deployment, staged } from './fixtures.ts';

const ENVOY = at('envoy-edge');

async function envoys({ client }: Stage) {
  const daemonSet = await client.get(DaemonSet, ENVOY);
  const args = daemonSet.spec?.template.spec?.initContainers?.[0]?.args ?? [];
  return {
    args,
    template: daemonSet.spec?.template,
    mode: args.find((arg) => arg.startsWith('--xds-mode')),
    ports: args.filter((arg) => PORTS.test(arg)),
  };
}

const PORTS = /^--(http|https|health|stats)-port=/;

/** As an earlier version left it: the bootstrap has no such flag. */
async function asBefore(stage: Stage, flags = /^--(xds-mode|http-port|https-port|health-port|stats-port)=/) {
  const { args } = await envoys(stage);
  const path = '/spec/template/spec/initContainers/0/args';
  const value = args.filter((arg) => !flags.test(arg));
  await stage.client.patch(DaemonSet, ENVOY, 'json', [{ op: 'replace', path, value }]);
  await stage.settle();
  // The template is that of the earlier version now, and this version's record of it is removed.
  const annotations = { 'projectsesame.io/template-without-xds-mode': null };
  const { template } = await envoys(stage);
  await stage.client.patch(DaemonSet, ENVOY, 'merge', { metadata: { annotations } });
  await stage.settle();
  return template;
}

async function edit(stage: Stage, envoy: object) {
  await stage.client.patch(SesameDeployment, at('edge'), 'merge', { spec: { envoy } });
  await stage.settle();
}

describe('the mode in which Envoys subscribe', () => {
  test('is one stream of differences for a new instance, and whole states on request', async () => {
    await staged([deployment()], async (stage) => {
      assert.equal((await envoys(stage)).mode, '--xds-mode=delta-ads');
      await edit(stage, { xdsMode: 'sotw' });
      assert.equal((await envoys(stage)).mode, '--xds-mode=sotw');
      await edit(stage, { xdsMode: null });
      assert.equal((await envoys(stage)).mode, '--xds-mode=delta-ads');
      await edit(stage, { xdsMode: 'polling' });
      assert.match((await conditionOf(stage.client, 'ConfigurationValid'))?.message ?? '', /envoy\.xdsMode/);
    });
  });

  test('an upgrade alone changes no pod; the next change of the pods brings the new mode', async () => {
    await staged([deployment()], async (stage) => {
      const before = await asBefore(stage);
      assert.deepEqual([(await envoys(stage)).mode, (await envoys(stage)).template], [undefined, before]);
      await stage.restart();
      await stage.settle();
      // A change that concerns no pod is no reason either.
      await stage.client.patch(SesameDeployment, at('edge'), 'merge', { spec: { replicas: 1 } });
      await stage.settle();
      assert.deepEqual([(await envoys(stage)).mode, (await envoys(stage)).template], [undefined, before]);
      await edit(stage, { logLevel: 'debug' });
      assert.equal((await envoys(stage)).mode, '--xds-mode=delta-ads');
      const { metadata } = await stage.client.get(DaemonSet, ENVOY);
      assert.deepEqual(
        Object.keys(metadata.annotations ?? {}).filter((name) => name.includes('xds-mode')),
        [],
      );
    });
  });

  test('the user changes it at once, or keeps whole states without a restart', async () => {
    await staged([deployment()], async (stage) => {
      const before = await asBefore(stage);
      await edit(stage, { xdsMode: 'sotw' });
      assert.deepEqual([(await envoys(stage)).mode, (await envoys(stage)).template], [undefined, before]);
      await edit(stage, { xdsMode: 'sotw', logLevel: 'debug' });
      assert.equal((await envoys(stage)).mode, '--xds-mode=sotw');
      await edit(stage, { xdsMode: 'delta-ads' });
      assert.equal((await envoys(stage)).mode, '--xds-mode=delta-ads');
    });
  });

  test('Envoys of a version without port flags are not restarted, and keep their ports from the next change on', async () => {
    await staged([deployment()], async (stage) => {
      const all = ['--http-port=8080', '--https-port=8443', '--health-port=8002', '--stats-port=8002'];
      assert.deepEqual((await envoys(stage)).ports, all);
      const before = await asBefore(stage, PORTS);
      await stage.restart();
      await stage.settle();
      assert.deepEqual((await envoys(stage)).template, before);
      await edit(stage, { logLevel: 'debug' });
      const { ports, mode } = await envoys(stage);
      assert.deepEqual([ports, mode], [all, '--xds-mode=delta-ads']);
    });
  });

  test('an upgrade that changes an image changes the mode with it', () => {
    const template = (image: string) => ({ spec: { initContainers: [{ name: 'b', image }], containers: [] } });
    const daemonSet = (image: string): DaemonSet => ({
      apiVersion: DaemonSet.apiVersion,
      kind: DaemonSet.kind,
      metadata: ENVOY,
      spec: { selector: {}, template: template(image) },
    });
    assert.equal(chooseFlags(undefined, runningEnvoys(daemonSet('a:1')), template('a:1')).mode, undefined);
    assert.equal(chooseFlags(undefined, runningEnvoys(daemonSet('a:1')), template('a:2')).mode, 'delta-ads');
    assert.equal(chooseFlags('sotw', runningEnvoys(daemonSet('a:1')), template('a:2')).mode, 'sotw');
  });
});
