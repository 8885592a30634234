// Carries out single writes. The answer is shown to the caches at once, so that nothing is decided on a cache that is older than our own
// last write. A sink may wait, retry and hold back; it never decides: when the cluster has changed, the caches are brought up to date, and
// the diff is computed again.
import {
  formatPointer,
  isApiError,
  isConflict,
  isInvalid,
  isNotFound,
  type KubeObject,
  share as sharedParts,
  type WriteOptions,
} from '@capstan/kube/cluster';
import {
  type ChildWrite,
  type DeleteWrite,
  type MergeWrite,
  type PatchWrite,
  type PurgeWrite,
  purged,
  unremovable,
} from '../diff/index.ts';
import { CAUSE_ANNOTATION, HELD_ANNOTATION } from '../marks.ts';
import { allows, decide } from '../ownership/index.ts';
import { mint } from './mint.ts';
import { askLease, create, isTaken, observe, type Performance, send, unlessMoved, withCause } from './sending.ts';
import { share, withdraw } from './share.ts';

/**
 * Sends one write and shows the answer to the caches. False when nothing was written because the object is not the one that the write was
 * made for: the caches know by now. Throws the client's errors, WriteConflict, or LeaseLost.
 */
export async function perform(write: ChildWrite, performance: Performance): Promise<boolean> {
  const { target, manager, cause, signal } = performance;
  const { client } = target;
  const { kind, ref } = write;
  switch (write.verb) {
    case 'apply': {
      if (!write.exists && (await isTaken(kind, ref, performance))) return false;
      // One that has appeared since is met by a refusal: nothing is taken from it.
      const options = { fieldManager: manager, force: write.exists, signal };
      // The sent and returned object is kept once, for the plan and for the cache.
      const end = target.sending?.(kind, write.body);
      try {
        return await send(write, performance, async () =>
          sharedParts(write.body, await client.apply(kind, withCause(write.body, cause), options)),
        );
      } finally {
        end?.();
      }
    }
    case 'create':
      if (write.unseen === undefined && (await isTaken(kind, ref, performance))) return false;
      return create(write, withCause(write.body, cause), performance);
    case 'merge':
      return merge(write, performance);
    case 'mint':
      return mint(write, performance);
    case 'hold': {
      const patch = { metadata: { annotations: { [HELD_ANNOTATION]: write.from } } };
      return send(write, performance, () => client.patch(kind, ref, 'merge', patch, { fieldManager: manager, signal }));
    }
    case 'purge':
      return purge(write, performance);
    case 'share':
      return share(write, performance, { signal });
    case 'withdraw':
      return withdraw(write, performance);
    case 'patch':
      return patch(write, performance, { fieldManager: manager, signal });
    case 'delete':
      return remove(write, performance);
  }
}

/** Asks the server whether it would take the write; nothing is changed. False as above. */
export async function rehearse(write: ChildWrite, performance: Performance): Promise<boolean> {
  const { target, manager, signal } = performance;
  const { kind, ref } = write;
  const options = { fieldManager: manager, dryRun: true, signal };
  switch (write.verb) {
    case 'apply': {
      if (!write.exists && (await isTaken(kind, ref, performance))) return false;
      return unlessMoved(write, performance, () => target.client.apply(kind, write.body, { ...options, force: true }));
    }
    case 'create':
      if (await isTaken(kind, ref, performance)) return false;
      return unlessMoved(write, performance, () => target.client.create(kind, write.body, options));
    case 'merge':
      return unlessMoved(write, performance, () =>
        target.client.patch(kind, ref, 'merge', versioned(write), { ...options, signal }),
      );
    case 'share':
      return share(write, performance, { dryRun: true, signal });
    case 'patch':
      return patch(write, performance, options);
    case 'mint':
    case 'hold':
    case 'purge':
    case 'withdraw':
    case 'delete':
      return true;
  }
}

/** One of two writers is refused, and judges again. */
async function merge(write: MergeWrite, performance: Performance): Promise<boolean> {
  const { target, manager, signal } = performance;
  return send(write, performance, () =>
    target.client.patch(write.kind, write.ref, 'merge', versioned(write), { fieldManager: manager, signal }),
  );
}

function versioned({ patch, resourceVersion }: MergeWrite): Record<string, unknown> {
  return { ...patch, metadata: { ...(patch['metadata'] as object | undefined), resourceVersion } };
}

/**
 * Removes foreign fields from the object as it is now. The claims of their managers go with them: a field that the server fills in with
 * the same value is a default afterwards, and nothing is removed twice.
 */
async function purge(write: PurgeWrite, performance: Performance): Promise<boolean> {
  const { target, clock, manager, signal } = performance;
  const { kind, ref, uid, yields } = write;
  const current = await target.client.find(kind, ref, { signal });
  const next = current?.metadata.uid === uid ? purged(current, yields, clock.now()) : undefined;
  if (current === undefined || next === undefined) {
    observe(write, current, performance);
    return false;
  }
  const patchTo = (wanted: KubeObject) =>
    send(write, performance, () =>
      target.client.patch(kind, ref, 'json', replacing(current, wanted), { fieldManager: manager, signal }),
    );
  try {
    return await patchTo(next);
  } catch (error) {
    if (!isInvalid(error)) throw error;
    // The object cannot be without these fields, or they cannot change: they are reported from now on.
    return patchTo(unremovable(current, yields, clock.now()));
  }
}

/** A JSON patch on exactly this version. */
function replacing(current: KubeObject, next: KubeObject): readonly { op: string; path: string; value?: unknown }[] {
  const [before, after] = [current, next].map((object) => object as unknown as Record<string, unknown>);
  const content = Object.keys(before ?? {})
    .filter((name) => name !== 'metadata' && before?.[name] !== after?.[name])
    .map((name) => {
      const path = formatPointer([name]);
      const value = after?.[name];
      return value === undefined ? { op: 'remove', path } : { op: 'replace', path, value };
    });
  const metadata = (['managedFields', 'annotations'] as const).map((name) => ({
    op: 'add',
    path: formatPointer(['metadata', name]),
    value: next.metadata[name],
  }));
  const version = { op: 'test', path: '/metadata/resourceVersion', value: current.metadata.resourceVersion };
  return [version, ...content, ...metadata];
}

async function patch(write: PatchWrite, performance: Performance, options: WriteOptions): Promise<boolean> {
  const { target, cause, signal } = performance;
  const { kind, ref } = write;
  try {
    const operations = [...write.operations, ...causeOperation(write, cause)];
    askLease(performance);
    const answer = await target.client.patch(kind, ref, 'json', operations, options);
    if (!options.dryRun) target.observeWrite(kind, answer);
    return true;
  } catch (error) {
    if (!isApiError(error) || error.code >= 500) throw error;
    // A failed test of the version comes as one of several codes: read the object to see whether it changed.
    const current = await target.client.find(kind, ref, { signal });
    if (current?.metadata.resourceVersion === write.operations[0]?.value) throw error;
    observe(write, current, performance);
    return false;
  }
}

function causeOperation({ causeAt }: PatchWrite, cause: string | undefined): readonly object[] {
  if (cause === undefined || causeAt === undefined) return [];
  const path = ['metadata', 'annotations'];
  return causeAt === 'annotations'
    ? [{ op: 'add', path: formatPointer(path), value: { [CAUSE_ANNOTATION]: cause } }]
    : [{ op: 'add', path: formatPointer([...path, CAUSE_ANNOTATION]), value: cause }];
}

/** Deletes exactly the object that was judged. One that has changed since is judged again by the same rule. */
async function remove(write: DeleteWrite, performance: Performance): Promise<boolean> {
  const { target, signal } = performance;
  const { kind, ref, uid, intent, claimant } = write;
  let { resourceVersion } = write;
  for (let attempt = 1; ; attempt++) {
    const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
    askLease(performance);
    try {
      const lingering = await target.client.delete(kind, ref, {
        propagationPolicy: 'Background',
        preconditions,
        signal,
      });
      observe(write, lingering?.metadata?.deletionTimestamp ? lingering : undefined, performance);
      return true;
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      // Gone already, another object by now has the name, or it is newer than the one that was judged.
      const current = isNotFound(error) ? undefined : await target.client.find(kind, ref, { signal });
      const isSame =
        current !== undefined && current.metadata.uid === uid && current.metadata.deletionTimestamp === undefined;
      if (!isSame || attempt === MAX_JUDGED || !allows(decide(intent, current, claimant), 'delete')) {
        observe(write, current, performance);
        return false;
      }
      ({ resourceVersion } = current.metadata);
    }
  }
}

/** An object that changes faster than this is deleted with the next attempt of its key. */
const MAX_JUDGED = 3;
