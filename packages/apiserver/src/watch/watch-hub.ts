import type { UnknownObject, WatchEvent } from '@capstan/kube';
import type { Resource } from '../resources/resource.ts';
import type { Rendering } from '../rest/render.ts';
import type { StoreEvent } from '../store/history.ts';
import { createSchedule, type Schedule } from './event-stream.ts';

/** The shared parts of all watches of a server: their events, the time of their delivery, and the way to end them. */
export interface WatchHub {
  /** The event as watchers of a rendering get it; everybody gets the same one. */
  shared(event: StoreEvent, type: 'ADDED' | 'MODIFIED' | 'DELETED', rendering: Rendering): WatchEvent;
  readonly schedule: Schedule;
  opened(end: () => void, resource: Resource, abort: (error: Error) => void): void;
  closed(end: () => void): void;
  /** Ends the watches of a resource, or all of them. */
  endAll(storageKey?: string): void;
  /** Breaks all watches: events that wait for their readers have not happened after all. */
  abortAll(error: Error): void;
  readonly size: number;
}

export function createWatchHub(durable: () => Promise<void> | undefined): WatchHub {
  const open = new Map<() => void, { key: string; abort: (error: Error) => void }>();
  const made = new WeakMap<StoreEvent, Map<string, WatchEvent>>();

  return {
    shared(event, type, rendering) {
      const make = (): WatchEvent => ({
        type,
        object: (rendering.event ?? rendering.one)(type === 'DELETED' ? lastSeen(event) : event.object),
      });
      if (!rendering.isShared) return make();
      const known = made.get(event) ?? new Map<string, WatchEvent>();
      made.set(event, known);
      const id = `${type} ${rendering.apiVersion} ${rendering.kind}`;
      let result = known.get(id);
      if (!result) {
        result = make();
        known.set(id, result);
      }
      return result;
    },
    schedule: createSchedule(durable),
    opened: (end, resource, abort) => open.set(end, { key: resource.storageKey, abort }),
    closed: (end) => open.delete(end),
    endAll(storageKey) {
      for (const [end, { key }] of open) if (storageKey === undefined || key === storageKey) end();
    },
    abortAll(error) {
      for (const { abort } of open.values()) abort(error);
    },
    get size() {
      return open.size;
    },
  };
}

/** An object that merely stopped matching is deleted for this watcher: in its last matching state, at the new revision. */
function lastSeen(event: StoreEvent): UnknownObject {
  if (event.deleted || !event.previous) return event.object;
  return { ...event.previous, metadata: { ...event.previous.metadata, resourceVersion: String(event.revision) } };
}
