// The operator dies between any two writes. The next one reaches the same state, without an additional revision.
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

/** Runs the program until it is idle or has died after this many writes. Returns whether it has died. */
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

test('an operator that dies after any write reaches the same end, and the pods are rolled once', async () => {
  const { deployment: expected } = await deploymentAfter([]);
  let died = 0;
  for (let writes = 1; writes <= 12; writes++) {
    const found = await deploymentAfter([writes]);
    died += found.died;
    assert.deepEqual(found.deployment.spec?.template, expected.spec?.template, `after ${writes} writes`);
    // The generation counts two writes: the creation, and the rollout for the renewed certificate.
    assert.equal(found.deployment.metadata.generation, expected.metadata.generation, `after ${writes} writes`);
  }
  assert.ok(died >= 12, `it died only ${died} times`);
  assert.equal(expected.metadata.namespace, NAMESPACE);
});

test('a cluster that breaks while the operator is dead in the middle of a change rolls nothing', async () => {
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
