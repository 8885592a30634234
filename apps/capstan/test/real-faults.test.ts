// The faults of a cluster in production, on a real control plane: after each fault an edit still leads to exactly one write.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { KafkaProxy } from '@capstan/kroxylicious';
import { ConfigMap, Deployment, sleep, systemClock } from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { capstanImage, pidOf, startRealInstallation, until } from './real-installation.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const OPERATOR = 'kroxylicious';
const OPERATORS = ['--operators', OPERATOR];
const PROXY = { namespace: 'default', name: 'my-proxy' };
const DEMO = join(import.meta.dirname, '../../../operators/kroxylicious/demo');
const OUTAGE_MS = 30_000;
const SKEW_MS = 60_000;
/** Versions that pass while the operators do not look. */
const MISSED = 300;

test('restarts and outages of the server, removed history, clocks that disagree: one edit, one write', {
  skip,
}, async (t) => {
  const { real, capstan, kubectl, leaderOf, podsOf, readyOf, close } = await startRealInstallation({
    images: (folder) => [skewedImage(folder)],
  });
  t.after(close);
  const { client } = real;
  const installed = await capstan('install', ...OPERATORS, '--timeout', '120s');
  assert.equal(installed.code, 0, installed.err);
  await kubectl('apply', '-f', DEMO);
  await until(async () => (await client.find(Deployment, PROXY)) !== undefined, 'the Deployment of the proxy');
  let replicas = 2;
  let generation = 1;

  async function editLeadsToOneWrite(): Promise<void> {
    const before = (await client.get(Deployment, PROXY)).metadata.generation;
    assert.equal(before, generation, 'the fault itself led to a write');
    replicas = replicas === 2 ? 3 : 2;
    await client.patch(KafkaProxy, PROXY, 'merge', { spec: { replicas } });
    await until(async () => (await client.get(Deployment, PROXY)).spec?.replicas === replicas, 'the edit');
    generation += 1;
    // An additional write would be seen at the next edit at the latest.
    assert.equal((await client.get(Deployment, PROXY)).metadata.generation, generation);
  }

  await t.test('before any fault', editLeadsToOneWrite);

  await t.test('the API server restarts', async () => {
    await real.interrupt('kube-apiserver');
    await real.resume('kube-apiserver');
    await editLeadsToOneWrite();
  });

  await t.test('etcd restarts', async () => {
    await real.interrupt('etcd');
    await real.resume('etcd');
    await editLeadsToOneWrite();
  });

  await t.test('the API server is away for half a minute, longer than the Lease lasts', async () => {
    await real.interrupt('kube-apiserver');
    await sleep(systemClock, OUTAGE_MS);
    await real.resume('kube-apiserver');
    await editLeadsToOneWrite();
  });

  await t.test('every watch is too old at once', async () => {
    const leader = pidOf(await leaderOf(OPERATOR));
    process.kill(leader, 'SIGSTOP');
    try {
      for (let index = 0; index < MISSED; index++)
        await client.create(ConfigMap, {
          apiVersion: ConfigMap.apiVersion,
          kind: ConfigMap.kind,
          metadata: { namespace: 'default', name: `missed-${index}` },
        });
      await real.compact();
      await real.interrupt('kube-apiserver');
      await real.resume('kube-apiserver');
    } finally {
      process.kill(leader, 'SIGCONT');
    }
    await editLeadsToOneWrite();
  });

  await t.test('the clocks of the replicas are two minutes apart, and the leader dies', async () => {
    const upgraded = await capstan('upgrade', '--yes', ...OPERATORS, '--image', SKEWED, '--timeout', '120s');
    assert.equal(upgraded.code, 0, upgraded.err);
    await until(async () => (await podsOf(OPERATOR)).length === 2 && (await readyOf(OPERATOR)) === 2, 'two replicas');
    await until(async () => (await leaderOf(OPERATOR)) !== '', 'a leader');
    await editLeadsToOneWrite();
    const holder = await leaderOf(OPERATOR);
    process.kill(pidOf(holder), 'SIGKILL');
    await editLeadsToOneWrite();
    assert.notEqual(await leaderOf(OPERATOR), holder);
  });
});

const SKEWED = 'capstan-skewed:1';

/** The first pod's clock is a minute ahead, those of the others a minute behind. */
function skewedImage(folder: string) {
  const file = join(folder, 'skew.mjs');
  writeFileSync(
    file,
    `import { mkdirSync } from 'node:fs';
    let skew = ${SKEW_MS};
    try { mkdirSync(${JSON.stringify(join(folder, 'first'))}); } catch { skew = -skew; }
    const now = Date.now;
    const Real = Date;
    globalThis.Date = class extends Real {
      constructor(...args) { if (args.length === 0) super(now() + skew); else super(...args); }
      static now() { return now() + skew; }
    };
    `,
  );
  return capstanImage('capstan-skewed', join(folder, 'capstan'), { nodeFlags: ['--import', file] });
}
