// Clears the traces of the sync from a cluster that leaves: copies go, and objects of its own become plain objects again. Nothing here
// touches the broker, so a copy that is deleted later deletes nothing there.
import { type Client, isNotFound, type Kind, type KubeObject, type ObjectMeta } from '@capstan/kube';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, ORIGIN_LABEL } from '../kinds/index.ts';
import { SYNC_FINALIZER } from '../sync/content.ts';

/** The kinds of which a member has copies, or objects that the sync marked. */
export const SYNCED_KINDS: readonly Kind[] = [CablePolicies, Cluster, Endpoint, Broker, Gateway];

export interface MemberPlace {
  readonly client: Client;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Removes the copies of a member and the marks of the sync. Can be repeated. Returns how many objects were touched. */
export async function clearMember({ client, namespace, signal }: MemberPlace): Promise<number> {
  let touched = 0;
  for (const kind of SYNCED_KINDS) {
    const found: KubeObject[] = [];
    for await (const { items } of client.pages(kind, { namespace, signal })) found.push(...items);
    for (const { metadata } of found) {
      const ref = { namespace, name: metadata.name ?? '' };
      const change = clearedMetadata(metadata);
      if (change === undefined && !isCopy(kind.kind, metadata)) continue;
      touched++;
      try {
        if (change !== undefined) await client.patch(kind, ref, 'merge', { metadata: change }, { signal });
        if (isCopy(kind.kind, metadata)) await client.delete(kind, ref, { signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }
  return touched;
}

/** Objects that came from elsewhere. Gateways describe processes that end with the membership. */
export function isCopy(kind: string, { labels }: ObjectMeta): boolean {
  return kind === Gateway.kind || labels?.[ORIGIN_LABEL] !== undefined;
}

/** The metadata without the marks of the sync, as a merge patch; undefined where there are none. */
export function clearedMetadata({ annotations = {}, finalizers = [] }: ObjectMeta) {
  const marks = Object.keys(annotations).filter(
    (key) => key.startsWith('submariner.io/sync-base') || key === 'submariner.io/sync-in-force',
  );
  const isHeld = finalizers.includes(SYNC_FINALIZER);
  if (marks.length === 0 && !isHeld) return undefined;
  return {
    ...(marks.length > 0 && { annotations: Object.fromEntries(marks.map((key) => [key, null])) }),
    ...(isHeld && { finalizers: finalizers.filter((each) => each !== SYNC_FINALIZER) }),
  };
}
