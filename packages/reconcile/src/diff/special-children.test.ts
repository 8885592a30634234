import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, type KubeObject, Secret } from '@capstan/kube';
import { sharingManager } from '../inventory.ts';
import { INVENTORY_LABEL } from '../marks.ts';
import { createOnly, keep, type Minter, mint, share } from '../plan/index.ts';
import { bodyOf, configMap, metadata, verdict, withEntry } from './child-diff.test-support.ts';
import { entryFor, live, MANAGER, OWNED, ownershipOf, theirs, without } from './diff.test-support.ts';
import type { MintWrite, ShareWrite } from './writes.ts';

describe('a child that is only created', () => {
  test('is created when it is not there, marked as ours', () => {
    const { write } = verdict(createOnly(ConfigMap, { metadata, data: {} }));
    assert.equal(write?.verb, 'create');
    assert.equal('body' in write && write.body.metadata.labels?.[INVENTORY_LABEL], OWNED.inventory);
  });

  test('a child that is only created without being ours carries no mark', () => {
    const { write } = verdict(createOnly(ConfigMap, { metadata }, { owned: false }));
    assert.deepEqual(write?.verb === 'create' && write.body.metadata, metadata);
  });

  test('is never changed, no matter which client created it', () => {
    assert.deepEqual(verdict(createOnly(ConfigMap, { metadata, data: { x: '2' } }), [theirs(configMap().object)]), {});
  });
});

test('a kept child is neither changed nor looked at', () => {
  assert.deepEqual(verdict(keep(ConfigMap, metadata), [theirs(configMap().object)]), {});
});

describe('a minted child', () => {
  const token: Minter<{ size: number }, Secret> = {
    name: 'token',
    valid: (existing, { size }, { reached }) => existing.data?.['size'] === String(size) && !reached(1000),
    make: () => assert.fail('a diff makes nothing'),
  };
  const child = (size = 1) => mint(Secret, metadata, token, { size });
  const secret = (size: number, labels?: Record<string, string>) => {
    const data = { size: String(size) };
    const common = { apiVersion: 'v1', kind: 'Secret', data };
    return labels === undefined
      ? live({ ...common, metadata: { ...metadata, labels: { [INVENTORY_LABEL]: OWNED.inventory } } })
      : theirs({ ...common, metadata: { ...metadata, labels } });
  };

  test('is made when it is not there', () => {
    assert.deepEqual(
      [(verdict(child()).write as MintWrite).verb, (verdict(child()).write as MintWrite).existing],
      ['mint', undefined],
    );
  });

  test('stays while it is valid, and nothing of it is compared', () => {
    assert.deepEqual(verdict(child(), [{ ...secret(1), data: { size: '1', key: 'anything' } } as Secret]), {});
  });

  test('is recreated when it no longer serves, or its time has come, in place of the one that was judged', () => {
    for (const [objects, scene] of [
      [[secret(2)], {}],
      [[secret(1)], { now: 1000 }],
    ] as const) {
      const { write } = verdict(child(), objects, scene);
      assert.deepEqual((write as MintWrite).existing, { uid: 'uid-of-a', resourceVersion: '7' });
    }
  });

  test('a minted child that a user brought along is used while it is valid, and never replaced', () => {
    assert.deepEqual(verdict(child(), [secret(1, {})]), {});
    const { write, note, waitsFor } = verdict(child(), [secret(2, {})]);
    assert.deepEqual([write, note?.about, waitsFor], [undefined, 'conflict', note?.message]);
  });

  test('a minted child that carries our label and was not created by us is not replaced', () => {
    const { write, note } = verdict(child(), [secret(2, { [INVENTORY_LABEL]: OWNED.inventory })]);
    assert.deepEqual([write, note?.about], [undefined, 'conflict']);
  });

  test('a minted child of another owner is a conflict even while it is valid: it would go with that one', () => {
    const { write, note } = verdict(child(), [secret(1, { [INVENTORY_LABEL]: ownershipOf('other').inventory })]);
    assert.deepEqual([write, note?.about], [undefined, 'conflict']);
  });
});

describe('a shared object', () => {
  const child = (value = 'x') => share(ConfigMap, { metadata: { ...metadata, labels: { lent: value } } });
  const manager = sharingManager(MANAGER, OWNED.inventory);
  const shared = live(bodyOf(child()), {}, manager);

  test('gets our fields under a manager of the owner’s own, and no owner', () => {
    const write = verdict(child(), [theirs(configMap().object)]).write as ShareWrite;
    assert.deepEqual([write.verb, write.manager], ['share', manager]);
    assert.notEqual(manager, sharingManager(MANAGER, ownershipOf('other').inventory));
    assert.equal(write.body.metadata.ownerReferences, undefined);
    assert.equal(write.body.metadata.labels?.[INVENTORY_LABEL], undefined);
  });

  test('is settled once it has them', () => {
    assert.deepEqual(verdict(child(), [shared]), {});
    assert.equal(verdict(child('y'), [shared]).write?.verb, 'share');
  });

  test('keeps what another client has taken, and that is reported', () => {
    const taken = withEntry(shared, without(entryFor(bodyOf(child()), manager), 'f:metadata/f:labels'));
    const { write, note } = verdict(child(), [taken]);
    assert.equal(write, undefined);
    assert.equal(note?.message, 'ConfigMap default/a: metadata.labels now set by another field manager');
  });

  test('a shared object that was refused is asked for again when the object has changed, not when its status or version has', () => {
    const seen = (object: KubeObject) => (verdict(child(), [object]).write as ShareWrite).seen;
    const object = theirs(configMap().object);
    assert.equal(
      seen({ ...object, metadata: { ...object.metadata, resourceVersion: '8' }, status: {} } as KubeObject),
      seen(object),
    );
    assert.notEqual(seen({ ...object, metadata: { ...object.metadata, labels: { a: 'b' } } }), seen(object));
    assert.notEqual(seen({ ...object, data: {} } as KubeObject), seen(object));
  });
});
