import assert from 'node:assert/strict';
import { CREATED_AT_ANNOTATION, ORIGIN_LABEL, REAL_NAME_ANNOTATION } from '../kinds/index.ts';
import { baseAnnotations, EXPORT, EXPORT_FINALIZER, REPLACES, replacementOf, type SyncObject } from './content.ts';
import { IN_FORCE, policyInForce } from './in-force.ts';
import { recordPolicies } from './policy-record.ts';
import { type SyncReport, syncPolicy } from './sync-policy.ts';

interface Store {
  readonly objects: Map<string, SyncObject>;
}

interface Backup extends Store {
  readonly policyRecord: readonly string[] | undefined;
}

export class World {
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
export function shown(spec: unknown): unknown {
  return Array.isArray(spec) ? (spec as { cableDriver: { name: string } }[])[0]?.cableDriver.name : spec;
}
