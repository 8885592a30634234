// Carries out single writes. What comes back is shown to the caches at once, so that nothing is decided on a cache that is
// older than our own last write. A sink may wait, retry and hold back; it never chooses.
import {
  type Client,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type Kind,
  type KubeObject,
  type ObjectRef,
  refOf,
} from '@capstan/kube';
import type { Ownership } from '../diff/child-body.ts';
import { type ChildWrite, type DeleteWrite, describe } from '../diff/index.ts';
import { CAUSE_ANNOTATION, HELD_ANNOTATION } from '../marks.ts';
import { WriteConflict } from './outcome.ts';

/** Where writes go. */
export interface Target {
  readonly client: Client;
  observeWrite(kind: Kind, object: KubeObject): void;
  observeDelete(kind: Kind, object: KubeObject): void;
}

export interface Performance {
  readonly target: Target;
  readonly manager: string;
  readonly ownership: Ownership;
  /** Shows the diff an object that stands where a child should be and that the cache of our own does not hold. */
  meetStranger(kind: Kind, object: KubeObject): void;
  /** The bounded cause, as JSON; undefined when nothing is known of it. */
  readonly cause: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends one write and shows the answer to the caches. Throws what the client throws, or WriteConflict. */
export async function perform(write: ChildWrite, performance: Performance): Promise<void> {
  const { target, signal } = performance;
  switch (write.verb) {
    case 'apply': {
      if (!write.exists && (await isTaken(write.kind, write.ref, performance))) return;
      const body = withCause(write.body, performance.cause);
      const options = { fieldManager: performance.manager, force: true, signal };
      target.observeWrite(write.kind, await target.client.apply(write.kind, body, options));
      return;
    }
    case 'create': {
      if (await isTaken(write.kind, write.ref, performance)) return;
      await create(write.kind, withCause(write.body, performance.cause), performance);
      return;
    }
    case 'mint': {
      await mint(write, performance);
      return;
    }
    case 'hold': {
      const metadata = { ...write.ref, annotations: { [HELD_ANNOTATION]: write.from } };
      const options = { fieldManager: performance.manager, signal };
      target.observeWrite(write.kind, await target.client.patch(write.kind, write.ref, 'merge', { metadata }, options));
      return;
    }
    case 'share': {
      const options = { fieldManager: performance.manager, force: false, signal };
      target.observeWrite(write.kind, await target.client.apply(write.kind, write.body, options));
      return;
    }
    case 'withdraw': {
      const { kind, ref } = write;
      const bare: KubeObject = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...ref } };
      const options = { fieldManager: performance.manager, force: false, signal };
      target.observeWrite(kind, await target.client.apply(kind, bare, options));
      return;
    }
    case 'patch': {
      const options = { fieldManager: performance.manager, signal };
      target.observeWrite(write.kind, await patchOrConflict(write, performance, options));
      return;
    }
    case 'delete':
      await remove(write, performance);
  }
}

/** Asks the server whether it would take the write; nothing is changed. */
export async function rehearse(write: ChildWrite, performance: Performance): Promise<void> {
  const { target, manager, signal } = performance;
  const options = { fieldManager: manager, dryRun: true, signal };
  switch (write.verb) {
    case 'apply':
      await target.client.apply(write.kind, write.body, { ...options, force: true });
      return;
    case 'share':
      await target.client.apply(write.kind, write.body, { ...options, force: false });
      return;
    case 'create':
      await target.client.create(write.kind, write.body, options).catch(ignore(isAlreadyExists));
      return;
    case 'patch':
      await patchOrConflict(write, performance, options);
      return;
    case 'mint':
    case 'hold':
    case 'withdraw':
    case 'delete':
      return;
  }
}

/**
 * The cache may show only our own objects of a kind, so before the first write the server is asked for one of that name.
 * If there is one, it is shown to the diff, which decides; nothing is written on what was not seen.
 */
async function isTaken(kind: Kind, ref: ObjectRef, { target, signal, meetStranger }: Performance): Promise<boolean> {
  const existing = await target.client.find(kind, ref, { signal });
  if (existing === undefined) return false;
  target.observeWrite(kind, existing);
  meetStranger(kind, existing);
  return true;
}

async function create(kind: Kind, body: KubeObject, performance: Performance): Promise<void> {
  const { target, manager, signal } = performance;
  try {
    target.observeWrite(kind, await target.client.create(kind, body, { fieldManager: manager, signal }));
  } catch (error) {
    // Somebody was faster, or an answer was lost and the object is ours: the diff sees it and decides.
    if (!isAlreadyExists(error)) throw error;
    await isTaken(kind, refOf(body), performance);
  }
}

/** Made off the event loop, written only if what it replaces is still what was judged. */
async function mint(write: Extract<ChildWrite, { verb: 'mint' }>, performance: Performance): Promise<void> {
  const { target, manager, signal } = performance;
  const { kind, ref, minter, inputs, marks, existing } = write;
  if (existing === undefined && (await isTaken(kind, ref, performance))) return;
  const current = existing === undefined ? undefined : await target.client.find(kind, ref, { signal });
  if (existing !== undefined && current?.metadata.uid !== existing.uid) {
    if (current !== undefined) target.observeWrite(kind, current);
    return;
  }
  const made = (await minter.make(inputs as never, current as never)) as KubeObject;
  const body: KubeObject = {
    ...made,
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      ...made.metadata,
      ...ref,
      ...(marks.ownerReferences ? { ownerReferences: marks.ownerReferences } : {}),
      labels: { ...made.metadata?.labels, ...marks.labels },
      annotations: { ...made.metadata?.annotations, ...marks.annotations },
    },
  };
  if (current === undefined) {
    await create(kind, body, performance);
    return;
  }
  const { resourceVersion = '', uid = '' } = current.metadata;
  const replacement = { ...body, metadata: { ...body.metadata, resourceVersion, uid } };
  target.observeWrite(kind, await target.client.update(kind, replacement, { fieldManager: manager, signal }));
}

async function remove(write: DeleteWrite, { target, signal }: Performance): Promise<void> {
  const { kind, ref, uid } = write;
  try {
    const lingering = await target.client.delete(kind, ref, {
      propagationPolicy: 'Background',
      preconditions: { uid },
      signal,
    });
    if (lingering?.metadata?.deletionTimestamp) target.observeWrite(kind, lingering);
    else target.observeDelete(kind, tombstone(write));
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    const current = isConflict(error) ? await target.client.find(kind, ref, { signal }) : undefined;
    // Gone already, or another object by now has the name: either way ours is no more.
    if (current?.metadata.uid !== uid) target.observeDelete(kind, tombstone(write));
    if (current === undefined) return;
    target.observeWrite(kind, current);
    if (current.metadata.uid === uid) {
      throw new WriteConflict(`${describe(kind, ref)} changed meanwhile`, { cause: error, isTransient: true });
    }
  }
}

function tombstone({ kind, ref, uid }: DeleteWrite): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...ref, uid } };
}

async function patchOrConflict(
  write: Extract<ChildWrite, { verb: 'patch' }>,
  { target, signal }: Performance,
  options: object,
): Promise<KubeObject> {
  try {
    return await target.client.patch(write.kind, write.ref, 'json', write.operations, options);
  } catch (error) {
    // A failed test of resourceVersion means that the object moved on: look at it again, then plan again.
    const current = await target.client.find(write.kind, write.ref, { signal });
    if (current === undefined) throw error;
    const guard = write.operations[0]?.value;
    if (current.metadata.resourceVersion === guard) throw error;
    target.observeWrite(write.kind, current);
    throw new WriteConflict(`${describe(write.kind, write.ref)} changed meanwhile`, {
      cause: error,
      isTransient: true,
    });
  }
}

function withCause(body: KubeObject, cause: string | undefined): KubeObject {
  if (cause === undefined) return body;
  const { metadata } = body;
  return { ...body, metadata: { ...metadata, annotations: { ...metadata.annotations, [CAUSE_ANNOTATION]: cause } } };
}

function ignore(isExpected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!isExpected(error)) throw error;
  };
}
