// Carries out single writes. The answer is shown to the caches at once, so that nothing is decided on a cache that is older than our own
// last write. A sink may wait, retry and hold back; it never decides: when the cluster has changed, the caches are brought up to date, and
// the diff is computed again.
import {
  applyConflicts,
  type Client,
  type Clock,
  formatPointer,
  isAlreadyExists,
  isApiError,
  isConflict,
  isInvalid,
  isNotFound,
  type Kind,
  type KubeObject,
  type ObjectRef,
  share as sharedParts,
  type WriteOptions,
} from '@capstan/kube/cluster';
import {
  type ChildWrite,
  type CreateWrite,
  type DeleteWrite,
  describe,
  type MergeWrite,
  type MintWrite,
  type PatchWrite,
  type PurgeWrite,
  purged,
  type ShareWrite,
  unremovable,
  type WithdrawWrite,
} from '../diff/index.ts';
import { ApplyErrors } from '../errors.ts';
import { AuthorErrors } from '../guard.ts';
import { CAUSE_ANNOTATION, HELD_ANNOTATION, INVENTORY_LABEL } from '../marks.ts';
import { allows, decide } from '../ownership/index.ts';
import { within } from '../within.ts';
import { LeaseLost, WriteConflict } from './outcome.ts';

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
  /** Whether we lead: asked right before every write, because looking and minting take time. */
  mayWrite(): boolean;
  /** The clock for minters: their results contain times. */
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Waits for work of an author; the resource shows it when it takes long. At once by default. */
  awaiting?<T>(name: string, work: Promise<T>): Promise<T>;
}

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

/**
 * The cache may show only our own objects of a kind, so before the first write the server is asked for an object of that name. If there is
 * one, it is shown to the diff, which decides. Nothing is written over an unseen object.
 */
async function isTaken(kind: Kind, ref: ObjectRef, { target, signal, meetForeign }: Performance): Promise<boolean> {
  const existing = await target.client.find(kind, ref, { signal });
  if (existing === undefined) return false;
  target.observeWrite(kind, existing);
  meetForeign(kind, existing);
  return true;
}

/** Another client may have been faster, or an answer was lost and the object is ours: then the diff sees it and decides. */
async function create(write: CreateWrite | MintWrite, body: KubeObject, performance: Performance): Promise<boolean> {
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

/** The value is created off the event loop, and written only if the replaced object is still the judged one. */
async function mint(write: MintWrite, performance: Performance): Promise<boolean> {
  const { target, manager, cause, signal } = performance;
  const { kind, ref, marks, existing } = write;
  if (existing === undefined) {
    if (await isTaken(kind, ref, performance)) return false;
    const created = await make(write, undefined, performance);
    return create(write, withCause(mintedBody(kind, ref, [created.metadata, marks], created), cause), performance);
  }
  const current = await target.client.find(kind, ref, { signal });
  const { uid, resourceVersion } = current?.metadata ?? {};
  if (uid !== existing.uid || resourceVersion !== existing.resourceVersion) {
    observe(write, current, performance);
    return false;
  }
  const created = await make(write, current, performance);
  const body = withCause(mintedBody(kind, ref, [current?.metadata, created.metadata, marks], created), cause);
  const replacement = { ...body, metadata: { ...body.metadata, resourceVersion, uid } } as KubeObject;
  return send(write, performance, () => target.client.update(kind, replacement, { fieldManager: manager, signal }));
}

const MAKE_MS = 60_000;

/** Whether a minter did not return in time. */
export function isNotMade(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'apply/NotMade';
}

/** Returns a minter's result, within its time limit and whether or not it heeds its signal. */
async function make(
  { minter, inputs }: MintWrite,
  existing: KubeObject | undefined,
  { clock, signal: outer, awaiting = (_name, work) => work }: Performance,
): Promise<KubeObject> {
  const { name, timeoutMs = MAKE_MS } = minter;
  const started = clock.now();
  const call = async (signal: AbortSignal) => minter.make(inputs as never, existing, { clock, signal });
  const work = within(clock, timeoutMs, outer, call).catch((error: unknown) => {
    if (outer.aborted) throw error;
    if (clock.now() - started >= timeoutMs) throw ApplyErrors.NotMade(name, timeoutMs);
    throw AuthorErrors.Threw(`make of the minter ${name}`, error);
  });
  const created: unknown = await awaiting(`the minter ${name}`, work);
  if (typeof (created as KubeObject | undefined)?.metadata === 'object') return created as KubeObject;
  throw AuthorErrors.NotOfType(`make of the minter ${minter.name}`, 'an object with metadata', 'something else');
}

/** Labels and annotations of all, the later winning: those that others have put on it stay. */
function mintedBody(
  kind: Kind,
  ref: ObjectRef,
  metadata: readonly (KubeObject['metadata'] | undefined)[],
  created: KubeObject,
): KubeObject {
  const { ownerReferences, finalizers } = Object.assign({}, ...metadata) as KubeObject['metadata'];
  return {
    ...created,
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      ...ref,
      ...(ownerReferences ? { ownerReferences } : {}),
      ...(finalizers ? { finalizers } : {}),
      labels: Object.assign({}, ...metadata.map((each) => each?.labels)) as Record<string, string>,
      annotations: Object.assign({}, ...metadata.map((each) => each?.annotations)) as Record<string, string>,
    },
  };
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

/** Never forced: fields that others have stay theirs. */
async function share(
  write: ShareWrite,
  performance: Performance,
  options: { dryRun?: boolean; signal: AbortSignal },
): Promise<boolean> {
  const { target, cause } = performance;
  const { kind, ref, manager } = write;
  const send = async (body: KubeObject) => {
    askLease(performance);
    const answer = await target.client.apply(kind, body, { ...options, fieldManager: manager, force: false });
    if (!options.dryRun) target.observeWrite(kind, answer);
    return true;
  };
  const isCause = ({ field }: { field: string }) => field.endsWith(CAUSE_ANNOTATION);
  try {
    return await send(withCause(write.body, cause)).catch((error: unknown) => {
      // Another of our reconcilers has recorded its cause: there is one place for it, and no reason for a conflict.
      const conflicts = applyConflicts(error);
      if (conflicts.length > 0 && conflicts.every(isCause)) return send(write.body);
      throw error;
    });
  } catch (error) {
    const taken = applyConflicts(error)
      .filter((conflict) => !isCause(conflict))
      .map(({ field, manager: by }) => `${field} of ${by}`);
    if (taken.length === 0) throw error;
    const message = `${describe(kind, ref)} is shared, and others have set fields of it: ${taken.join(', ')}; give them up there, or here`;
    throw new WriteConflict(message, { cause: error });
  }
}

/** Applies nothing under the manager of this owner, so that the server removes the fields that only this owner had set. */
async function withdraw(write: WithdrawWrite, performance: Performance): Promise<boolean> {
  const { target, signal } = performance;
  const { kind, ref, manager, uid, resourceVersion } = write;
  if (write.keepsFields) return leave(write, performance);
  // Without the version, an object that is gone would be recreated, empty.
  const bare = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...ref, uid, resourceVersion } };
  try {
    return await send(write, performance, () =>
      target.client.apply(kind, bare, { fieldManager: manager, force: false, signal }),
    );
  } catch (error) {
    if (!isInvalid(error)) throw error;
    return leave(write, performance);
  }
}

/** Where the object could not be without our fields, they stay; only our claim to them goes. */
async function leave({ kind, ref, ...write }: WithdrawWrite, performance: Performance): Promise<boolean> {
  const { target, signal } = performance;
  const current = await target.client.find(kind, ref, { signal });
  const others = current?.metadata.managedFields?.filter(({ manager }) => manager !== write.manager) ?? [];
  // A list without entries would count as one that the client does not know of; one empty entry clears it.
  const managedFields = others.length === 0 ? [{}] : others;
  const { resourceVersion } = write;
  const marks = Object.keys(current?.metadata.annotations ?? {}).filter((name) => name.startsWith(MARKS));
  const annotations = Object.fromEntries(
    [...(write.keepsFields ? marks : []), write.annotation].map((name) => [name, null]),
  );
  const labels = write.keepsFields ? { labels: { [INVENTORY_LABEL]: null } } : {};
  const metadata = { resourceVersion, managedFields, annotations, ...labels };
  return send({ kind, ref, ...write }, performance, () =>
    target.client.patch(kind, ref, 'merge', { metadata }, { fieldManager: write.manager, signal }),
  );
}

/** The annotations of the runtime begin with it. */
const MARKS = 'capstan.dev/';

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

/** Sends a write to an object that is there, and shows the answer. */
async function send(write: ChildWrite, performance: Performance, call: () => Promise<KubeObject>): Promise<boolean> {
  askLease(performance);
  return unlessMoved(write, performance, async () => performance.target.observeWrite(write.kind, await call()));
}

function askLease({ mayWrite }: Performance): void {
  if (!mayWrite()) throw new LeaseLost('the lease was lost');
}

/** False when the object is not the one that the call was made for: another, a newer one, or none. */
async function unlessMoved(
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

/** Whether an existing object was not found. For an apply a 404 means that the namespace or the kind is missing. */
function isGoneAnswer(error: unknown, { verb }: ChildWrite): boolean {
  return verb !== 'apply' && verb !== 'create' && isNotFound(error);
}

/** Shows the caches the present object under the name that a write was made for. */
function observe(write: ChildWrite, current: KubeObject | undefined, { target }: Performance): void {
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

function withCause(body: KubeObject, cause: string | undefined): KubeObject {
  if (cause === undefined) return body;
  const { metadata } = body;
  return { ...body, metadata: { ...metadata, annotations: { ...metadata.annotations, [CAUSE_ANNOTATION]: cause } } };
}
