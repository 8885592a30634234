// This cluster, as far as one backend is concerned: what carries its label, which namespaces there are, and the few ways in which
// a discoverer writes. Only what carries our label is watched; who owns a name that is taken is asked when it matters.
import {
  type Client,
  type Clock,
  createInformer,
  type Informer,
  type KubeObject,
  type Logger,
  Namespace,
  type Random,
  refOf,
} from '@capstan/kube/cluster';
import { BACKEND_LABEL, LABEL_FAMILIES } from '../../kinds/group.ts';
import { patchTo } from '../mirror/patch.ts';
import { labelValue } from '../names/discovered-name.ts';
import type { LocalUnit } from './difference.ts';
import { FIELD_MANAGER, type LocalRecord, RECORDS, type RecordKind, toRecord } from './local-record.ts';

export interface LocalClusterOptions {
  client: Client;
  backend: string;
  /** Whether Endpoints are written. Where they are not, those that Gimbal's own discoverer left are removed all the same. */
  writeEndpoints: boolean;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export interface LocalCluster {
  readonly isSynced: boolean;
  /** Objects of this backend. */
  readonly size: number;
  keys(): Iterable<string>;
  unit(key: string): LocalUnit;
  /** Undefined when we may not know. */
  hasNamespace(name: string): boolean | undefined;
  subscribe(listener: LocalListener): () => void;
  create(kind: RecordKind, object: KubeObject, signal: AbortSignal): Promise<void>;
  change(kind: RecordKind, wanted: KubeObject, record: LocalRecord, signal: AbortSignal): Promise<void>;
  remove(kind: RecordKind, record: LocalRecord, signal: AbortSignal): Promise<void>;
  /** The object as it is on the server, regardless of its owner. */
  find(kind: RecordKind, object: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined>;
  createNamespace(name: string, signal: AbortSignal): Promise<void>;
  /** Calls back when the object of a name that is another's is gone; returns what ends that. */
  whenFree(kind: RecordKind, ref: { namespace: string; name: string }, free: () => void): () => void;
  run(signal: AbortSignal): Promise<void>;
}

export interface LocalListener {
  /** isSynced may have changed. */
  synced(): void;
  changed(keys: ReadonlySet<string>): void;
  namespaceAppeared(name: string): void;
}

export function createLocalCluster(options: LocalClusterOptions): LocalCluster {
  const { client, backend, writeEndpoints, clock, random, logger } = options;
  const common = { client, clock, random, logger };
  const labelSelector = `${BACKEND_LABEL}=${labelValue(backend)}`;
  const informerOf = (kind: RecordKind, selector = labelSelector) =>
    createInformer<LocalRecord>({
      ...common,
      kind: RECORDS[kind],
      labelSelector: selector,
      ownManagers: [FIELD_MANAGER],
      trim: toRecord,
    });
  // What Gimbal's own discoverer made under the other family of labels, until it is taken over.
  const upstreamSelector = `${LABEL_FAMILIES[1]}/backend=${labelValue(backend)},!${BACKEND_LABEL}`;
  const informers = {
    Service: informerOf('Service'),
    EndpointSlice: informerOf('EndpointSlice'),
    Endpoints: informerOf('Endpoints'),
  };
  const own = Object.entries(informers) as [RecordKind, Informer<LocalRecord>][];
  const watched = [
    ...own,
    ...own.map(([kind]): [RecordKind, Informer<LocalRecord>] => [kind, informerOf(kind, upstreamSelector)]),
  ];
  const namespaces = createInformer({ ...common, kind: Namespace, metadataOnly: true });
  const units = new Map<string, Unit>();
  const waits = new Set<Promise<void>>();
  const listeners = new Set<LocalListener>();

  for (const [kind, informer] of watched) {
    informer.subscribe((events) => {
      const keys = new Set<string>();
      let isSynced = false;
      for (const event of events) {
        if (event.type === 'synced' || event.type === 'state') isSynced = true;
        if (event.type === 'upsert') {
          if (event.old !== undefined && event.old.unit !== event.object.unit) drop(kind, event.old, keys);
          put(kind, event.object, keys);
        }
        if (event.type === 'delete') drop(kind, event.object, keys);
      }
      for (const listener of listeners) {
        if (isSynced) listener.synced();
        if (keys.size > 0) listener.changed(keys);
      }
    });
  }
  namespaces.subscribe((events) => {
    for (const event of events) {
      for (const listener of listeners) {
        // Also when we learn that we may not list them: then nothing more is waited for.
        if (event.type === 'synced' || event.type === 'state') listener.synced();
        if (event.type === 'upsert' && event.old === undefined) listener.namespaceAppeared(event.key);
      }
    }
  });

  function put(kind: RecordKind, record: LocalRecord, keys: Set<string>): void {
    const unit = units.get(record.unit) ?? { slices: new Map<string, LocalRecord>() };
    units.set(record.unit, unit);
    if (kind === 'EndpointSlice') unit.slices.set(record.metadata.name ?? '', record);
    else if (kind === 'Service') unit.service = record;
    else unit.endpoints = record;
    keys.add(record.unit);
  }

  function drop(kind: RecordKind, record: LocalRecord, keys: Set<string>): void {
    const unit = units.get(record.unit);
    keys.add(record.unit);
    if (unit === undefined) return;
    // One that has been taken over leaves the one selection when it is in the other already.
    const name = record.metadata.name ?? '';
    const known = kind === 'EndpointSlice' ? unit.slices.get(name) : kind === 'Service' ? unit.service : unit.endpoints;
    if (known !== undefined && known.metadata.resourceVersion !== record.metadata.resourceVersion) return;
    if (kind === 'EndpointSlice') unit.slices.delete(record.metadata.name ?? '');
    else if (kind === 'Service') delete unit.service;
    else delete unit.endpoints;
    if (unit.slices.size === 0 && unit.service === undefined && unit.endpoints === undefined) units.delete(record.unit);
  }

  // Endpoints that it may not list are not its own: it is started as one that writes slices alone.
  const isKnown = ([kind, informer]: [RecordKind, Informer<LocalRecord>]) =>
    informer.isSynced || (kind === 'Endpoints' && !writeEndpoints && informer.state().reason === 'Forbidden');

  // What we may not list we do not know.
  const knowsNamespaces = () => namespaces.isSynced && namespaces.state().reason !== 'Forbidden';

  return {
    get isSynced() {
      const isForbidden = namespaces.state().reason === 'Forbidden';
      return watched.every(isKnown) && (namespaces.isSynced || isForbidden);
    },
    get size() {
      return watched.reduce((sum, [, informer]) => sum + informer.size, 0);
    },
    keys: () => units.keys(),
    unit: (key) => units.get(key) ?? EMPTY,
    hasNamespace(name) {
      if (!knowsNamespaces()) return undefined;
      const found = namespaces.get(name);
      // Nothing can be created in one that is being deleted.
      return found !== undefined && found.metadata.deletionTimestamp === undefined;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async create(kind, object, signal) {
      const written = await client.create(RECORDS[kind], asWritten(object), { fieldManager: FIELD_MANAGER, signal });
      informers[kind]?.observeWrite(written);
    },
    async change(kind, wanted, record, signal) {
      const { resourceVersion = '' } = record.metadata;
      const patch = patchTo(wanted, { resourceVersion, copied: record.copied ?? { labels: [], annotations: [] } });
      const options = { fieldManager: FIELD_MANAGER, signal };
      const written = await client.patch(RECORDS[kind], refOf(wanted), 'merge', patch, options);
      informers[kind]?.observeWrite(written);
    },
    async remove(kind, record, signal) {
      const { uid = '', resourceVersion } = record.metadata;
      // Of exactly this version: the one that took it over in between keeps it.
      const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
      const lingering = await client.delete(RECORDS[kind], refOf(record), { preconditions, signal });
      if (lingering === undefined) informers[kind]?.observeDelete(refOf(record), uid);
    },
    find: (kind, object, signal) => client.find(RECORDS[kind], refOf(object), { signal }),
    async createNamespace(name, signal) {
      const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await client.create(Namespace, object, { fieldManager: FIELD_MANAGER, signal });
    },
    whenFree(kind, { namespace, name }, free) {
      const stopping = new AbortController();
      const informer = createInformer({
        ...common,
        kind: RECORDS[kind],
        namespace,
        fieldSelector: `metadata.name=${name}`,
        metadataOnly: true,
      });
      informer.subscribe((events) => {
        if (informer.isSynced && informer.size === 0 && events.length > 0) free();
      });
      const run = informer.run(stopping.signal).finally(() => waits.delete(run));
      waits.add(run);
      return () => stopping.abort();
    },
    async run(signal) {
      await Promise.all([namespaces.run(signal), ...watched.map(([, informer]) => informer.run(signal))]);
      await Promise.all(waits);
    },
  };
}

interface Unit {
  service?: LocalRecord;
  endpoints?: LocalRecord;
  slices: Map<string, LocalRecord>;
}

const EMPTY: LocalUnit = { slices: new Map() };

function asWritten(object: KubeObject): LocalRecord {
  // The server gets the object as it is; only the type of the kind asks for a record.
  return object as LocalRecord;
}
