// A small world of a broker and members, in which people act and connections come and go: in the end, all have the same policies, and
// deleted policies stay deleted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { CREATED_AT_ANNOTATION, ORIGIN_LABEL, REAL_NAME_ANNOTATION } from '../kinds/index.ts';
import {
  baseAnnotations,
  baseOf,
  type Content,
  EXPORT,
  EXPORT_FINALIZER,
  REPLACES,
  replacementOf,
  type SyncObject,
} from './content.ts';
import { IN_FORCE, policyInForce } from './in-force.ts';
import { recordPolicies } from './policy-record.ts';
import { mergeLabels, syncOwned } from './sync-owned.ts';
import { type SyncReport, syncPolicy } from './sync-policy.ts';

interface Store {
  readonly objects: Map<string, SyncObject>;
}

interface Backup extends Store {
  readonly policyRecord: readonly string[] | undefined;
}

class World {
  readonly broker: Store = { objects: new Map() };
  readonly members = new Map<string, Store & { readonly reports: Map<string, SyncReport> }>();
  allowMemberPolicies = true;
  /** The uids that the operator of the broker has recorded; undefined for a broker without one. */
  policyRecord: readonly string[] | undefined;
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
    store.objects.set(name, { metadata, spec: DRIVERS.has(spec) ? [{ cableDriver: { name: spec } }] : spec });
  }

  /** A person deletes one; on a member a finalizer holds it. */
  delete(store: Store, name: string): void {
    const old = store.objects.get(name);
    if (old === undefined) return;
    if (store === this.broker && (old.metadata.finalizers ?? []).length === 0) store.objects.delete(name);
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
        isRecorded: this.policyRecord && ((uid) => this.policyRecord?.includes(uid) ?? false),
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
          annotations: {
            ...annotations,
            [EXPORT]: toBroker.mark,
            ...marked(toBroker.inForce),
            ...(toBroker.replaces !== undefined && { [REPLACES]: toBroker.replaces }),
          },
          ...(old === undefined && { finalizers: [EXPORT_FINALIZER] }),
        };
        there.set(name, { metadata, spec });
      } else if (actions.deleteBroker) {
        if (there.get(name)?.metadata.uid === actions.deleteBroker.uid) this.delete(this.broker, name);
      } else if (actions.releaseBroker) {
        const { finalizers: _, ...metadata } = there.get(name)?.metadata ?? {};
        if (metadata.deletionTimestamp === undefined) there.set(name, { metadata, spec: there.get(name)?.spec });
        else there.delete(name);
      } else if (toMember) {
        const key = toMember.asAlias ? `${name}.${toMember.origin}` : name;
        const { labels, annotations, spec } = toMember.content;
        const marks = {
          ...annotations,
          ...baseAnnotations(toMember.base),
          ...marked(toMember.inForce),
          ...(toMember.asAlias && { [REAL_NAME_ANNOTATION]: name }),
        };
        const metadata = {
          name: key,
          uid: this.#next(),
          labels: { ...labels, ...(toMember.origin !== undefined && { [ORIGIN_LABEL]: toMember.origin }) },
          annotations: marks,
        };
        here.set(key, { metadata, spec });
      } else if (base ?? actions.inForce) {
        const isThere = actions.inForce?.onBroker !== undefined;
        const store = isThere ? there : here;
        const old = store.get(name);
        assert.ok(old);
        const marks = marked(isThere ? actions.inForce?.onBroker : actions.inForce?.onMember);
        const annotations = { ...old.metadata.annotations, ...(base && baseAnnotations(base)), ...marks };
        store.set(name, { ...old, metadata: { ...old.metadata, annotations } });
      } else if (actions.release || actions.deleteMember) here.delete(name);
      else changed = before;
      if (actions.deleteAlias && aliasKey !== undefined) {
        here.delete(aliasKey);
        changed = true;
      }
    }
    return changed;
  }

  /** The operator of the broker records the policies that are there. */
  record(): void {
    const policies = [...this.broker.objects.values()].map((each) => ({
      uid: each.metadata.uid ?? '',
      replaces: replacementOf(each)?.uid,
    }));
    this.policyRecord = recordPolicies(this.policyRecord ?? [], policies);
  }

  backup(): Backup {
    return { objects: new Map(this.broker.objects), policyRecord: this.policyRecord };
  }

  /** Sets the broker back, and starts its operator. */
  restore({ objects, policyRecord }: Backup): void {
    this.broker.objects.clear();
    for (const [name, each] of objects) this.broker.objects.set(name, each);
    this.policyRecord = policyRecord;
    this.record();
  }

  settle(): void {
    for (let round = 0; round < 50; round++) {
      const results = [...this.members.keys()].map((id) => this.sync(id));
      const before = this.policyRecord?.length;
      if (before !== undefined) this.record();
      if (!results.includes(true) && this.policyRecord?.length === before) return;
    }
    assert.fail('the members do not come to rest');
  }

  /** The policies in force somewhere, by their real names. */
  policies(store: Store & { readonly reports?: ReadonlyMap<string, SyncReport> }): Record<string, unknown> {
    const entries = [...store.objects].flatMap(([key, object]) => {
      const real = object.metadata.annotations?.[REAL_NAME_ANNOTATION];
      const isLoser = real === undefined && store.reports?.get(key)?.reason === 'NameConflict';
      return isLoser || object.metadata.deletionTimestamp ? [] : [[real ?? key, shown(object.spec)] as const];
    });
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The drivers in force on a member, by the names of policies. */
  inForce(id: string): Record<string, unknown> {
    const { objects, reports } = this.member(id);
    const entries = [...objects].flatMap(([key, object]) => {
      const real = object.metadata.annotations?.[REAL_NAME_ANNOTATION];
      const isLoser = real === undefined && reports.get(key)?.reason === 'NameConflict';
      const [rule] = policyInForce(object, { isMember: true }).rules;
      return isLoser || rule === undefined ? [] : [[real ?? key, rule.driver] as const];
    });
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

const DRIVERS = new Set(['ipsec', 'vxlan', 'wireguard', 'none']);

function marked(inForce: string | undefined): Record<string, string> {
  return inForce === undefined ? {} : { [IN_FORCE]: inForce };
}

/** A driver as the test wrote it. */
function shown(spec: unknown): unknown {
  return Array.isArray(spec) ? (spec as { cableDriver: { name: string } }[])[0]?.cableDriver.name : spec;
}

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
