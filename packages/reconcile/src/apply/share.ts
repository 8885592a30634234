// Sets and withdraws fields of objects that several owners share.
import { applyConflicts, isInvalid, type KubeObject } from '@capstan/kube/cluster';
import { describe, type ShareWrite, type WithdrawWrite } from '../diff/index.ts';
import { CAUSE_ANNOTATION, INVENTORY_LABEL } from '../marks.ts';
import { WriteConflict } from './outcome.ts';
import { askLease, type Performance, send, withCause } from './sending.ts';

/** Never forced: fields that others have stay theirs. */
export async function share(
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
export async function withdraw(write: WithdrawWrite, performance: Performance): Promise<boolean> {
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
