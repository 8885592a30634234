// A small world of a broker and members, in which people act and connections come and go: in the end, all have the same policies, and
// deleted policies stay deleted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ORIGIN_LABEL } from '../kinds/index.ts';
import { baseAnnotations, type Content, EXPORT, type SyncObject } from './content.ts';
import { mergeLabels, syncOwned } from './sync-owned.ts';
import { shown, World } from './sync-world.test-support.ts';

describe('a policy', () => {
  test('a policy that is created on a member is seen everywhere, and deleted everywhere', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    assert.deepEqual(world.policies(world.member('west')), { p: 'ipsec' });
    assert.equal(world.broker.objects.get('p')?.metadata.labels?.[ORIGIN_LABEL], 'east');
    world.delete(world.member('west'), 'p');
    world.settle();
    for (const store of [world.broker, world.member('east'), world.member('west')]) assert.equal(store.objects.size, 0);
  });

  test('a policy that was deleted during a partition does not come back', () => {
    const world = new World('east', 'west');
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.delete(world.broker, 'p');
    world.sync('east');
    world.put(world.member('west'), 'other', 'vxlan');
    world.settle();
    assert.deepEqual(world.policies(world.broker), { other: 'vxlan' });
    assert.deepEqual(world.policies(world.member('west')), { other: 'vxlan' });
  });

  test('a policy that was deleted and created again on the broker is the new one', () => {
    const world = new World('east');
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.delete(world.member('east'), 'p');
    world.delete(world.broker, 'p');
    world.put(world.broker, 'p', 'vxlan');
    world.settle();
    assert.deepEqual(world.policies(world.member('east')), { p: 'vxlan' });
  });

  test('a policy that was edited on both sides is the broker’s, and the loser is reported', () => {
    const world = new World('east', 'west');
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.put(world.broker, 'p', 'wireguard');
    world.sync('east');
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'EditLost', editor: 'submariner-broker' });
    world.settle();
    assert.deepEqual(world.policies(world.member('west')), { p: 'wireguard' });
  });

  test('a policy that was edited back before its member knew that the edit had arrived is as it was edited last', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.sync('east');
    assert.equal(shown(world.broker.objects.get('p')?.spec), 'vxlan');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { p: 'ipsec' });
  });

  test('a policy that was edited or deleted before its member knew that its creation had arrived is as the user left it', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'edited', 'ipsec');
    world.put(world.member('east'), 'deleted', 'ipsec');
    world.sync('east');
    world.put(world.member('east'), 'edited', 'vxlan');
    world.put(world.member('east'), 'deleted', 'vxlan');
    world.delete(world.member('east'), 'deleted');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { edited: 'vxlan' });
    assert.deepEqual(world.member('east').reports.get('edited'), { reason: 'Synced' });
  });

  test('a policy that another cluster edits between two edits of its member is the broker’s', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.sync('east');
    world.put(world.broker, 'p', 'wireguard');
    world.put(world.member('east'), 'p', 'none');
    world.sync('east');
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'EditLost', editor: 'submariner-broker' });
    world.settle();
    // An older object that the broker brings back later is not taken for the earlier export.
    world.put(world.broker, 'p', 'vxlan');
    world.settle();
    assert.deepEqual(world.policies(world.member('east')), { p: 'vxlan' });
  });

  test('has no origin on the member that created it, also after an edit elsewhere', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    world.put(world.member('west'), 'p', 'vxlan');
    world.settle();
    assert.deepEqual(world.policies(world.member('east')), { p: 'vxlan' });
    assert.equal(world.member('east').objects.get('p')?.metadata.labels?.[ORIGIN_LABEL], undefined);
    assert.equal(world.member('west').objects.get('p')?.metadata.labels?.[ORIGIN_LABEL], 'east');
  });

  test('a policy that is in force keeps its name, and one of the same name takes over when it goes', () => {
    const world = new World('west', 'north');
    world.put(world.member('west'), 'p', 'ipsec', '2026-01-02');
    world.settle();
    // The policy of the member that joins later is older: that does not count.
    world.members.set('east', { objects: new Map(), reports: new Map() });
    world.put(world.member('east'), 'p', 'vxlan', '2026-01-01');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { p: 'ipsec' });
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'NameConflict', owner: 'west' });
    assert.equal(shown(world.member('east').objects.get('p')?.spec), 'vxlan');
    for (const id of world.members.keys()) assert.deepEqual(world.inForce(id), { p: 'ipsec' });
    world.delete(world.member('north'), 'p');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { p: 'vxlan' });
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'Synced' });
  });

  test('a policy that loses an edit names the cluster that made the other one, not the one that created the policy', () => {
    const world = new World('east', 'west', 'north');
    world.put(world.member('north'), 'p', 'ipsec');
    world.settle();
    world.put(world.member('west'), 'p', 'wireguard');
    world.put(world.member('east'), 'p', 'vxlan');
    world.sync('west');
    world.sync('east');
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'EditLost', editor: 'west' });
  });

  test('a policy that is created, edited and deleted on the broker at that moment does not come back, in 400 orders', () => {
    const step = fc.constantFrom('sync east', 'sync west', 'edit', 'delete');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.boolean(), (order, edits) => {
        const world = new World('east', 'west');
        const east = world.member('east');
        world.put(east, 'p', 'ipsec');
        world.sync('east');
        let isDeleted = false;
        for (const each of [...order, 'delete']) {
          if (each === 'edit' && edits && !isDeleted) world.put(east, 'p', east.objects.size % 2 ? 'vxlan' : 'none');
          if (each === 'delete') {
            world.delete(world.broker, 'p');
            isDeleted = true;
          }
          if (each === 'sync east') world.sync('east');
          if (each === 'sync west') world.sync('west');
        }
        world.settle();
        for (const store of [world.broker, ...world.members.values()]) assert.equal(store.objects.size, 0);
      }),
      { numRuns: 400 },
    );
  });

  test('a policy that becomes invalid stays in force as it was, also on a member that joins later', () => {
    for (const place of ['broker', 'east'] as const) {
      const world = new World('east', 'west');
      world.put(world.broker, 'p', 'ipsec');
      world.settle();
      world.put(place === 'broker' ? world.broker : world.member(place), 'p', 'no driver at all');
      world.settle();
      world.members.set('late', { objects: new Map(), reports: new Map() });
      world.settle();
      for (const id of world.members.keys()) assert.deepEqual(world.inForce(id), { p: 'ipsec' }, `${place}: ${id}`);
      assert.equal(world.member('late').objects.get('p')?.spec, 'no driver at all', 'the spec is as the user wrote it');
      world.put(world.member('late'), 'p', 'wireguard');
      world.settle();
      for (const id of world.members.keys()) assert.deepEqual(world.inForce(id), { p: 'wireguard' });
    }
  });

  test('a policy of which an earlier version is on a restored broker is brought back as it was last', () => {
    const world = new World('east', 'west');
    world.put(world.broker, 'p', 'vxlan');
    world.settle();
    const backup = world.broker.objects.get('p');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    assert.ok(backup);
    world.broker.objects.set('p', backup);
    world.sync('west');
    assert.deepEqual(world.member('west').reports.get('p'), { reason: 'BrokerRestored' });
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { p: 'ipsec' });
  });

  test('a policy that a member has created or edited is in force there only when the broker has it', () => {
    const world = new World('east', 'west');
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.put(world.member('east'), 'q', 'vxlan');
    assert.deepEqual(world.inForce('east'), { p: 'ipsec' });
    world.settle();
    for (const id of world.members.keys()) assert.deepEqual(world.inForce(id), { p: 'vxlan', q: 'vxlan' });
  });

  test('a policy of a member is refused where the broker does not take any', () => {
    const world = new World('east');
    world.allowMemberPolicies = false;
    world.put(world.member('east'), 'mine', 'ipsec');
    world.put(world.broker, 'p', 'vxlan');
    world.settle();
    assert.deepEqual(world.policies(world.broker), { p: 'vxlan' });
    assert.deepEqual(world.member('east').reports.get('mine'), { reason: 'MemberPoliciesNotAllowed' });
    world.delete(world.member('east'), 'p');
    world.settle();
    assert.deepEqual(world.policies(world.member('east')), { mine: 'ipsec', p: 'vxlan' });
  });

  test('is the same everywhere after any history', () => {
    const place = fc.constantFrom('broker', 'east', 'west', 'north');
    const name = fc.constantFrom('p', 'q');
    const step = fc.oneof(
      fc.record({ do: fc.constant('put' as const), place, name, spec: fc.constantFrom('ipsec', 'vxlan', 'invalid') }),
      fc.record({ do: fc.constant('delete' as const), place, name }),
      fc.record({ do: fc.constant('sync' as const), place: fc.constantFrom('east', 'west', 'north') }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (history) => {
        const world = new World('east', 'west', 'north');
        for (const each of history) {
          const store = each.place === 'broker' ? world.broker : world.member(each.place);
          if (each.do === 'put' && store.objects.get(each.name)?.metadata.deletionTimestamp === undefined)
            world.put(store, each.name, each.spec);
          else if (each.do === 'delete') world.delete(store, each.name);
          else if (each.do === 'sync') world.sync(each.place);
        }
        world.settle();
        const wanted = world.policies(world.broker);
        for (const store of world.members.values()) assert.deepEqual(world.policies(store), wanted);
        // A member that joins later uses the same rules as all others.
        world.members.set('late', { objects: new Map(), reports: new Map() });
        world.settle();
        for (const id of world.members.keys()) assert.deepEqual(world.inForce(id), world.inForce('late'));
        assert.equal(
          [...world.members.keys()].some((id) => world.sync(id)),
          false,
          'nothing is left to do',
        );
      }),
      { numRuns: 2000 },
    );
  });
});

const BOTH = { a: '1', b: '2' };

test('a policy that one member alone writes is what was written last, after any history', () => {
  const name = fc.constantFrom('p', 'q');
  const step = fc.oneof(
    fc.record({ do: fc.constant('put' as const), name, spec: fc.constantFrom('ipsec', 'vxlan') }),
    fc.record({ do: fc.constant('delete' as const), name }),
    fc.record({ do: fc.constant('sync' as const), place: fc.constantFrom('east', 'east', 'west') }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (history) => {
      const world = new World('east', 'west');
      const east = world.member('east');
      const written = new Map<string, string>();
      for (const each of history) {
        if (each.do === 'sync') {
          world.sync(each.place);
          continue;
        }
        // A name is free again when its deletion is complete.
        if (east.objects.get(each.name)?.metadata.deletionTimestamp !== undefined) world.settle();
        if (each.do === 'put') {
          world.put(east, each.name, each.spec);
          written.set(each.name, each.spec);
        } else if (written.delete(each.name)) world.delete(east, each.name);
      }
      world.settle();
      const wanted = Object.fromEntries([...written].toSorted(([a], [b]) => (a < b ? -1 : 1)));
      for (const store of [world.broker, ...world.members.values()]) assert.deepEqual(world.policies(store), wanted);
    }),
    { numRuns: 2000 },
  );
});

describe('a cluster', () => {
  const object = (labels: Record<string, string>, annotations: Record<string, string> = {}): SyncObject => ({
    metadata: { name: 'east', uid: 'u', resourceVersion: '1', labels, annotations },
    spec: { cluster_id: 'east' },
  });

  /** One side after the other, until nothing is to be done. */
  function settled(member: SyncObject, broker: SyncObject): [SyncObject, SyncObject] {
    for (let round = 0; round < 10; round++) {
      const { toBroker, toMember } = syncOwned({ local: 'east', isOwn: true, member, broker });
      if (toBroker === undefined && toMember === undefined) return [member, broker];
      if (toBroker) broker = exported(broker, toBroker);
      if (toMember) member = object({ ...toMember.content.labels }, baseAnnotations(toMember.base));
    }
    return assert.fail('the two sides do not come to rest');
  }
  function exported({ metadata }: SyncObject, { content, mark }: { content: Content; mark: string }): SyncObject {
    const { labels, annotations } = object({ ...content.labels }, { [EXPORT]: mark }).metadata;
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    return {
      metadata: { ...metadata, resourceVersion, labels: labels ?? {}, annotations: annotations ?? {} },
      spec: content.spec,
    };
  }
  const withLabels = ({ metadata, spec }: SyncObject, labels: Record<string, string>): SyncObject => ({
    metadata: { ...metadata, resourceVersion: String(Number(metadata.resourceVersion) + 1), labels },
    spec,
  });

  test('keeps the labels that users set on either side', () => {
    const [member, broker] = settled(object({ a: '1' }), object({ b: '2' }));
    assert.deepEqual([member.metadata.labels, broker.metadata.labels], [BOTH, BOTH]);
    assert.deepEqual(mergeLabels({ a: '1', b: '2' }, { a: '1' }, { a: '1', b: '2' }), { a: '1' });
    assert.deepEqual(mergeLabels({ a: '1' }, { a: '2' }, { a: '3' }), { a: '2' });
  });

  test('keeps a label of its member whose export failed', () => {
    const [member, broker] = settled(object({ a: '1' }), object({ a: '1' }));
    const edited = withLabels(member, BOTH);
    const { toBroker, toMember } = syncOwned({ local: 'east', isOwn: true, member: edited, broker });
    assert.deepEqual([toBroker?.content.labels, toMember], [BOTH, undefined]);
    const [after] = settled(edited, broker);
    assert.deepEqual(after.metadata.labels, BOTH);
  });

  test('does not get back a label that was removed before its member knew that it had arrived', () => {
    const [member, broker] = settled(object({ a: '1' }), object({ a: '1' }));
    const { toBroker } = syncOwned({ local: 'east', isOwn: true, member: withLabels(member, BOTH), broker });
    assert.ok(toBroker);
    const [after] = settled(member, exported(broker, toBroker));
    assert.deepEqual(after.metadata.labels, { a: '1' });
  });

  test('is exported by its owner, copied by others and removed with it', () => {
    assert.deepEqual(
      syncOwned({ local: 'east', isOwn: true, member: object({}), broker: undefined }).toBroker?.content.spec,
      {
        cluster_id: 'east',
      },
    );
    assert.deepEqual(syncOwned({ local: 'east', isOwn: true, member: undefined, broker: object({}) }).deleteBroker, {
      uid: 'u',
    });
    const { toMember } = syncOwned({ local: 'east', isOwn: false, member: undefined, broker: object({ env: 'x' }) });
    assert.ok(toMember);
    assert.deepEqual(
      syncOwned({
        local: 'east',
        isOwn: false,
        member: object({ env: 'x' }, baseAnnotations(toMember.base)),
        broker: object({ env: 'x' }),
      }),
      {},
    );
    assert.deepEqual(syncOwned({ local: 'east', isOwn: false, member: object({}), broker: undefined }), {
      deleteMember: true,
    });
  });

  test('writes nothing when both sides agree', () => {
    const first = syncOwned({ local: 'east', isOwn: true, member: object({ a: '1' }), broker: object({ a: '1' }) });
    assert.ok(first.toMember);
    const settled = object({ a: '1' }, baseAnnotations(first.toMember.base));
    assert.deepEqual(syncOwned({ local: 'east', isOwn: true, member: settled, broker: object({ a: '1' }) }), {});
  });
});
