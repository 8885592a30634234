// One policy, on a member and on the broker: what to do so that both are the same. Policies may be created, edited and
// deleted anywhere. The base distinguishes a deletion from a new object after any partition: a copy with a base whose original is
// gone was deleted, one without a base is new.
import { BROKER_ORIGIN, CREATED_AT_ANNOTATION, ORIGIN_LABEL } from '../kinds/index.ts';
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

export interface PolicySides {
  /** The id of this member's cluster. */
  readonly local: string;
  /** The object of this name on the member. */
  readonly member: SyncObject | undefined;
  /** The copy of the broker's object under another name, where its own is taken. */
  readonly alias?: SyncObject | undefined;
  readonly broker: SyncObject | undefined;
  /** Whether the broker takes policies of members. */
  readonly allowMemberPolicies?: boolean;
}

export type SyncReport =
  | { readonly reason: 'Synced' }
  | { readonly reason: 'NameConflict'; readonly owner: string }
  | { readonly reason: 'EditLost'; readonly owner: string }
  | { readonly reason: 'MemberPoliciesNotAllowed' };

export interface SyncActions {
  /** What the broker's object should hold; undefined leaves it alone. */
  readonly toBroker?: {
    readonly content: Content;
    readonly origin: string;
    readonly mark: string;
    readonly resourceVersion?: string;
  };
  readonly deleteBroker?: { readonly uid: string };
  /** What the member's copy should hold, and its new base. */
  readonly toMember?: {
    readonly content: Content;
    /** Undefined on the member that created it: an object without an origin is its own. */
    readonly origin: string | undefined;
    readonly base: SyncBase;
    readonly asAlias: boolean;
  };
  /** The base to record on the member's copy, which is left alone otherwise. */
  readonly base?: SyncBase;
  readonly deleteMember?: true;
  readonly deleteAlias?: true;
  /** The deletion of the member's copy may be completed. */
  readonly release?: true;
  readonly report: SyncReport;
}

const SYNCED: SyncReport = { reason: 'Synced' };

export function syncPolicy(sides: PolicySides): SyncActions {
  const { member, alias } = sides;
  const broker = isDeleting(sides.broker) ? undefined : sides.broker;
  const noAlias = alias === undefined ? {} : { deleteAlias: true as const };
  if (member === undefined) return { ...noAlias, ...(broker ? imported(broker, sides.local) : { report: SYNCED }) };
  // An object that was created here, and whose name another cluster has won meanwhile, is treated as new again.
  const isTakenOver =
    member.metadata.labels?.[ORIGIN_LABEL] === undefined && broker !== undefined && originOf(broker) !== sides.local;
  const base = isTakenOver ? undefined : baseInForce(sides.local, member, broker);
  if (isDeleting(member)) return { ...noAlias, ...afterDeletion(sides, member, base, broker) };
  if (base === undefined) return beforeFirstSync(sides, member, broker);
  if (broker === undefined) return { ...noAlias, deleteMember: true, report: SYNCED };
  return { ...noAlias, ...merged(sides, member, base, broker) };
}

/** Both are there and were in agreement once. */
function merged(
  { allowMemberPolicies = true, local }: PolicySides,
  member: SyncObject,
  base: SyncBase,
  broker: SyncObject,
): SyncActions {
  const [here, there] = [contentOf(member), contentOf(broker)];
  const [mine, theirs] = [digestOf(here), digestOf(there)];
  const next = baseFrom(broker, theirs);
  const isSameObject = base.uid === next.uid;
  if (mine === theirs) {
    const recorded = baseOf(member.metadata);
    const isRecorded = recorded?.uid === next.uid && recorded.digest === theirs;
    return isRecorded ? { report: SYNCED } : { base: next, report: SYNCED };
  }
  const isEdited = mine !== base.digest;
  if (!isEdited) return imported(broker, local);
  const isBrokerEdited = !isSameObject || theirs !== base.digest;
  if (isBrokerEdited) return { ...imported(broker, local), report: { reason: 'EditLost', owner: originOf(broker) } };
  if (!allowMemberPolicies) return { ...imported(broker, local), report: { reason: 'MemberPoliciesNotAllowed' } };
  return exported(here, originOf(broker), member, broker, local);
}

/** A copy that has never been in agreement with the broker: it is new, or its first export was not recorded. */
function beforeFirstSync(sides: PolicySides, member: SyncObject, broker: SyncObject | undefined): SyncActions {
  const { local, alias, allowMemberPolicies = true } = sides;
  const here = contentOf(member);
  const refused = { reason: 'MemberPoliciesNotAllowed' } as const;
  if (broker === undefined) {
    const noAlias = alias === undefined ? {} : { deleteAlias: true as const };
    return allowMemberPolicies
      ? { ...noAlias, ...exported(here, local, member, undefined, local) }
      : { ...noAlias, report: refused };
  }
  const digest = digestOf(contentOf(broker));
  const noAlias = alias === undefined ? {} : { deleteAlias: true as const };
  if (digestOf(here) === digest) return { ...noAlias, base: baseFrom(broker, digest), report: SYNCED };
  // Exported by us, and edited since: what is on the broker is newer than what was exported.
  if (originOf(broker) === local)
    return { ...noAlias, ...imported(broker, local), report: { reason: 'EditLost', owner: local } };
  // Two creations of one name: the earlier one wins, then the smaller cluster id.
  if (allowMemberPolicies && isEarlier(member, local, broker))
    return { ...noAlias, ...exported(here, local, member, broker, local) };
  const report: SyncReport = allowMemberPolicies ? { reason: 'NameConflict', owner: originOf(broker) } : refused;
  const isCurrent =
    alias !== undefined && baseOf(alias.metadata)?.digest === digest && digestOf(contentOf(alias)) === digest;
  return isCurrent ? { report } : { ...imported(broker, local, true), report };
}

/** A deletion on a member holds for all, once the broker has confirmed it. */
function afterDeletion(
  { local, allowMemberPolicies = true }: PolicySides,
  member: SyncObject,
  base: SyncBase | undefined,
  broker: SyncObject | undefined,
): SyncActions {
  if (broker === undefined) return { release: true, report: SYNCED };
  const uid = broker.metadata.uid ?? '';
  const isOurs =
    base === undefined
      ? originOf(broker) === local && digestOf(contentOf(broker)) === digestOf(contentOf(member))
      : base.uid === uid;
  if (isOurs && allowMemberPolicies) return { deleteBroker: { uid }, report: SYNCED };
  return { release: true, report: SYNCED };
}

function exported(
  content: Content,
  origin: string,
  member: SyncObject,
  broker: SyncObject | undefined,
  local: string,
): SyncActions {
  const resourceVersion = broker?.metadata.resourceVersion;
  return {
    toBroker: {
      content,
      origin,
      mark: exportMark(local, baseOf(member.metadata), content),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    report: SYNCED,
  };
}

function imported(broker: SyncObject, local: string, asAlias = false): SyncActions {
  const content = contentOf(broker);
  const base = baseFrom(broker, digestOf(content));
  const origin = originOf(broker) === local ? undefined : originOf(broker);
  return { toMember: { content, origin, base, asAlias }, report: SYNCED };
}

function isEarlier(member: SyncObject, local: string, broker: SyncObject): boolean {
  const [mine, theirs] = [createdAt(member), createdAt(broker)];
  return mine === theirs ? local < originOf(broker) : mine < theirs;
}

/** Of the first creation anywhere; an object without a date is the latest. */
function createdAt({ metadata }: SyncObject): string {
  return metadata.annotations?.[CREATED_AT_ANNOTATION] ?? '~';
}

export function originOf({ metadata }: SyncObject): string {
  return metadata.labels?.[ORIGIN_LABEL] ?? BROKER_ORIGIN;
}

function isDeleting(object: SyncObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}
