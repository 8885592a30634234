// The caches as they would be: the changes of a preview lie over them, with the server's own changes.
import {
  formatTime,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  kindId,
  type ObjectRef,
} from '@capstan/kube/cluster';
import type { Fork, Table } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime-types.ts';
import { disturbanceOf } from './disturbance.ts';
import type { PreviewWrite } from './preview.ts';
import { whenAccepted, whenReady } from './ready.ts';
import { virtuallyDeleted } from './virtual-objects/virtual.ts';

/** Later work counts as work of its own: a renewal, a window of maintenance. */
export const HORIZON_MS = 10 * 60_000;

export interface Overlay {
  readonly fork: Fork;
  /** The time of all that would be written. */
  readonly now: string;
  /** The objects that Kubernetes' garbage collector would remove. */
  readonly collected: readonly PreviewWrite[];
  /** Objects that would be deleted, as `Kind namespace/name`. */
  readonly gone: ReadonlySet<string>;
  get(world: string, kind: Kind, key: string): KubeObject | undefined;
  /** The report about a key of a reconciler, as it would be. */
  report<R>(table: Table<R>, key: string): R | undefined;
  setReport<R>(table: Table<R>, key: string, report: R | undefined): void;
  /** Reports whether the preview has changed the object, or met it. */
  isTouched(world: string, kind: Kind, key: string): boolean;
  /** An object of the server that the caches do not hold. */
  meet(world: string, kind: Kind, object: KubeObject): void;
  put(world: string, kind: Kind, object: KubeObject): void;
  delete(world: string, kind: Kind, object: KubeObject): void;
  /** As a person's delete: held objects stay until they are released. */
  remove(world: string, kind: Kind, ref: ObjectRef): void;
  /** Lets time pass until the next instant that the change alone waits for; the milliseconds from now, undefined when there is none. */
  pass(): number | undefined;
  /** Returns true for an instant after the horizon that the change alone waits for. */
  isBeyond(instant: string): boolean;
  /** Lets the pods of changed workloads become ready; false when there is none left. */
  becomeReady(): boolean;
}

export function createOverlay(runtime: Runtime): Overlay {
  const { table: time } = runtime.instants;
  const fork = runtime.engine.fork([time, ...runtime.sinks.map(({ reports }) => reports)]);
  const start = runtime.instants.now();
  const now = formatTime(start);
  let reached = start;
  const changed = new Map<string, KubeObject | undefined>();
  /** Objects that the caches do not hold. */
  const met = new Map<string, KubeObject>();
  /** Changed workloads whose pods are not ready yet. */
  const starting = new Map<string, { world: string; kind: Kind; key: string }>();
  const goneUids = new Set<string>();
  const reports = new Map<Table<never>, Map<string, unknown>>();
  const gone = new Set<string>();
  const collected: PreviewWrite[] = [];
  const idOf = (world: string, kind: Kind, key: string) => `${world}\n${kindId(kind)}\n${key}`;
  const tables = (world: string, kind: Kind) => {
    const found = runtime.worlds.get(world);
    return [...new Set([found?.readTable(kind), found?.childTable(kind)])].filter((table) => table !== undefined);
  };
  const overlay: Overlay = {
    fork,
    now,
    collected,
    gone,
    get(world, kind, key) {
      const id = idOf(world, kind, key);
      if (changed.has(id)) return changed.get(id);
      const cached = tables(world, kind).map((table) => table.peek(key));
      return cached.find((object) => object !== undefined) ?? met.get(id);
    },
    isTouched: (world, kind, key) => changed.has(idOf(world, kind, key)) || met.has(idOf(world, kind, key)),
    meet(world, kind, object) {
      met.set(idOf(world, kind, keyOfObject(object)), object);
    },
    report<R>(table: Table<R>, key: string) {
      const changedOf = reports.get(table as Table<never>);
      return changedOf?.has(key) ? (changedOf.get(key) as R | undefined) : table.peek(key);
    },
    setReport(table, key, report) {
      const changedOf = reports.get(table as Table<never>) ?? new Map<string, unknown>();
      reports.set(table as Table<never>, changedOf.set(key, report));
      if (report === undefined) fork.delete(table, key);
      else fork.put(table, key, report);
    },
    put(world, kind, written) {
      const { deletionTimestamp, finalizers = [] } = written.metadata;
      // The server removes an object that goes as soon as nothing holds it any more, whoever releases it.
      if (deletionTimestamp !== undefined && finalizers.length === 0) {
        overlay.delete(world, kind, written);
        return;
      }
      const object = whenAccepted(kind, written);
      const key = keyOfObject(object);
      changed.set(idOf(world, kind, key), object);
      if (whenReady(kind, object) !== undefined) starting.set(idOf(world, kind, key), { world, kind, key });
      for (const table of tables(world, kind)) fork.put(table, key, object);
    },
    delete(world, kind, object) {
      const key = keyOfObject(object);
      changed.set(idOf(world, kind, key), undefined);
      starting.delete(idOf(world, kind, key));
      gone.add(`${kind.kind} ${key}`);
      if (object.metadata.uid !== undefined) goneUids.add(object.metadata.uid);
      for (const table of tables(world, kind)) fork.delete(table, key);
      collect(world, object);
    },
    remove(world, kind, ref) {
      const object = overlay.get(world, kind, keyOf(ref));
      if (object === undefined) return;
      const held = virtuallyDeleted(object, now);
      if (held === undefined) overlay.delete(world, kind, object);
      else overlay.put(world, kind, held);
    },
    pass() {
      const { isAwaited } = runtime.instants;
      const isDue = (instant: number) => instant > reached && instant <= start + HORIZON_MS;
      const due = fork.noted(time).filter((key) => isDue(Number(key)) && !isAwaited(key));
      if (due.length === 0) return undefined;
      reached = Math.min(...due.map(Number));
      fork.put(time, String(reached), true);
      return reached - start;
    },
    isBeyond: (instant) => Number(instant) > start + HORIZON_MS && !runtime.instants.isAwaited(instant),
    becomeReady() {
      const waiting = [...starting.values()];
      for (const { world, kind, key } of waiting) {
        const object = overlay.get(world, kind, key);
        const ready = object && whenReady(kind, object);
        if (ready !== undefined) overlay.put(world, kind, ready);
      }
      starting.clear();
      return waiting.length > 0;
    },
  };

  /** An object that has another owner stays. */
  function isKept(object: KubeObject): boolean {
    return object.metadata.ownerReferences?.some(({ uid }) => !goneUids.has(uid)) ?? false;
  }

  function collect(world: string, owner: KubeObject): void {
    for (const { kind, object } of runtime.worlds.get(world)?.ownedBy(owner) ?? []) {
      if (overlay.get(world, kind, keyOfObject(object)) === undefined || isKept(object)) continue;
      const disturbs = disturbanceOf({ verb: 'delete', kind }, object, undefined);
      collected.push({
        level: 1,
        by: 'garbage collection',
        for: `${owner.kind} ${keyOfObject(owner)}`,
        verb: 'delete',
        object: `${kind.kind} ${keyOfObject(object)}`,
        paths: [],
        changes: [],
        ...(disturbs === undefined ? {} : { disturbs }),
      });
      overlay.delete(world, kind, object);
    }
  }
  return overlay;
}
