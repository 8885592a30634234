import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ORIGIN_LABEL } from '../kinds/index.ts';
import { baseOf } from './content.ts';
import { World } from './sync-world.test-support.ts';

describe('a restored broker', () => {
  test('loses no policy that was created after the backup, and no deletion after the restore', () => {
    const world = new World('east', 'west', 'away');
    world.record();
    world.put(world.broker, 'old', 'vxlan');
    world.settle();
    const backup = world.backup();
    world.put(world.broker, 'of-broker', 'ipsec');
    world.put(world.member('east'), 'of-east', 'wireguard');
    world.settle();
    world.restore(backup);
    world.sync('west');
    assert.deepEqual(world.member('west').reports.get('of-broker'), { reason: 'BrokerRestored' });
    for (let round = 0; round < 5; round++) {
      for (const id of ['east', 'west']) world.sync(id);
      world.record();
    }
    assert.deepEqual(world.policies(world.broker), { 'of-broker': 'ipsec', 'of-east': 'wireguard', old: 'vxlan' });
    assert.equal(world.broker.objects.get('of-east')?.metadata.labels?.[ORIGIN_LABEL], 'east');
    for (const each of world.broker.objects.values()) assert.deepEqual(each.metadata.finalizers ?? [], []);
    // A member that was away since before the restore knows only the lost object.
    world.delete(world.broker, 'of-broker');
    world.delete(world.member('east'), 'of-east');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { old: 'vxlan' });
  });

  test('a restored broker without a record keeps the copies of members until its operator runs', () => {
    const world = new World('east');
    world.record();
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.broker.objects.clear();
    world.policyRecord = undefined;
    world.settle();
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'NoPolicyRecord' });
    world.record();
    world.settle();
    assert.deepEqual(world.policies(world.broker), { p: 'ipsec' });
  });

  test('does not get back a policy that a member deletes before any member has created it again', () => {
    const world = new World('east', 'west');
    world.record();
    const backup = world.backup();
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.restore(backup);
    world.delete(world.member('east'), 'p');
    world.settle();
    for (const store of [world.broker, ...world.members.values()]) assert.equal(store.objects.size, 0);
  });

  test('does not let a policy go that was created again before its operator has recorded it', () => {
    const world = new World('east', 'away');
    world.record();
    const backup = world.backup();
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.restore(backup);
    for (let round = 0; round < 5; round++) world.sync('east');
    world.delete(world.broker, 'p');
    for (let round = 0; round < 5; round++) world.sync('east');
    world.record();
    for (let round = 0; round < 5; round++) world.sync('east');
    assert.equal(world.broker.objects.size, 0);
    world.settle();
    for (const store of [world.broker, ...world.members.values()]) assert.equal(store.objects.size, 0);
  });

  test('restored at random moments keeps policies and deletions, in 2,000 histories', () => {
    const ids = ['east', 'west', 'north'];
    const place = fc.constantFrom('broker', ...ids);
    const name = fc.constantFrom('p', 'q', 'r');
    const alone = ['record', 'backup', 'restore', 'settle'] as const;
    const step = fc.oneof(
      fc.record({ do: fc.constant('create' as const), place, name }),
      fc.record({ do: fc.constant('delete' as const), place, name }),
      fc.record({ do: fc.constant('sync' as const), place: fc.constantFrom(...ids) }),
      fc.record({ do: fc.constant('sync' as const), place: fc.constantFrom(...ids) }),
      fc.record({ do: fc.constantFrom(...alone), place, name }),
    );
    let kept = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (history) => {
        const world = new World(...ids);
        world.record();
        let backup = world.backup();
        const created = new Set<string>();
        const present = new Set<string>();
        const deleted = new Set<string>();
        const fresh = new Set<string>();
        for (const each of history) {
          if (each.do === 'sync') world.sync(each.place);
          else if (each.do === 'record') world.record();
          else if (each.do === 'settle') world.settle();
          else if (each.do === 'backup') backup = world.backup();
          else if (each.do === 'restore') {
            world.restore(backup);
            // A deletion after the backup may be undone. A policy that is being synced for the first time may be lost, or
            // be created again by a member that has not recorded it.
            deleted.clear();
            for (const each of created) {
              const copies = [...world.members.values()].flatMap(({ objects }) => objects.get(each)?.metadata ?? []);
              const recorded = copies.filter((metadata) => baseOf(metadata)?.isRecorded);
              if (recorded.length < copies.length) fresh.add(each);
              if (recorded.length === 0) present.delete(each);
              else if (present.has(each) && !world.broker.objects.has(each)) kept++;
            }
          } else {
            const store = each.place === 'broker' ? world.broker : world.member(each.place);
            const found = store.objects.get(each.name);
            if (each.do === 'create' && !created.has(each.name)) {
              created.add(each.name);
              present.add(each.name);
              world.put(store, each.name, 'ipsec');
            } else if (each.do === 'delete' && found !== undefined && !found.metadata.deletionTimestamp) {
              world.delete(store, each.name);
              present.delete(each.name);
              deleted.add(each.name);
            }
          }
        }
        world.settle();
        const wanted = world.policies(world.broker);
        for (const store of world.members.values()) assert.deepEqual(world.policies(store), wanted);
        for (const each of present) assert.ok(wanted[each] !== undefined, `${each} was lost`);
        for (const each of deleted.difference(fresh)) assert.ok(wanted[each] === undefined, `${each} came back`);
        for (const { metadata } of world.broker.objects.values()) assert.deepEqual(metadata.finalizers ?? [], []);
      }),
      { numRuns: 2000 },
    );
    assert.ok(kept > 50, `${kept} policies were absent from the backup`);
  });
});
