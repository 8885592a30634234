import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, createClient, defineKind, object, Role, Secret, silentLogger, string } from '@capstan/kube';
import { apply, operator, plan, type Reconciler, reading, reconciler, writing } from '@capstan/reconcile';
import { createTestCluster } from '../cluster.ts';
import { startIncarnation } from '../incarnation.ts';
import { createRandom } from '../random.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { createRightsAudit } from './rights-audit.ts';

const Note = defineKind({
  group: 'rights.capstan.dev',
  version: 'v1',
  kind: 'Note',
  scope: 'Namespaced',
  spec: object({ text: string() }),
});
const metadata = { namespace: 'default', name: 'n' };

/** Returns the rights that a program used and did not use while it reconciled one note. */
async function audited(reconcilers: readonly Reconciler[]) {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const operators = [operator({ name: 'notes', kinds: [Note], reconcilers })];
  const cluster = await createTestCluster({ clock, random, operators });
  const audit = createRightsAudit(operators, { namespace: 'default' });
  const transport = audit.over(cluster.transport());
  const { runtime, stop } = startIncarnation({ operators, transport, clock, random });
  const client = createClient({ transport: cluster.transport(), clock, random, logger: silentLogger });
  await client.create(Note, { apiVersion: Note.apiVersion, kind: 'Note', metadata, spec: { text: 'one' } });
  await clock.runUntilIdle(60_000, () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0);
  await stop();
  await cluster.close();
  return audit.result();
}

test('a program that only creates a child did not use the right to delete it, nor reads that nothing made', async () => {
  const { used, unused } = await audited([
    reconciler({
      name: 'note',
      resource: Note,
      reads: [reading(Secret, 'referenced')],
      writes: [ConfigMap],
      finalizer: false,
      reconcile: ({ object: { spec } }) =>
        plan({ children: [apply(ConfigMap, { metadata, data: { text: spec.text } })] }),
    }),
  ]);
  assert.deepEqual(unused, ['notes everywhere: delete configmaps', 'notes everywhere: get secrets']);
  // An apply that creates is authorized twice, and an owner reference that blocks deletion a third time.
  for (const right of ['patch configmaps', 'create configmaps', 'update notes/finalizers.rights.capstan.dev'])
    assert.ok(used.includes(`notes everywhere: ${right}`), right);
});

test('rights that a role grants to others count as used, and those within a bound are not counted', async () => {
  const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }];
  const writer = (options: object) =>
    reconciler({
      name: 'note',
      resource: Note,
      writes: [writing(Role, 'apply', { prunes: false, ...options })],
      finalizer: false,
      reconcile: () => plan({ children: [apply(Role, { metadata, rules })] }),
    });
  const bounded = await audited([writer({ grants: { namespaced: [...rules, { ...rules[0], verbs: ['delete'] }] } })]);
  assert.deepEqual(bounded.unused, ['notes everywhere: delete deployments.apps']);
  const roles = [
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'most' }, rules },
  ];
  assert.deepEqual((await audited([writer({ bound: { role: 'most', roles } })])).unused, []);
});
