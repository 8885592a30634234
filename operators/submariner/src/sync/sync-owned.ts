// Clusters and Endpoints: each belongs to the cluster that it describes. Its owner's object is the original; all others have
// copies. Labels are the exception: users may set those of a Cluster on the owner or on the broker, and neither erases them.
import { baseOf, type Content, contentOf, digestOf, type SyncBase, type SyncObject } from './content.ts';

export interface OwnedSides {
  /** Whether the object describes this member's own cluster. */
  readonly isOwn: boolean;
  readonly member: SyncObject | undefined;
  readonly broker: SyncObject | undefined;
}

export interface OwnedActions {
  readonly toBroker?: { readonly content: Content; readonly resourceVersion?: string };
  readonly deleteBroker?: { readonly uid: string };
  readonly toMember?: { readonly content: Content; readonly base: SyncBase };
  readonly deleteMember?: true;
}

export function syncOwned({ isOwn, member, broker }: OwnedSides): OwnedActions {
  return isOwn ? syncOwn(member, broker) : syncCopy(member, broker);
}

/** A copy follows the broker. */
function syncCopy(member: SyncObject | undefined, broker: SyncObject | undefined): OwnedActions {
  if (broker === undefined || broker.metadata.deletionTimestamp !== undefined)
    return member === undefined ? {} : { deleteMember: true };
  const content = contentOf(broker);
  const base = { uid: broker.metadata.uid ?? '', digest: digestOf(content) };
  const isCurrent =
    member !== undefined && digestOf(contentOf(member)) === base.digest && baseOf(member.metadata)?.uid === base.uid;
  return isCurrent ? {} : { toMember: { content, base } };
}

function syncOwn(member: SyncObject | undefined, broker: SyncObject | undefined): OwnedActions {
  if (member === undefined || member.metadata.deletionTimestamp !== undefined) {
    return broker === undefined ? {} : { deleteBroker: { uid: broker.metadata.uid ?? '' } };
  }
  const own = contentOf(member);
  if (broker === undefined) return { toBroker: { content: own } };
  const there = contentOf(broker);
  const labels = mergeLabels(baseOf(member.metadata)?.labels ?? {}, own.labels, there.labels);
  const content = { ...own, labels };
  const base = { uid: broker.metadata.uid ?? '', digest: digestOf(content), labels };
  const { resourceVersion } = broker.metadata;
  const known = baseOf(member.metadata);
  const isSettledHere = digestOf(own) === base.digest && known?.uid === base.uid && known.digest === base.digest;
  return {
    ...(digestOf(there) !== base.digest && {
      toBroker: { content, ...(resourceVersion !== undefined && { resourceVersion }) },
    }),
    ...(!isSettledHere && { toMember: { content, base } }),
  };
}

/** What either side changed since they agreed; where both did, the member's own value. */
export function mergeLabels(
  base: Readonly<Record<string, string>>,
  member: Readonly<Record<string, string>>,
  broker: Readonly<Record<string, string>>,
): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const key of new Set([...Object.keys(member), ...Object.keys(broker)])) {
    const value = member[key] !== base[key] ? member[key] : broker[key];
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}
