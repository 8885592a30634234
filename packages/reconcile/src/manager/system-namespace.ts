// The namespace of Leases and digest keys: the same for every instance of an operator in a cluster, wherever it runs, so
// that two instances cannot both write.
import {
  type Client,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  Lease,
  Namespace,
  type ObjectRef,
} from '@capstan/kube/cluster';
import { ManagerErrors } from '../errors.ts';

/** Creates the namespace if it is absent. */
export async function ensureNamespace(client: Client, name: string, signal: AbortSignal): Promise<void> {
  const namespace = { apiVersion: Namespace.apiVersion, kind: Namespace.kind, metadata: { name } };
  try {
    await client.create(Namespace, namespace, { fieldManager: 'capstan', signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Ignores a refusal: for writes that this account may leave to others. */
export function unlessForbidden(error: unknown): void {
  if (!isForbidden(error)) throw error;
}

/** Throws with the remedy when the Lease can neither be found nor created: an instance would wait for it for ever. */
export async function checkLease(client: Client, ref: Required<ObjectRef>, signal: AbortSignal): Promise<void> {
  try {
    if ((await client.find(Lease, ref, { signal })) !== undefined) return;
    const lease = { apiVersion: Lease.apiVersion, kind: Lease.kind, metadata: ref };
    await client.create(Lease, lease, { dryRun: true, signal });
  } catch (error) {
    if (isAlreadyExists(error)) return;
    if (isNotFound(error)) throw ManagerErrors.NoNamespace(ref.namespace);
    if (isForbidden(error)) throw ManagerErrors.LeaseForbidden(ref.namespace, ref.name, error);
    throw error;
  }
}

/** Returns the result of the call; throws the clear error if the namespace that it writes into does not exist. */
export async function orNoNamespace<T>(namespace: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw isNotFound(error) ? ManagerErrors.NoNamespace(namespace) : error;
  }
}
