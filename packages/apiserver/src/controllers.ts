// The work of the server after a write: each piece of work once, in order, by microtasks alone. Work that an admission refused is retried
// later, because no other event may ever bring it back.
import { backOff, type Timer, type UnknownObject } from '@capstan/kube';
import { ADMIN, type Core } from './core.ts';
import type { Conversions } from './crd/conversion.ts';
import { StatusError } from './errors.ts';
import { deleteObject } from './rest/delete.ts';
import type { Target } from './rest/target.ts';
import { changeObject } from './rest/update.ts';

export interface WorkQueue {
  /** Begins after the present write has been answered to; a failure is logged, and tried again when it was a refusal. */
  run(work: () => Promise<void>): void;
  /** Resolves when nothing is left to do now. */
  idle(): Promise<void>;
  /** Nothing is tried again any more. */
  close(): void;
}

const BACK_OFF = { firstMs: 1000, longestMs: 60_000 };

interface Piece {
  work: () => Promise<void>;
  /** How often it was refused. */
  failures: number;
}

export function createWorkQueue(core: Pick<Core, 'logger' | 'clock'>): WorkQueue {
  const waiting: Piece[] = [];
  const retries = new Set<Timer>();
  let running: Promise<void> | undefined;
  let closed = false;
  const add = (piece: Piece) => {
    waiting.push(piece);
    running ??= Promise.resolve().then(drain);
  };
  const retry = ({ work, failures }: Piece) => {
    if (closed) return;
    const timer = core.clock.after(backOff(failures, BACK_OFF), () => {
      retries.delete(timer);
      add({ work, failures });
    });
    retries.add(timer);
  };
  const drain = async () => {
    for (let piece = waiting.shift(); piece; piece = waiting.shift()) {
      try {
        await piece.work();
      } catch (error) {
        core.logger.error('a controller of the API server could not finish its work', { error });
        if (error instanceof StatusError) retry({ ...piece, failures: piece.failures + 1 });
      }
    }
    running = undefined;
  };
  return {
    run: (work) => add({ work, failures: 0 }),
    async idle() {
      while (running) await running;
    },
    close() {
      closed = true;
      for (const timer of retries) timer.cancel();
      retries.clear();
    },
  };
}

/** The operations of the controllers inside the server on objects. Each does nothing when another client was faster. */
export interface ObjectOperations {
  /** Deletes the object; with a uid, only that one. */
  remove(storageKey: string, key: string, uid?: string, policy?: 'Background' | 'Foreground'): Promise<void>;
  change(
    storageKey: string,
    key: string,
    edit: (object: UnknownObject) => UnknownObject,
    subresource?: string,
    /** The field manager of the change; default the controller manager. */
    manager?: string,
  ): Promise<void>;
  /** Takes a finalizer away, which may end the object. */
  dropFinalizer(storageKey: string, key: string, finalizer: string): Promise<void>;
}

/** `settle` runs work that may need conversion webhooks. */
export function objectOperations(core: Core, settle: Conversions['settle']): ObjectOperations {
  const targetOf = (storageKey: string, key: string): Target | undefined => {
    const resource = core.registry.all().find((one) => one.storageKey === storageKey);
    const version = resource?.versions.find(({ name }) => name === resource.storageVersion) ?? resource?.versions[0];
    if (!resource || !version) return undefined;
    const [namespace = '', name = ''] = resource.namespaced ? key.split('/') : ['', key];
    return { resource, version, namespace, name, subresource: '' };
  };
  const context = { user: ADMIN, userAgent: 'kube-controller-manager' };
  // Another client was faster: the object is gone or different, and its event will wake the controller.
  const tolerant = async (work: () => Promise<unknown>) => {
    try {
      await settle(work);
    } catch (error) {
      if (!(error instanceof StatusError) || (error.code !== 404 && error.code !== 409)) throw error;
    }
  };

  const remove: ObjectOperations['remove'] = async (storageKey, key, uid, policy = 'Background') => {
    const target = targetOf(storageKey, key);
    if (!target) return;
    const options = {
      dryRun: false,
      gracePeriodSeconds: undefined,
      propagationPolicy: policy,
      uid,
      resourceVersion: undefined,
    };
    await tolerant(() => deleteObject(core, target, options, context));
  };
  const change: ObjectOperations['change'] = async (
    storageKey,
    key,
    edit,
    subresource = '',
    manager = 'kube-controller-manager',
  ) => {
    const target = targetOf(storageKey, key);
    if (!target) return;
    await tolerant(() =>
      changeObject(core, { ...target, subresource }, { dryRun: false, context, conditional: false }, (live) => ({
        object: edit(live),
        track: (object) => core.fields.updating({ target: { ...target, subresource }, live, object, manager }),
      })),
    );
  };
  return {
    remove,
    change,
    dropFinalizer: (storageKey, key, finalizer) =>
      change(storageKey, key, (object) => {
        const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
        const { finalizers: _, ...rest } = object.metadata;
        return { ...object, metadata: finalizers.length > 0 ? { ...rest, finalizers } : rest };
      }),
  };
}
