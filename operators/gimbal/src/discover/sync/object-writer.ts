// Carries out what a comparison asked for, one object after the other, and shows what became of it. A name that another client
// owns is never written to.
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeObject,
  type Logger,
  reasonOf,
  refOfKey,
} from '@capstan/kube/cluster';
import { done, type Outcome, retry, retryAfter } from '@capstan/reconcile/queue';
import { gimbalLabel } from '../../kinds/group.ts';
import { copiedKeys } from '../mirror/metadata.ts';
import type { Problem } from '../mirror/problem.ts';
import { labelValue } from '../names/discovered-name.ts';
import type { DeletionGuard } from './deletion-guard.ts';
import type { Difference, Removal, Write } from './difference.ts';
import type { LocalCluster } from './local-cluster.ts';
import { type RecordKind, toRecord } from './local-record.ts';

export interface ObjectWriterOptions {
  backend: string;
  local: LocalCluster;
  guard: DeletionGuard;
  logger: Logger;
  createNamespaces: boolean;
  pace(signal: AbortSignal): Promise<void>;
  observe?: WriteObserver;
}

export type Action = 'add' | 'update' | 'delete';

/** For metrics. */
export interface WriteObserver {
  wrote(kind: RecordKind, action: Action, key: string): void;
  failed(kind: RecordKind, action: Action, key: string): void;
}

/** How it ended; without a problem everything is as it should be. */
export type Result =
  | { readonly problem?: undefined }
  | {
      readonly problem: Problem;
      /** An attempt was made and went wrong. */
      readonly happened: boolean;
      readonly next: Outcome;
      /** The namespace whose appearance is waited for. */
      readonly waitsFor?: string;
      /** The kind of the object that has the name. */
      readonly taken?: RecordKind;
    };

export interface ObjectWriter {
  carryOut(key: string, diff: Difference, signal: AbortSignal): Promise<Result>;
}

/** Should the watch on a name that is taken miss that it has become free. */
const COLLISION_MS = 300_000;

export function createObjectWriter(options: ObjectWriterOptions): ObjectWriter {
  const { backend, local, guard, logger, observe, pace } = options;

  async function carryOut(key: string, { writes, removals }: Difference, signal: AbortSignal): Promise<Result> {
    const { namespace = '' } = refOfKey(key);
    if (writes.length > 0 && local.hasNamespace(namespace) === false) {
      const missing = await makeNamespace(key, namespace, signal);
      if (missing !== undefined) return missing;
    }
    for (const write of writes) {
      const result = await carryOutWrite(key, write, signal);
      if (result.problem !== undefined) return result;
    }
    for (const removal of removals) {
      const result = await carryOutRemoval(key, removal, signal);
      if (result.problem !== undefined) return result;
    }
    return {};
  }

  async function carryOutWrite(key: string, { kind, wanted, record }: Write, signal: AbortSignal): Promise<Result> {
    const action: Action = record === undefined ? 'add' : 'update';
    await pace(signal);
    try {
      if (record === undefined) await local.create(kind, wanted, signal);
      else await local.change(kind, wanted, record, signal);
    } catch (error) {
      if (isAlreadyExists(error)) return takeOver(key, kind, wanted, signal);
      observe?.failed(kind, action, key);
      return failure(key, kind, action, error);
    }
    observe?.wrote(kind, action, key);
    return {};
  }

  /** The name is taken. By an older self, or by Gimbal's own discoverer under its labels: then it is ours. By anybody else: left alone. */
  async function takeOver(key: string, kind: RecordKind, wanted: KubeObject, signal: AbortSignal): Promise<Result> {
    try {
      const existing = await local.find(kind, wanted, signal);
      if (existing === undefined) return { problem: gone(key), happened: false, next: retry('it was just deleted') };
      const owner = gimbalLabel(existing.metadata.labels, 'backend');
      if (owner !== labelValue(backend) && !isOursWithoutLabel(existing, wanted)) {
        observe?.failed(kind, 'add', key);
        return { problem: collision(key, kind, owner), happened: false, next: retryAfter(COLLISION_MS), taken: kind };
      }
      await pace(signal);
      await local.change(kind, wanted, toRecord(existing), signal);
      logger.info('took over the objects of an earlier discoverer', { kind, object: key });
    } catch (error) {
      observe?.failed(kind, 'update', key);
      return failure(key, kind, 'update', error);
    }
    observe?.wrote(kind, 'update', key);
    return {};
  }

  async function carryOutRemoval(key: string, { kind, record }: Removal, signal: AbortSignal): Promise<Result> {
    await pace(signal);
    try {
      await local.remove(kind, record, signal);
    } catch (error) {
      // Gone already is what was wanted.
      if (!isNotFound(error)) {
        observe?.failed(kind, 'delete', key);
        return failure(key, kind, 'delete', error);
      }
    }
    guard.removed(key, 1);
    observe?.wrote(kind, 'delete', key);
    return {};
  }

  async function makeNamespace(key: string, namespace: string, signal: AbortSignal): Promise<Result | undefined> {
    if (!options.createNamespaces) {
      return { problem: namespaceMissing(key), happened: false, next: done, waitsFor: namespace };
    }
    try {
      await local.createNamespace(namespace, signal);
      return undefined;
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      return failure(key, 'Service', 'add', error);
    }
  }

  function failure(key: string, kind: RecordKind, action: Action, error: unknown): Result {
    const { namespace = '', name } = refOfKey(key);
    // A user was faster: what is so now is on its way to us.
    if (isConflict(error))
      return { problem: writeFailed(key, kind, action, error), happened: false, next: retry(error) };
    const isTerminating = isForbidden(error) && /terminat/i.test(error.message);
    if (action === 'add' && (isNotFound(error) || isTerminating)) {
      return { problem: namespaceMissing(key), happened: true, next: retry(error), waitsFor: namespace };
    }
    if (isInvalid(error)) {
      const message = `this cluster does not accept it: ${reasonOf(error)}`;
      return { problem: { type: 'InvalidService', message, namespace, name }, happened: true, next: retry(error) };
    }
    return { problem: writeFailed(key, kind, action, error), happened: true, next: retry(error) };
  }

  function collision(key: string, kind: RecordKind, owner: string | undefined): Problem {
    const { namespace = '', name } = refOfKey(key);
    const whose = owner === undefined ? 'no discoverer created it' : `belongs to the backend ${owner}`;
    const message = `the ${kind} ${name} is there already and ${whose}: it is left alone; rename it, or the service or backend`;
    return { type: 'NameCollision', message, namespace, name };
  }

  return { carryOut };
}

/** A mirror that lost its label is known by the annotation that only a discoverer writes, and by the service it is of. */
function isOursWithoutLabel({ metadata }: KubeObject, wanted: KubeObject): boolean {
  const { labels, annotations } = metadata;
  if (gimbalLabel(labels, 'backend') !== undefined || copiedKeys(annotations) === undefined) return false;
  const service = gimbalLabel(labels, 'service');
  return service === undefined || service === gimbalLabel(wanted.metadata.labels, 'service');
}

function namespaceMissing(key: string): Problem {
  const { namespace = '', name } = refOfKey(key);
  const message = `the namespace ${namespace} is not here; create it, and the service follows at once`;
  return { type: 'NamespaceMissing', message, namespace, name };
}

function writeFailed(key: string, kind: RecordKind, action: Action, error: unknown): Problem {
  const { namespace = '', name } = refOfKey(key);
  const message = `the ${action} of its ${kind} did not succeed and is tried again: ${reasonOf(error)}`;
  return { type: 'WriteFailed', message, namespace, name };
}

function gone(key: string): Problem {
  const { namespace = '', name } = refOfKey(key);
  return { type: 'WriteFailed', message: 'an object of its name is being deleted; it is tried again', namespace, name };
}
