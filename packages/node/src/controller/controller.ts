// A level-based controller: changes of the objects that it watches become keys in a queue. For each key it reads the present caches and
// makes the missing changes. Each change updates the caches, so the key is repeated until nothing is missing.
import {
  backOff,
  type InformerView,
  isAborted,
  isAlreadyExists,
  isApiError,
  isConflict,
  isForbidden,
  isNotFound,
  isTransportError,
  type Kind,
  type KubeObject,
} from '@capstan/kube';
import { createQueue, done, type Outcome, type Queue, retry, retryAfter, runWorkers } from '@capstan/reconcile';
import type { Toolkit } from './toolkit.ts';

export interface Controller {
  readonly name: string;
  readonly sources: readonly Source[];
  /** Keys at a time; default 1. */
  readonly concurrency?: number;
  /** How long a change waits for others to the same key; default not at all. */
  readonly batchMs?: number;
  /** Milliseconds after which the key is to be re-checked, or nothing. */
  reconcile(key: string, signal: AbortSignal): Promise<number | undefined>;
}

/** Which keys a change of an object of this kind concerns. */
export interface Source {
  readonly informer: Pick<InformerView<KubeObject>, 'subscribe' | 'synced'>;
  readonly keys: (object: KubeObject, old: KubeObject | undefined, isDeleted: boolean) => Iterable<string>;
}

/** A source with its static type. */
export function source<T extends KubeObject>(
  tools: Toolkit,
  kind: Kind<T>,
  keys: (object: T, old: T | undefined, isDeleted: boolean) => Iterable<string>,
): Source {
  // Sources of several kinds stand in one list; each gets objects of its own kind only.
  return { informer: tools.cache(kind), keys } as unknown as Source;
}

/** Runs until the signal is aborted. */
export async function runController(tools: Toolkit, controller: Controller, signal: AbortSignal): Promise<void> {
  const { clock } = tools;
  const queue: Queue<string> = createQueue({ clock, name: controller.name });
  /** How often in a row another client was faster, by key. */
  const races = new Map<string, number>();
  const unsubscribe = controller.sources.map(({ informer, keys }) =>
    informer.subscribe((events) => {
      for (const event of events) {
        if (event.type !== 'upsert' && event.type !== 'delete') continue;
        const old = event.type === 'upsert' ? event.old : undefined;
        for (const key of keys(event.object, old, event.type === 'delete'))
          queue.addAfter(key, controller.batchMs ?? 0);
      }
    }),
  );
  try {
    await Promise.all(controller.sources.map(({ informer }) => informer.synced(signal)));
    await runWorkers({
      queue,
      clock,
      signal,
      concurrency: controller.concurrency ?? 1,
      logger: tools.logger.with({ controller: controller.name }),
      handle: (key, abort) => attempt(controller, key, abort, races),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const end of unsubscribe) end();
    queue.shutDown();
  }
}

/** Another client was faster: the caches will tell, a moment later, or a little later than that. */
const RACE = { firstMs: 50, longestMs: 5_000 };

async function attempt(
  controller: Controller,
  key: string,
  signal: AbortSignal,
  races: Map<string, number>,
): Promise<Outcome> {
  try {
    const again = await controller.reconcile(key, signal);
    races.delete(key);
    return again === undefined ? done : retryAfter(Math.max(again, 1));
  } catch (error) {
    if (isAborted(error) || signal.aborted) return done;
    if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) {
      const lost = (races.get(key) ?? 0) + 1;
      races.set(key, lost);
      return retryAfter(backOff(lost, RACE));
    }
    // A namespace that is being deleted takes no new objects; the existing ones are deleted with it.
    if (isForbidden(error) && error.message.includes('because it is being terminated')) return done;
    // A failure of the server or the network may pass; any other error is a bug.
    if (isApiError(error) || isTransportError(error)) return retry(error);
    throw error;
  }
}
