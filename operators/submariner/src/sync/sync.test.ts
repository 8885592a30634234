// A small world of a broker and members, in which people act and connections come and go: whatever happened, all end up with
// the same policies, and what was deleted stays deleted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { CREATED_AT_ANNOTATION, ORIGIN_LABEL, REAL_NAME_ANNOTATION } from '../kinds/index.ts';
import { baseAnnotations, type Content, contentOf, EXPORT, type SyncObject } from './content.ts';
import { mergeLabels, syncOwned } from './sync-owned.ts';
import { type SyncReport, syncPolicy } from './sync-policy.ts';

interface Store {
  readonly objects: Map<string, SyncObject>;
}

class World {
  readonly broker: Store = { objects: new Map() };
  readonly members = new Map<string, Store & { readonly reports: Map<string, SyncReport> }>();
  allowMemberPolicies = true;
  #counter = 0;

  constructor(...ids: string[]) {
    for (const id of ids) this.members.set(id, { objects: new Map(), reports: new Map() });
  }

  member(id: string) {
    const found = this.members.get(id);
    assert.ok(found);
    return found;
  }

  #next(): string {
    return String(++this.#counter).padStart(6, '0');
  }

  /** A person creates or edits a policy. */
  put(store: Store, name: string, spec: string, createdAt?: string): void {
    const old = store.objects.get(name);
    const annotations = old?.metadata.annotations ?? { [CREATED_AT_ANNOTATION]: createdAt ?? `2026-${this.#next()}` };
    const metadata = { uid: this.#next(), ...old?.metadata, name, annotations, resourceVersion: this.#next() };
    store.objects.set(name, { metadata, spec });
  }

  /** A person deletes one; on a member a finalizer holds it. */
  delete(store: Store, name: string): void {
    const old = store.objects.get(name);
    if (old === undefined) return;
    if (store === this.broker) store.objects.delete(name);
    else store.objects.set(name, { ...old, metadata: { ...old.metadata, deletionTimestamp: 'now' } });
  }

  /** One member, while it is connected. */
  sync(id: string): boolean {
    const member = this.member(id);
    const { objects: here } = member;
    const { objects: there } = this.broker;
    let changed = false;
    const aliases = new Map(
      [...here].flatMap(([key, each]) => {
        const real = each.metadata.annotations?.[REAL_NAME_ANNOTATION];
        return real === undefined ? [] : [[real, key] as const];
      }),
    );
    const names = new Set([...here.keys(), ...there.keys()].filter((name) => ![...aliases.values()].includes(name)));
    for (const name of names) {
      const aliasKey = aliases.get(name);
      const actions = syncPolicy({
        local: id,
        member: here.get(name),
        alias: aliasKey === undefined ? undefined : here.get(aliasKey),
        broker: there.get(name),
        allowMemberPolicies: this.allowMemberPolicies,
      });
      const { toBroker, toMember, base, report } = actions;
      member.reports.set(name, report);
      const before: boolean = changed;
      changed = true;
      if (toBroker) {
        const old = there.get(name);
        assert.equal(toBroker.resourceVersion, old?.metadata.resourceVersion);
        const { labels, annotations, spec } = toBroker.content;
        const metadata = {
          ...old?.metadata,
          name,
          uid: old?.metadata.uid ?? this.#next(),
          resourceVersion: this.#next(),
          labels: { ...labels, [ORIGIN_LABEL]: toBroker.origin },
          annotations: { ...annotations, [EXPORT]: toBroker.mark },
        };
        there.set(name, { metadata, spec });
      } else if (actions.deleteBroker) {
        if (there.get(name)?.metadata.uid === actions.deleteBroker.uid) there.delete(name);
      } else if (toMember) {
        const key = toMember.asAlias ? `${name}.${toMember.origin}` : name;
        const { labels, annotations, spec } = toMember.content;
        const marks = {
          ...annotations,
          ...baseAnnotations(toMember.base),
          ...(toMember.asAlias && { [REAL_NAME_ANNOTATION]: name }),
        };
        const metadata = {
          name: key,
          uid: this.#next(),
          labels: { ...labels, ...(toMember.origin !== undefined && { [ORIGIN_LABEL]: toMember.origin }) },
          annotations: marks,
        };
        here.set(key, { metadata, spec });
      } else if (base) {
        const old = here.get(name);
        assert.ok(old);
        const annotations = { ...old.metadata.annotations, ...baseAnnotations(base) };
        here.set(name, { ...old, metadata: { ...old.metadata, annotations } });
      } else if (actions.release || actions.deleteMember) here.delete(name);
      else changed = before;
      if (actions.deleteAlias && aliasKey !== undefined) {
        here.delete(aliasKey);
        changed = true;
      }
    }
    return changed;
  }

  settle(): void {
    for (let round = 0; round < 50; round++) {
      const results = [...this.members.keys()].map((id) => this.sync(id));
      if (!results.includes(true)) return;
    }
    assert.fail('the members do not come to rest');
  }

  /** The policies in force somewhere, by their real names. */
  policies(store: Store & { readonly reports?: ReadonlyMap<string, SyncReport> }): Record<string, unknown> {
    const entries = [...store.objects].flatMap(([key, object]) => {
      const real = object.metadata.annotations?.[REAL_NAME_ANNOTATION];
      const isLoser = real === undefined && store.reports?.get(key)?.reason === 'NameConflict';
      return isLoser ? [] : [[real ?? key, contentOf(object).spec] as const];
    });
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

describe('a policy', () => {
  test('that is created on a member is seen everywhere, and deleted everywhere', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    assert.deepEqual(world.policies(world.member('west')), { p: 'ipsec' });
    assert.equal(world.broker.objects.get('p')?.metadata.labels?.[ORIGIN_LABEL], 'east');
    world.delete(world.member('west'), 'p');
    world.settle();
    for (const store of [world.broker, world.member('east'), world.member('west')]) assert.equal(store.objects.size, 0);
  });

  test('that was deleted during a partition does not come back', () => {
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

  test('that was deleted and created again on the broker is the new one', () => {
    const world = new World('east');
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.delete(world.member('east'), 'p');
    world.delete(world.broker, 'p');
    world.put(world.broker, 'p', 'vxlan');
    world.settle();
    assert.deepEqual(world.policies(world.member('east')), { p: 'vxlan' });
  });

  test('that was edited on both sides is the broker’s, and the loser is reported', () => {
    const world = new World('east', 'west');
    world.put(world.broker, 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.put(world.broker, 'p', 'wireguard');
    world.sync('east');
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'EditLost', owner: 'submariner-broker' });
    world.settle();
    assert.deepEqual(world.policies(world.member('west')), { p: 'wireguard' });
  });

  test('that was edited back before its member knew that the edit had arrived is as it was edited last', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.sync('east');
    assert.equal(world.broker.objects.get('p')?.spec, 'vxlan');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { p: 'ipsec' });
  });

  test('that was edited or deleted before its member knew that its creation had arrived is as the user left it', () => {
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

  test('that another cluster edits between two edits of its member is the broker’s', () => {
    const world = new World('east', 'west');
    world.put(world.member('east'), 'p', 'ipsec');
    world.settle();
    world.put(world.member('east'), 'p', 'vxlan');
    world.sync('east');
    world.put(world.broker, 'p', 'wireguard');
    world.put(world.member('east'), 'p', 'none');
    world.sync('east');
    assert.deepEqual(world.member('east').reports.get('p'), { reason: 'EditLost', owner: 'east' });
    world.settle();
    // What the broker brings back later is not taken for what was exported before.
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

  test('that two clusters created under one name is the earlier one for all, and the loser is reported', () => {
    const world = new World('east', 'west', 'north');
    world.put(world.member('west'), 'p', 'of west', '2026-01-02');
    world.sync('west');
    world.sync('west');
    world.put(world.member('east'), 'p', 'of east', '2026-01-01');
    world.settle();
    for (const store of [world.broker, ...world.members.values()])
      assert.deepEqual(world.policies(store), { p: 'of east' });
    assert.deepEqual(world.member('west').reports.get('p'), { reason: 'NameConflict', owner: 'east' });
    assert.equal(world.member('west').objects.get('p')?.spec, 'of west');
  });

  test('of a member is refused where the broker does not take any', () => {
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
      fc.record({ do: fc.constant('put' as const), place, name, spec: fc.constantFrom('a', 'b', 'c') }),
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
    fc.record({ do: fc.constant('put' as const), name, spec: fc.constantFrom('a', 'b') }),
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
