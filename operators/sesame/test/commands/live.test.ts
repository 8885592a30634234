// Commands that talk to a cluster, against the embedded server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, Secret, systemClock } from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { createTestCluster, type TestCluster } from '@capstan/testing';
import { parse } from 'yaml';
import { SesameConfiguration } from '../../src/kinds/index.ts';
import { runCommand } from './command-io.ts';

const routes = operator({ name: 'configurations', kinds: [SesameConfiguration], reconcilers: [] });

async function withCluster(check: (cluster: TestCluster) => Promise<void>): Promise<void> {
  const cluster = await createTestCluster({ clock: systemClock, random: Math.random, operators: [routes] });
  try {
    await check(cluster);
  } finally {
    await cluster.close();
  }
}

const FILE = 'timeouts:\n  request-timeout: 4s\n  reqest-timeout: 5s\n';

describe('sesame migrate config from a cluster', () => {
  const configMap = (text: string): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name: 'sesame' },
    data: { 'sesame.yaml': text },
  });
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'default', name: 'sesame' },
    spec: {
      selector: { matchLabels: { app: 'sesame' } },
      template: {
        metadata: { labels: { app: 'sesame' } },
        spec: {
          containers: [
            {
              name: 'sesame',
              image: 'capstan',
              command: ['sesame'],
              args: ['serve', '--incluster', '--xds-port=9001', '--config-path=/config/sesame.yaml'],
            },
          ],
        },
      },
    },
  };
  const LINE = 'migrate config --config-map sesame --deployment sesame -n default';

  test('takes the file from the ConfigMap and flags from the Deployment; the result can be applied', () =>
    withCluster(async (cluster) => {
      await cluster.client.create(ConfigMap, configMap('timeouts:\n  request-timeout: 4s\n'));
      await cluster.client.create(Deployment, deployment);
      const transport = () => cluster.transport();
      const { code, out, err } = await runCommand(LINE, {}, { transport });
      assert.equal(code, 0, err);
      const resource = parse(out) as SesameConfiguration;
      assert.equal(resource.spec?.envoy?.timeouts?.requestTimeout, '4s');
      assert.equal(resource.spec?.xdsServer?.port, 9001);
      assert.equal(resource.metadata.namespace, 'default');
      assert.match(err, /--incluster/, 'what stays a flag is reported');
      await cluster.client.create(SesameConfiguration, resource);
      // The same inputs give the same result.
      assert.equal((await runCommand(LINE, {}, { transport })).out, out);
    }));

  test('reports lines and columns of the file in the ConfigMap, and what is not there', () =>
    withCluster(async (cluster) => {
      const transport = () => cluster.transport();
      const missing = await runCommand(LINE, {}, { transport });
      assert.equal(missing.code, 1);
      assert.match(missing.err, /^error: ConfigMap default\/sesame: there is none; name another with --config-map/);
      await cluster.client.create(ConfigMap, configMap(FILE));
      const none = await runCommand(LINE, {}, { transport });
      assert.match(none.err, /^error: Deployment default\/sesame: there is none; name another with --deployment/);
      const { code, out, err } = await runCommand('migrate config --config-map sesame -n default', {}, { transport });
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /reqest-timeout: .*request-timeout/);
      assert.match(err, /:\d+:\d+: error: /);
    }));
});

describe('sesame certgen --kube', () => {
  test('creates Secrets, refuses to replace them unasked, and replaces them with --overwrite', () =>
    withCluster(async (cluster) => {
      const transport = () => cluster.transport();
      const { code, out, err } = await runCommand('certgen --kube -n default', {}, { transport });
      assert.equal(code, 0, err);
      assert.equal(out, 'secret/sesamecert created\nsecret/envoycert created\n');
      const read = async (name: string) => (await cluster.client.get(Secret, { namespace: 'default', name })).data;
      const first = await read('sesamecert');
      assert.deepEqual(Object.keys(first ?? {}).toSorted(), ['ca.crt', 'tls.crt', 'tls.key']);
      assert.equal(first?.['ca.crt'], (await read('envoycert'))?.['ca.crt']);
      const again = await runCommand('certgen --kube -n default', {}, { transport });
      assert.equal(again.code, 1);
      assert.match(again.err, /^error: Secret default\/sesamecert exists already; give --overwrite to replace it/);
      assert.deepEqual(await read('sesamecert'), first);
      const replaced = await runCommand('certgen --kube --overwrite -n default', {}, { transport });
      assert.equal(replaced.out, 'secret/sesamecert replaced\nsecret/envoycert replaced\n');
      assert.notEqual((await read('sesamecert'))?.['tls.crt'], first?.['tls.crt']);
      assert.ok(![out, again.err, replaced.out].join('').includes('PRIVATE'));
    }));
});

test('sesame config release removes the finalizer that a Sesame has left', () =>
  withCluster(async (cluster) => {
    await cluster.client.create(SesameConfiguration, {
      apiVersion: SesameConfiguration.apiVersion,
      kind: SesameConfiguration.kind,
      metadata: { namespace: 'default', name: 'sesame', finalizers: ['projectsesame.io/configuration'] },
      spec: {},
    });
    const transport = () => cluster.transport();
    const { code, out, err } = await runCommand('config release -n default', {}, { transport });
    assert.deepEqual([code, out], [0, 'SesameConfiguration default/sesame: the finalizer was removed\n'], err);
    const again = await runCommand('config release -n default', {}, { transport });
    assert.match(again.out, /there is no finalizer of Sesame on it/);
    const { metadata } = await cluster.client.get(SesameConfiguration, { namespace: 'default', name: 'sesame' });
    assert.equal(metadata.finalizers, undefined);
  }));
