// The tools of every controller here: caches of the kinds, one way to write (which the caches see at once, so that a controller never acts
// twice on the same cause), and a recorder for Events.
import {
  type Client,
  type Clock,
  createInformers,
  type DeleteOptions,
  type InformerView,
  isConflict,
  isNotFound,
  type Kind,
  type KubeObject,
  type Logger,
  type ObjectRef,
  type PatchType,
  type Random,
  refOf,
  type SharedInformer,
} from '@capstan/kube';
import { alwaysLeader, createEventRecorder, type EventRecorder, type EventText } from '@capstan/reconcile';

export interface ToolkitOptions {
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** The name of the field manager, and of the reporter of Events unless `as` names another. */
  manager: string;
}

/** Writes whose answers enter the caches before anybody else goes on. */
export interface Writer {
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  /** Refused with Conflict when the object moved on. */
  update<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  updateStatus<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    type: PatchType,
    patch: unknown,
    subresource?: string,
  ): Promise<T>;
  /** Deletes this very object, not another of its name. */
  remove<T extends KubeObject>(kind: Kind<T>, object: T, options?: DeleteOptions): Promise<void>;
}

export interface Toolkit extends ToolkitOptions {
  /** The cache of a kind in all namespaces, started for its first user. */
  cache<T extends KubeObject>(kind: Kind<T>): InformerView<T>;
  /** The cache of one object; given back by `release`. */
  object<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): SharedInformer<T>;
  readonly write: Writer;
  event(regarding: KubeObject, text: EventText): void;
  /** The same tools, with Events reported under another name. To be called before `run`. */
  as(reporter: string): Toolkit;
  /** Keeps caches and Events going until the signal is aborted; settles when all have stopped. */
  run(signal: AbortSignal): Promise<void>;
}

export function createToolkit(options: ToolkitOptions): Toolkit {
  const { client, manager } = options;
  const informers = createInformers(options);
  const recorders: EventRecorder[] = [];
  const recorderFor = (controller: string) => {
    const recorder = createEventRecorder({ ...options, leadership: alwaysLeader, controller, instance: controller });
    recorders.push(recorder);
    return recorder;
  };
  const fieldManager = manager;
  const seen = <T extends KubeObject>(kind: Kind<T>, object: T): T => {
    informers.observeWrite(kind, object);
    return object;
  };
  /**
   * A write that is refused because the object is gone or replaced updates the caches. Without it, a controller
   * whose watch has fallen silent would go on making children for an owner that is gone, as fast as they are collected.
   */
  const informed = async <T extends KubeObject, R>(kind: Kind<T>, object: T, write: () => Promise<R>): Promise<R> => {
    try {
      return await write();
    } catch (error) {
      const live = isConflict(error) ? await client.find(kind, refOf(object)) : undefined;
      if (live !== undefined) informers.observeWrite(kind, live);
      else if (isNotFound(error) || isConflict(error)) {
        informers.observeDelete(kind, refOf(object), object.metadata.uid ?? '');
      }
      throw error;
    }
  };
  const tools: Toolkit = {
    ...options,
    cache: (kind) => informers.for(kind).informer,
    object: (kind, { name, namespace }) =>
      informers.for(kind, {
        ...(namespace === undefined ? {} : { namespace }),
        fieldSelector: `metadata.name=${name}`,
      }),
    write: {
      create: async (kind, object) => seen(kind, await client.create(kind, object, { fieldManager })),
      update: async (kind, object) =>
        seen(kind, await informed(kind, object, () => client.update(kind, object, { fieldManager }))),
      updateStatus: async (kind, object) =>
        seen(
          kind,
          await informed(kind, object, () => client.update(kind, object, { fieldManager, subresource: 'status' })),
        ),
      patch: async (kind, ref, type, patch, subresource) =>
        seen(
          kind,
          await client.patch(kind, ref, type, patch, {
            fieldManager,
            ...(subresource === undefined ? {} : { subresource }),
          }),
        ),
      async remove(kind, object, removal = {}) {
        const { uid = '' } = object.metadata;
        const preconditions = { ...removal.preconditions, uid };
        const left = await informed(kind, object, () =>
          client.delete(kind, refOf(object), { ...removal, preconditions }),
        );
        if (left === undefined) informers.observeDelete(kind, refOf(object), uid);
        else informers.observeWrite(kind, left);
      },
    },
    event: recorderFor(manager).record,
    as: (reporter) => ({ ...tools, event: recorderFor(reporter).record }),
    async run(signal) {
      await Promise.all(recorders.map((recorder) => recorder.run(signal)));
      await informers.close();
    },
  };
  return tools;
}
