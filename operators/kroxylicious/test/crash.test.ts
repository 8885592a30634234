// The operator dies between any two writes: the next one arrives where it would have arrived, with no revision more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deployment, type KubeObject, Secret } from '@capstan/kube';
import { createLives, type Lives } from '@capstan/testing';
import { createKroxylicious } from '../src/index.ts';
import {
  certificate,
  cluster,
  create,
  encoded,
  filter,
  get,
  NAMESPACE,
  opaque,
  patch,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const [first, renewed] = await Promise.all([certificate(), certificate()]);
const operators = [createKroxylicious()];
const objects = (): KubeObject[] => [
  proxy(),
  service(),
  tcpIngress(),
  tlsIngress(),
  opaque('kms', { password: 'correct horse' }),
  filter({ password: '${secret:kms:password}' }),
  tlsSecret('server', first),
  cluster('one', { filterRefs: [{ name: 'encryption' }] }),
  cluster('two', { ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }] }),
];

/** Runs the program until it has rested, or has died after so many writes; whether it has died. */
async function live(lives: Lives, writes?: number): Promise<boolean> {
  const life = await lives.begin();
  if (writes !== undefined) life.dieAfterWrites(writes);
  await life.settle();
  await life.end();
  return life.isDead;
}

async function deploymentAfter(crashes: readonly number[]): Promise<{ deployment: Deployment; died: number }> {
  const lives = await createLives({ operators });
  await create(lives.client, ...objects());
  let died = 0;
  for (const writes of crashes) if (await live(lives, writes)) died++;
  await live(lives);
  await patch(lives.client, Secret, 'server', {
    data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
  });
  for (const writes of crashes) if (await live(lives, writes)) died++;
  await live(lives);
  const deployment = await get.deployment(lives.client);
  await lives.close();
  return { deployment, died };
}

test('whenever it dies, the end is the same and the pods were rolled once', async () => {
  const { deployment: expected } = await deploymentAfter([]);
  let died = 0;
  for (let writes = 1; writes <= 12; writes++) {
    const found = await deploymentAfter([writes]);
    died += found.died;
    assert.deepEqual(found.deployment.spec?.template, expected.spec?.template, `after ${writes} writes`);
    // Made, and rolled by the renewed certificate: the generation counts both.
    assert.equal(found.deployment.metadata.generation, expected.metadata.generation, `after ${writes} writes`);
  }
  assert.ok(died >= 12, `it died only ${died} times`);
  assert.equal(expected.metadata.namespace, NAMESPACE);
});

test('whenever it dies during a change, what breaks before it is back rolls nothing', async () => {
  for (let writes = 1; writes <= 8; writes++) {
    const lives = await createLives({ operators });
    await create(lives.client, ...objects());
    await live(lives);
    await patch(lives.client, Secret, 'kms', { data: encoded({ password: 'battery staple' }) });
    await live(lives, writes);
    const before = await get.deployment(lives.client);
    await lives.client.delete(Secret, { namespace: NAMESPACE, name: 'kms' });
    await live(lives);
    const after = await get.deployment(lives.client);
    assert.deepEqual(after.spec?.template, before.spec?.template, `after ${writes} writes`);
    await lives.close();
  }
});
