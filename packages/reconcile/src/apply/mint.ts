// Creates an object whose content a function of the author mints.
import { type Kind, type KubeObject, type ObjectRef } from '@capstan/kube/cluster';
import { type MintWrite } from '../diff/index.ts';
import { ApplyErrors } from '../errors.ts';
import { AuthorErrors } from '../guard.ts';
import { within } from '../within.ts';
import { create, isTaken, observe, type Performance, send, withCause } from './sending.ts';

/** The value is created off the event loop, and written only if the replaced object is still the judged one. */
export async function mint(write: MintWrite, performance: Performance): Promise<boolean> {
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

/** Returns whether a minter did not return in time. */
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
