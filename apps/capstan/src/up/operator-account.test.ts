import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceAccountUser } from '@capstan/apiserver';
import gimbal from '@capstan/gimbal';
import { createClient, isForbidden, Namespace, Secret, silentLogger, systemClock } from '@capstan/kube';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import { grantOperator } from './operator-account.ts';

test('the account of an operator of capstan up reads a Secret of a user, and neither changes nor deletes it', async (t) => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), rbac: true });
  t.after(() => cluster.close());
  const admin = cluster.client;
  await admin.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } });
  await grantOperator(gimbal, admin, new AbortController().signal);
  const ref = { namespace: 'default', name: 'mine' };
  await admin.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref });
  const account = createClient({
    transport: cluster.transport(serviceAccountUser(SYSTEM_NAMESPACE, 'capstan-gimbal')),
    clock: systemClock,
    random: createRandom(2),
    logger: silentLogger,
  });
  assert.equal((await account.get(Secret, ref)).metadata.name, 'mine');
  await assert.rejects(account.delete(Secret, ref), (error) => {
    assert.ok(isForbidden(error));
    return /changes and deletes no Secret that it did not create/.test(String(error));
  });
  assert.ok(await admin.find(Secret, ref));
});
