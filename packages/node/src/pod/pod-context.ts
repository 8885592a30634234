// A pod as its runner sees it: the present object, its changes, and the few fields that may be written.
import { type Clock, equal, isConflict, isNotFound, type Logger, Pod, type PodStatus, refOfKey } from '@capstan/kube';
import type { EventText } from '@capstan/reconcile';
import type { Toolkit } from '../controller/toolkit.ts';

export interface PodContext {
  readonly key: string;
  readonly uid: string;
  /** As it was last seen, also after it is gone. */
  pod(): Pod;
  /** Whether the API still has it. */
  isGone(): boolean;
  /** Aborted as soon as a user asks for the deletion of the pod, or it is gone. */
  readonly deletion: AbortSignal;
  /** Calls the listener on every change; returns a function that ends that. */
  onChange(listener: () => void): () => void;
  /** Writes the status that `make` finds for the pod as it is, unless it is so already. */
  setStatus(make: (pod: Pod, now: number) => PodStatus): Promise<void>;
  annotate(annotations: Record<string, string>): Promise<void>;
  /** Nothing of the pod runs any more: the API may forget it. */
  finalise(): Promise<void>;
  event(text: EventText): void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The context, and how to tell it of changes. */
export interface PodFeed {
  readonly context: PodContext;
  /** Undefined: the API does not have the pod any more. */
  changed(pod: Pod | undefined): void;
}

const WRITE_TRIES = 8;

export function createPodFeed(tools: Toolkit, first: Pod, key: string): PodFeed {
  const { write, clock, client } = tools;
  const uid = first.metadata.uid ?? '';
  const deletion = new AbortController();
  const listeners = new Set<() => void>();
  let current = first;
  let isGone = false;

  function changed(pod: Pod | undefined): void {
    if (pod === undefined) isGone = true;
    else current = pod;
    if (isGone || current.metadata.deletionTimestamp !== undefined) deletion.abort();
    for (const listener of listeners) listener();
  }
  changed(first);

  /** Writes from the cached object; if that is stale, from the server's. */
  async function tryWrite(attempt: (pod: Pod) => Promise<Pod | undefined>): Promise<void> {
    let pod = current;
    for (let tries = 1; ; tries++) {
      try {
        const written = await attempt(pod);
        if (written !== undefined) current = written;
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error) || tries >= WRITE_TRIES) throw error;
      }
      const found = await client.find(Pod, refOfKey(key));
      if (found?.metadata.uid !== uid) return;
      pod = found;
    }
  }

  const context: PodContext = {
    key,
    uid,
    clock,
    logger: tools.logger.with({ pod: key }),
    deletion: deletion.signal,
    pod: () => current,
    isGone: () => isGone,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    setStatus: (make) =>
      tryWrite(async (pod) => {
        const status = make(pod, clock.now());
        return equal(status, pod.status ?? {}) ? undefined : write.updateStatus(Pod, { ...pod, status });
      }),
    annotate: (annotations) =>
      tryWrite(async (pod) => {
        const has = Object.entries(annotations).every(([name, value]) => pod.metadata.annotations?.[name] === value);
        return has ? undefined : write.patch(Pod, refOfKey(key), 'merge', { metadata: { uid, annotations } });
      }),
    async finalise() {
      if (isGone) return;
      await tryWrite(async (pod) => {
        await write.remove(Pod, pod, { gracePeriodSeconds: 0 });
        return undefined;
      });
    },
    event: (text) => tools.event(current, text),
  };
  return { context, changed };
}
