// Clusters and Endpoints: each belongs to the cluster that it describes. Its owner's object is the original; all others have
// copies. Labels are the exception: users may set those of a Cluster on the owner or on the broker, and neither erases them.
import { OWNER_ANNOTATION } from '../kinds/index.ts';
import {
  baseFrom,
  baseInForce,
  baseOf,
  type Content,
  contentOf,
  digestOf,
  exportMark,
  type SyncBase,
  type SyncObject,
} from './content.ts';
import { contentForCopy } from './published-outcomes.ts';

export interface OwnedSides {
  /** The id of this member's cluster. */
  readonly local: string;
  /** Whether the object describes this member's own cluster. */
  readonly isOwn: boolean;
  readonly member: SyncObject | undefined;
  readonly broker: SyncObject | undefined;
}

export interface OwnedActions {
  readonly toBroker?: { readonly content: Content; readonly mark: string; readonly resourceVersion?: string };
  readonly deleteBroker?: { readonly uid: string };
  readonly toMember?: { readonly content: Content; readonly base: SyncBase };
  readonly deleteMember?: true;
  /** Another cluster has joined with this id: its published objects stay, and nothing of this one is published. */
  readonly isDuplicate?: true;
}

/** Whether the broker's object is that of another cluster with the same id. */
export function isDuplicate(member: SyncObject | undefined, broker: SyncObject | undefined): boolean {
  const [own, theirs] = [member, broker].map((each) => each?.metadata.annotations?.[OWNER_ANNOTATION]);
  return own !== undefined && theirs !== undefined && own !== theirs;
}

export function syncOwned({ local, isOwn, member, broker }: OwnedSides): OwnedActions {
  return isOwn ? syncOwn(local, member, broker) : syncCopy(local, member, broker);
}

/** A copy follows the broker. */
function syncCopy(local: string, member: SyncObject | undefined, broker: SyncObject | undefined): OwnedActions {
  if (broker === undefined || broker.metadata.deletionTimestamp !== undefined)
    return member === undefined ? {} : { deleteMember: true };
  const content = contentForCopy(contentOf(broker), local);
  const base = baseFrom(broker, digestOf(content));
  const isCurrent =
    member !== undefined && digestOf(contentOf(member)) === base.digest && baseOf(member.metadata)?.uid === base.uid;
  return isCurrent ? {} : { toMember: { content, base } };
}

function syncOwn(local: string, member: SyncObject | undefined, broker: SyncObject | undefined): OwnedActions {
  if (member === undefined || member.metadata.deletionTimestamp !== undefined) {
    return broker === undefined ? {} : { deleteBroker: { uid: broker.metadata.uid ?? '' } };
  }
  if (isDuplicate(member, broker)) return { isDuplicate: true };
  const own = contentOf(member);
  const known = baseOf(member.metadata);
  if (broker === undefined) return { toBroker: { content: own, mark: exportMark(local, known, own) } };
  const there = contentOf(broker);
  const labels = mergeLabels(baseInForce(local, member, broker)?.labels ?? {}, own.labels, there.labels);
  const [mine, theirs] = [digestOf(own), digestOf(there)];
  const base = { ...baseFrom(broker, theirs), labels: there.labels };
  // Changes on the broker are copied here first, then changes here are copied to the broker. The base is the broker's present content,
  // never content that is being sent: after a failed write, a label that is new here would look like one that was removed there.
  if (digestOf({ ...own, labels }) !== mine) return { toMember: { content: { ...own, labels }, base } };
  const { resourceVersion } = broker.metadata;
  if (mine !== theirs)
    return {
      toBroker: {
        content: own,
        mark: exportMark(local, known, own),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
    };
  return known?.uid === base.uid && known.digest === theirs ? {} : { toMember: { content: own, base } };
}

/** Merges the labels that either side changed since the base; where both did, the member's own value wins. */
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
