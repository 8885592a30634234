import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Client,
  ConfigMap,
  type ConfigMap as ConfigMapObject,
  createClient,
  Lease,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import { createTestCluster } from '../cluster.ts';
import { createRandom } from '../random.ts';
import { createOwnershipAudit } from './ownership-audit.ts';

const ref = (name: string) => ({ namespace: 'default', name });
const configMap = (name: string): ConfigMapObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: ref(name) });
const uidOf = (object: ConfigMapObject) => object.metadata.uid ?? '';

/** Acts as the program on a cluster with an object of the user, and returns the report of the audit. */
async function audited(
  act: (program: Client, users: ConfigMapObject, user: Client) => Promise<unknown>,
  ruled?: string,
) {
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock: systemClock, random, operators: [] });
  try {
    const users = await cluster.client.create(ConfigMap, configMap('users'));
    const audit = createOwnershipAudit(ruled);
    const transport = audit.over(cluster.transport());
    const program = createClient({ transport, clock: systemClock, random, logger: silentLogger });
    await act(program, users, cluster.client);
    try {
      audit.check();
      return 'nothing';
    } catch (error) {
      return (error as Error).message;
    }
  } finally {
    await cluster.close();
  }
}

describe('the audit of a stage', () => {
  test('notices that the program deletes an object of the user', async () => {
    const found = await audited((program, users) =>
      program.delete(ConfigMap, ref('users'), { preconditions: { uid: uidOf(users) } }),
    );
    assert.match(found, /DELETE .*configmaps\/users/);
  });

  test('notices a deletion that does not name the object by its uid', async () => {
    const found = await audited(async (program) => {
      await program.create(ConfigMap, configMap('own'));
      await program.delete(ConfigMap, ref('own'));
    });
    assert.match(found, /DELETE .*configmaps\/own/);
  });

  test('notices that the program replaces an object of the user', async () => {
    const found = await audited((program, users) => program.update(ConfigMap, { ...users, data: { taken: 'yes' } }));
    assert.match(found, /PUT .*configmaps\/users/);
  });

  test('notices an object of the user that took the name of one that the program created', async () => {
    const found = await audited(async (program, _users, user) => {
      const own = await program.create(ConfigMap, configMap('own'));
      await program.delete(ConfigMap, ref('own'), { preconditions: { uid: uidOf(own) } });
      const next = await user.create(ConfigMap, configMap('own'));
      await program.delete(ConfigMap, ref('own'), { preconditions: { uid: uidOf(next) } });
    });
    assert.match(found, /DELETE .*configmaps\/own/);
  });

  test('is content with objects that the program created, with patches, refused requests and Leases', async () => {
    const found = await audited(async (program, users) => {
      const own = await program.create(ConfigMap, configMap('own'));
      const replaced = await program.update(ConfigMap, { ...own, data: { a: 'b' } });
      await program.delete(ConfigMap, ref('own'), { preconditions: { uid: uidOf(replaced) } });
      await program.patch(ConfigMap, ref('users'), 'merge', { data: { a: 'b' } });
      await assert.rejects(program.delete(ConfigMap, ref('users'), { preconditions: { uid: 'another' } }));
      await assert.rejects(program.update(ConfigMap, { ...users, metadata: { ...users.metadata, uid: 'another' } }));
      const lease = await program.create(Lease, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: ref('lease'),
      });
      await program.update(Lease, lease);
    });
    assert.equal(found, 'nothing');
  });

  test('allows what a ruling allows', async () => {
    const remove = (program: Client, users: ConfigMapObject) =>
      program.delete(ConfigMap, ref('users'), { preconditions: { uid: uidOf(users) } });
    assert.equal(await audited(remove, 'a ruling'), 'nothing');
  });
});
