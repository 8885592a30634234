// A feed brings the objects of one kind into one table of the engine, and shows our own writes there at once.
import { groupOf, type InformerEvent, type InformerView, type KubeObject, refOf } from '@capstan/kube/cluster';
import type { Table } from '../engine/index.ts';
import { holderOf } from './views.ts';

export interface Feed {
  readonly table: Table<KubeObject>;
  /** This is on its way to the server; see InformerView. */
  sending(object: KubeObject): () => void;
  /** Where an own write belongs, it enters at once. */
  observeWrite(object: KubeObject): void;
  observeDelete(object: KubeObject): void;
  readonly isSynced: boolean;
  isFresh(maxAgeMs: number): boolean;
  staleness(): number;
  stop(): void;
}

/**
 * Copies the objects of informers into a table. Several informers (one a namespace, or one an alias) fill one table: it is synced when all
 * are.
 */
export function createFeed(
  table: Table<KubeObject>,
  informers: readonly InformerView<KubeObject>[],
  view: (object: KubeObject) => KubeObject = (object) => object,
  isReady: (informer: InformerView<KubeObject>) => boolean = (informer) => informer.isSynced,
): Feed {
  const onEvents = (events: readonly InformerEvent<KubeObject>[]) => {
    for (const event of events) {
      if (event.type === 'upsert' || event.type === 'delete') {
        const { key } = event;
        // With one informer the event is complete; with several another may hold the key.
        const object =
          informers.length > 1 ? holderOf(informers, key) : event.type === 'upsert' ? event.object : undefined;
        if (object === undefined) table.delete(key);
        else table.put(key, view(object));
      } else if (informers.every(isReady)) table.synced();
    }
  };
  /** Not listed, and not waited for. */
  const isMissing = (informer: InformerView<KubeObject>) => !informer.isSynced && isReady(informer);
  const stops = informers.map((informer) => informer.subscribe(onEvents));
  if (informers.every(isReady)) table.synced();
  return {
    table,
    sending(object) {
      const ends = informers.filter((informer) => isOf(informer, object)).map((informer) => informer.sending(object));
      return () => {
        for (const end of ends) end();
      };
    },
    observeWrite(object) {
      for (const informer of informers)
        if (informers.length === 1 || isOf(informer, object)) informer.observeWrite(object);
    },
    observeDelete(object) {
      const { uid = '', resourceVersion } = object.metadata;
      for (const informer of informers) informer.observeDelete(refOf(object), uid, resourceVersion);
    },
    get isSynced() {
      return informers.every(isReady);
    },
    isFresh: (maxAgeMs) => informers.every((informer) => isMissing(informer) || informer.isFresh(maxAgeMs)),
    staleness: () => Math.max(0, ...informers.map((informer) => (isMissing(informer) ? 0 : informer.staleness()))),
    stop() {
      for (const stop of stops) stop();
    },
  };
}

/** An informer of another alias never receives the object from its watch: if it took it in, it would never remove it. */
function isOf({ kind }: InformerView<KubeObject>, object: KubeObject): boolean {
  return kind.kind === object.kind && kind.group === groupOf(object.apiVersion);
}
