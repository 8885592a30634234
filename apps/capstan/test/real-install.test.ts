// From nothing to a real cluster and back: install, use, failover of the leader under load, uninstall, on a real control plane.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { KafkaProxy } from '@capstan/kroxylicious';
import { ClusterRole, CustomResourceDefinition, Deployment, Lease, Secret } from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { failOverUnderLoad } from './failover-under-load.ts';
import { SYSTEM, startRealInstallation, until } from './real-installation.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const OPERATOR = 'kroxylicious';
const OPERATORS = ['--operators', OPERATOR];
const LEASE = { namespace: SYSTEM, name: 'capstan-kroxylicious' };
const PROXY = { namespace: 'default', name: 'my-proxy' };
const DEMO = join(import.meta.dirname, '../../../operators/kroxylicious/demo');

test('an installation becomes ready, works, survives its leader, and is removed without a trace', {
  skip,
}, async (t) => {
  const installation = await startRealInstallation();
  t.after(() => installation.close());
  const { real, capstan, kubectl, podsOf, readyOf } = installation;
  const { client } = real;

  const installed = await capstan('install', ...OPERATORS, '--timeout', '120s');
  assert.equal(installed.code, 0, installed.err);
  assert.match(installed.err, /kroxylicious is ready/);
  const pods = await podsOf(OPERATOR);
  assert.equal(pods.length, 2);
  assert.ok(pods.every(({ spec }) => spec?.serviceAccountName === 'capstan-kroxylicious'));

  await kubectl('apply', '-f', DEMO);
  await until(async () => (await client.find(Deployment, PROXY)) !== undefined, 'the Deployment of the proxy');
  assert.equal((await client.find(Deployment, PROXY))?.spec?.replicas, 2);

  // Proxies are created and edited all the while; the leader dies without giving its Lease back.
  const { leadsAfterMs, writesAfterMs, caughtUpAfterMs, proxies } = await failOverUnderLoad(installation);
  const [leads, writes, caughtUp] = [leadsAfterMs, writesAfterMs, caughtUpAfterMs].map((ms) => (ms / 1000).toFixed(1));
  t.diagnostic(
    `after the leader was killed the other replica led in ${leads} s, wrote in ${writes} s, and had caught up in ${caughtUp} s`,
  );
  const { spec } = await client.get(Lease, LEASE);
  assert.equal(spec?.leaseDurationSeconds, 15);
  assert.equal(spec?.leaseTransitions, 1);
  // Nothing lost: each is as it was asked for last. Nothing twice: each edit that found a Deployment is one write of it.
  for (const { name, replicas, writes } of proxies) {
    const deployment = await client.get(Deployment, { namespace: 'default', name });
    assert.equal(deployment.spec?.replicas, replicas, name);
    assert.equal(deployment.metadata.generation, writes, `${name}: writes of the Deployment`);
  }
  await until(async () => (await readyOf(OPERATOR)) === 2, 'the pod that died runs again');

  const status = await capstan('status', ...OPERATORS, '-o', 'json');
  assert.equal(status.code, 0, status.err);
  const removed = await capstan('uninstall', ...OPERATORS, '--delete-objects', '--timeout', '90s');
  assert.equal(removed.code, 0, removed.err);
  await until(async () => (await podsOf(OPERATOR)).length === 0, 'the pods are gone');
  // The garbage collector has its own pace.
  await until(async () => (await client.find(Lease, LEASE)) === undefined, 'the Lease is gone');
  assert.equal(await client.find(ClusterRole, { name: 'capstan-kroxylicious' }), undefined);
  await until(async () => (await client.list(Deployment, { namespace: 'default' })).items.length === 0, 'the proxies');
  const { items: definitions } = await client.list(CustomResourceDefinition);
  const left = definitions.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  assert.deepEqual(
    left.map(({ metadata }) => metadata.name).filter((name) => name?.endsWith(KafkaProxy.group)),
    [],
  );
  await until(
    async () => (await client.list(Secret, { namespace: SYSTEM })).items.length === 0,
    'the Secrets of the operators are gone',
  );
});
