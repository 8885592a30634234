// Sends one write: asks the lease before it, judges conflicts, and reports the answer to the caches.
import {
  type Client,
  type Clock,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  type Kind,
  type KubeObject,
  type ObjectRef,
} from '@capstan/kube/cluster';
import { type ChildWrite, type CreateWrite, type MintWrite } from '../diff/index.ts';
import { CAUSE_ANNOTATION } from '../marks.ts';
import { LeaseLost } from './outcome.ts';

/** Where writes go. */
export interface Target {
  readonly client: Client;
  /** This object is being sent: caches keep the parts that it shares with the plan once. The returned call ends it. */
  sending?(kind: Kind, object: KubeObject): () => void;
  observeWrite(kind: Kind, object: KubeObject): void;
  observeDelete(kind: Kind, object: KubeObject): void;
}

export interface Performance {
  readonly target: Target;
  readonly manager: string;
  /** Shows the diff an object that stands where a child should be and that the cache of our own does not hold. */
  meetForeign(kind: Kind, object: KubeObject): void;
  /** The bounded cause, as JSON; undefined when nothing is known of it. */
  readonly cause: string | undefined;
  /** Returns whether we lead: asked right before every write, because looking and minting take time. */
  mayWrite(): boolean;
  /** The clock for minters: their results contain times. */
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Waits for work of an author; the resource shows it when it takes long. At once by default. */
  awaiting?<T>(name: string, work: Promise<T>): Promise<T>;
}

/**
 * The cache may show only our own objects of a kind, so before the first write the server is asked for an object of that name. If there is
 * one, it is shown to the diff, which decides. Nothing is written over an unseen object.
 */
export async function isTaken(
  kind: Kind,
  ref: ObjectRef,
  { target, signal, meetForeign }: Performance,
): Promise<boolean> {
  const existing = await target.client.find(kind, ref, { signal });
  if (existing === undefined) return false;
  target.observeWrite(kind, existing);
  meetForeign(kind, existing);
  return true;
}

/** Another client may have been faster, or an answer was lost and the object is ours: then the diff sees it and decides. */
export async function create(
  write: CreateWrite | MintWrite,
  body: KubeObject,
  performance: Performance,
): Promise<boolean> {
  const { target, manager, signal } = performance;
  askLease(performance);
  try {
    target.observeWrite(write.kind, await target.client.create(write.kind, body, { fieldManager: manager, signal }));
    return true;
  } catch (error) {
    if (!isAlreadyExists(error) || (write.verb === 'create' && write.unseen === 'refused')) throw error;
    await isTaken(write.kind, write.ref, performance);
    return false;
  }
}

/** Sends a write to an object that is there, and shows the answer. */
export async function send(
  write: ChildWrite,
  performance: Performance,
  call: () => Promise<KubeObject>,
): Promise<boolean> {
  askLease(performance);
  return unlessMoved(write, performance, async () => performance.target.observeWrite(write.kind, await call()));
}

export function askLease({ mayWrite }: Performance): void {
  if (!mayWrite()) throw new LeaseLost('the lease was lost');
}

/** False when the object is not the one that the call was made for: another, a newer one, or none. */
export async function unlessMoved(
  write: ChildWrite,
  performance: Performance,
  call: () => Promise<unknown>,
): Promise<boolean> {
  const { target, signal } = performance;
  try {
    await call();
    return true;
  } catch (error) {
    const isMoved = isConflict(error) || isAlreadyExists(error) || isOfAnother(error) || isGoneAnswer(error, write);
    if (!isMoved) throw error;
    observe(write, await target.client.find(write.kind, write.ref, { signal }), performance);
    return false;
  }
}

/** To an apply that names a uid a server does not answer with a conflict, but that a uid cannot be changed. */
function isOfAnother(error: unknown): boolean {
  return isInvalid(error) && (error.details.causes ?? []).some(({ field }) => field === 'metadata.uid');
}

/** Returns whether an existing object was not found. For an apply a 404 means that the namespace or the kind is missing. */
function isGoneAnswer(error: unknown, { verb }: ChildWrite): boolean {
  return verb !== 'apply' && verb !== 'create' && isNotFound(error);
}

/** Shows the caches the present object under the name that a write was made for. */
export function observe(write: ChildWrite, current: KubeObject | undefined, { target }: Performance): void {
  const { kind, ref } = write;
  const uid = uidOf(write);
  if (uid !== undefined && current?.metadata.uid !== uid) {
    target.observeDelete(kind, { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...ref, uid } });
  }
  if (current !== undefined) target.observeWrite(kind, current);
}

/** The uid of the object that a write was made for. */
function uidOf(write: ChildWrite): string | undefined {
  if ('uid' in write) return write.uid;
  if ('existing' in write) return write.existing?.uid;
  return 'body' in write ? write.body.metadata.uid : undefined;
}

export function withCause(body: KubeObject, cause: string | undefined): KubeObject {
  if (cause === undefined) return body;
  const { metadata } = body;
  return { ...body, metadata: { ...metadata, annotations: { ...metadata.annotations, [CAUSE_ANNOTATION]: cause } } };
}
