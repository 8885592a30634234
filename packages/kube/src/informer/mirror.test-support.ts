import assert from 'node:assert/strict';
import type { KubeObject, ObjectKey } from '../object.ts';
import { isNewerResourceVersion } from '../resource-version.ts';
import type { InformerEvent, InformerState, InformerView } from './informer.ts';

/** The content that a listener derives from events alone. It reports any event that does not follow from the last one. */
export interface Mirror<T extends KubeObject> {
  readonly objects: ReadonlyMap<ObjectKey, T>;
  readonly events: readonly InformerEvent<T>[];
  readonly states: readonly InformerState[];
  /** `+key@version` and `-key` for each change, then forgets them. */
  take(): string[];
  /** Fails unless the informer's content is exactly the result of its events. */
  assertEqual(): void;
}

export function mirror<T extends KubeObject>(informer: InformerView<T>): Mirror<T> {
  const objects = new Map<ObjectKey, T>();
  const events: InformerEvent<T>[] = [];
  const states: InformerState[] = [];
  // A listener's exception would be caught by the informer: they are kept for assertEqual.
  const problems: unknown[] = [];
  const lastVersions = new Map<string, string>();
  let syncs = 0;
  let taken = 0;

  function follow(event: InformerEvent<T>): void {
    events.push(event);
    switch (event.type) {
      case 'upsert': {
        const { uid = '', resourceVersion = '' } = event.object.metadata;
        assert.equal(event.old, objects.get(event.key), `old of ${event.key}`);
        const last = lastVersions.get(uid);
        assert.ok(
          last === undefined || isNewerResourceVersion(resourceVersion, last),
          `${event.key}: ${last} then ${resourceVersion}`,
        );
        lastVersions.set(uid, resourceVersion);
        if (event.old) assert.equal(event.old.metadata.uid, uid, 'a new uid is a deletion and a creation');
        objects.set(event.key, event.object);
        break;
      }
      case 'delete':
        assert.equal(event.object, objects.get(event.key), `deleted ${event.key}`);
        objects.delete(event.key);
        break;
      case 'synced':
        assert.equal(++syncs, 1, 'synced is told once');
        break;
      case 'state':
        states.push(event.state);
        break;
    }
  }

  informer.subscribe((batch) => {
    try {
      for (const event of batch) follow(event);
    } catch (error) {
      problems.push(error);
    }
  });

  return {
    objects,
    events,
    states,
    take() {
      const fresh = events.slice(taken).flatMap((event) => {
        if (event.type === 'upsert') return [`+${event.key}@${event.object.metadata.resourceVersion}`];
        return event.type === 'delete' ? [`-${event.key}`] : [];
      });
      taken = events.length;
      return fresh;
    },
    assertEqual() {
      if (problems.length > 0) throw problems[0];
      assert.equal(objects.size, informer.size);
      for (const [key, object] of objects) assert.equal(informer.get(key), object, key);
    },
  };
}
