// metadata.managedFields as a table of managers. An applier is one manager whatever version he speaks; other writers are
// distinguished by version too, and both by subresource.
import type { ManagedFieldsEntry } from '@capstan/kube';
import { decodeFields, encodeFields, equalSets, type FieldSet, isEmpty } from './field-set.ts';

export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** As it was stored, to be stored again when nothing changed. */
  readonly source?: ManagedFieldsEntry;
}

export type Managers = ReadonlyMap<string, Manager>;

export function managerId({ name, operation, apiVersion, subresource }: Omit<Manager, 'set' | 'time'>): string {
  return JSON.stringify([name, operation, operation === 'Apply' ? '' : apiVersion, subresource]);
}

// Stored objects are immutable, so a decoded entry stays valid.
export type DecodeCache = WeakMap<ManagedFieldsEntry, FieldSet>;

export function decodeManagers(entries: readonly ManagedFieldsEntry[] | undefined, cache: DecodeCache): Managers {
  const managers = new Map<string, Manager>();
  for (const entry of entries ?? []) {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') continue;
    let set = cache.get(entry);
    if (!set) {
      set = decodeFields(entry.fieldsV1);
      cache.set(entry, set);
    }
    const manager: Manager = {
      name: entry.manager ?? '',
      operation: entry.operation,
      apiVersion: entry.apiVersion ?? '',
      subresource: entry.subresource ?? '',
      time: entry.time,
      set,
      source: entry,
    };
    managers.set(managerId(manager), manager);
  }
  return managers;
}

/** The stored form, in the order of Kubernetes. */
export function encodeManagers(managers: Managers, cache: DecodeCache): ManagedFieldsEntry[] {
  const kept = [...managers.values()].filter(({ set }) => !isEmpty(set));
  const entries = kept.map((manager) => {
    const { source } = manager;
    const known = source && cache.get(source);
    if (source && known && source.time === manager.time && source.apiVersion === manager.apiVersion) {
      if (equalSets(known, manager.set)) return source;
    }
    const entry: ManagedFieldsEntry = {
      manager: manager.name,
      operation: manager.operation,
      apiVersion: manager.apiVersion,
      ...(manager.time !== undefined && { time: manager.time }),
      fieldsType: 'FieldsV1',
      fieldsV1: encodeFields(manager.set),
      ...(manager.subresource !== '' && { subresource: manager.subresource }),
    };
    cache.set(entry, manager.set);
    return entry;
  });
  return entries.sort(compareEntries);
}

/** Orders entries as Kubernetes does: appliers first, then by time, then by name. */
export function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    order(a.operation, b.operation) ||
    order(a.time, b.time) ||
    order(a.manager, b.manager) ||
    order(a.apiVersion, b.apiVersion) ||
    order(a.subresource, b.subresource)
  );
}

function order(a = '', b = ''): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
