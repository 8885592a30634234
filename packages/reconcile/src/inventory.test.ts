import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import * as fc from 'fast-check';
import { describeOwner, FIELD_MANAGER_PREFIX, fieldManager, inventoryId, sharingManager } from './inventory.ts';

const owner = { world: '', reconciler: 'gimbal.maintenance', kind: ConfigMap, key: 'default/a' };

test('an inventory id distinguishes world, reconciler, kind and owner', () => {
  const others = [
    { ...owner, world: 'broker' },
    { ...owner, reconciler: 'gimbal.other' },
    { ...owner, kind: Secret },
    { ...owner, key: 'default/b' },
    { ...owner, world: 'gimbal', reconciler: 'maintenance' },
  ];
  const ids = new Set([owner, ...others].map(inventoryId));
  assert.equal(ids.size, 6);
});

test('an inventory id is the same in every process: children of an earlier release are found', () => {
  assert.equal(inventoryId(owner), 'gimbal-maintenance-dc4f72d1f02547aa2a34');
});

test('an inventory id is a label value however long the name of its reconciler is', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z][a-z0-9-]{0,80}\.[a-z][a-z0-9-]{0,80}$/), (reconciler) => {
      const id = inventoryId({ ...owner, reconciler });
      assert.match(id, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
      assert.ok(id.length <= 63);
    }),
  );
  assert.equal(inventoryId({ ...owner, reconciler: `a.${'b'.repeat(80)}` }).length, 51);
});

test('an owner is described for people', () => {
  assert.equal(describeOwner(owner), 'gimbal.maintenance ConfigMap default/a');
});

test('field managers are kept by caches, and those of two owners that share an object differ', () => {
  const manager = fieldManager('gimbal', 'maintenance');
  const [one, two] = [owner, { ...owner, key: 'default/b' }].map((each) => sharingManager(manager, inventoryId(each)));
  assert.notEqual(one, two);
  for (const name of [manager, one, two]) {
    assert.ok(name?.startsWith(FIELD_MANAGER_PREFIX));
    assert.ok((name?.length ?? 999) <= 128);
  }
});
