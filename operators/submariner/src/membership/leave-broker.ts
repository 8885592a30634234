// A cluster leaves its broker: its Cluster and Endpoints, its heartbeat and its account go. Its policies stay, because they are
// in force in the set; only the hold that a creation left on them goes.
import {
  type Client,
  isForbidden,
  isNotFound,
  isUnauthorized,
  type Kind,
  type KubeObject,
  Lease,
  Role,
  RoleBinding,
  ServiceAccount,
} from '@capstan/kube';
import { CablePolicies, Cluster, Endpoint, OWNER_ANNOTATION } from '../kinds/index.ts';
import { EXPORT_FINALIZER } from '../sync/content.ts';
import { isHeldForExport, originOf } from '../sync/sync-policy.ts';
import { accountOf, heartbeatOf } from './names.ts';

export interface Departure {
  /** The client of the broker, with the rights of the member itself or of an administrator. */
  readonly client: Client;
  /** The broker's namespace. */
  readonly namespace: string;
  readonly clusterID: string;
  /** The owner that the Cluster must name; another cluster of the same id keeps its own objects. Any owner by default. */
  readonly owner?: string;
  /** The account to remove; undefined keeps it. By default that of the cluster id. */
  readonly account?: string | undefined;
  readonly signal: AbortSignal;
}

/** Removes all objects of a cluster from its broker. Can be repeated. Returns the removed objects, as `kind name`. */
export async function leaveBroker(departure: Departure): Promise<string[]> {
  const { client, namespace, clusterID, owner, signal } = departure;
  const removed: string[] = [];
  const remove = async <T extends KubeObject>(kind: Kind<T>, name: string) => {
    try {
      await client.delete(kind, { namespace, name }, { signal });
      removed.push(`${kind.kind} ${name}`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  };
  const cluster = await client.find(Cluster, { namespace, name: clusterID }, { signal });
  const named = cluster?.metadata.annotations?.[OWNER_ANNOTATION];
  if (owner !== undefined && named !== undefined && named !== owner) return removed;
  for await (const { items } of client.pages(Endpoint, { namespace, signal }))
    for (const { metadata, spec } of items)
      if (spec.cluster_id === clusterID) await remove(Endpoint, metadata.name ?? '');
  await remove(Cluster, clusterID);
  for await (const { items } of client.pages(CablePolicies, { namespace, signal }))
    for (const { metadata } of items) {
      if (originOf({ metadata }) !== clusterID || !isHeldForExport(metadata)) continue;
      const finalizers = (metadata.finalizers ?? []).filter((each) => each !== EXPORT_FINALIZER);
      await client.patch(
        CablePolicies,
        { namespace, name: metadata.name ?? '' },
        'merge',
        { metadata: { finalizers } },
        { signal },
      );
    }
  // Brokers of an earlier version grant members no right to these: their administrator removes them.
  const tryRemove = async <T extends KubeObject>(kind: Kind<T>, name: string) => {
    try {
      await remove(kind, name);
    } catch (error) {
      if (!isForbidden(error) && !isUnauthorized(error)) throw error;
    }
  };
  await tryRemove(Lease, heartbeatOf(clusterID));
  const account = 'account' in departure ? departure.account : accountOf(clusterID);
  if (account === undefined) return removed;
  await tryRemove(RoleBinding, account);
  // The role that lets a member remove its own account, and its binding, are owned by the account: they go with it.
  await tryRemove(ServiceAccount, account);
  await tryRemove(RoleBinding, `${account}-token`);
  await tryRemove(Role, `${account}-token`);
  return removed;
}
