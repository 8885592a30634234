// Brings one policy on a member and on the broker to the same content. Policies may be created, edited and deleted anywhere. The
// base distinguishes a deletion from a new object after any partition: a copy with a base whose original is gone was deleted, one
// without a base is new. A base is therefore recorded before anything else happens to a copy: until then a finalizer holds the
// broker's object, and no edit of the copy is exported.
//
// A broker that was restored from a backup lacks policies that were created later. It keeps a record of the uids of all policies
// that it had, also of deleted ones. A base is marked once the record holds its uid. An absent policy whose marked base is not in
// the record was therefore not deleted: the broker went back, and a member creates the policy again.
import type { ObjectMeta } from '@capstan/kube';
import { BROKER_ORIGIN, ORIGIN_LABEL } from '../kinds/index.ts';
import {
  baseFrom,
  baseInForce,
  baseOf,
  type Content,
  contentOf,
  digestOf,
  EXPORT_FINALIZER,
  editorOf,
  exportMark,
  isOlderThan,
  replacementOf,
  type SyncBase,
  type SyncObject,
} from './content.ts';
import { IN_FORCE, inForceText, type PolicyObject, recordedText } from './in-force.ts';

export type SyncPolicyObject = SyncObject & PolicyObject;

export interface PolicySides {
  /** The id of this member's cluster. */
  readonly local: string;
  /** The object of this name on the member. */
  readonly member: SyncPolicyObject | undefined;
  /** The copy of the broker's object under another name, where its own is taken. */
  readonly alias?: SyncPolicyObject | undefined;
  readonly broker: SyncPolicyObject | undefined;
  /** Whether the broker takes policies of members. */
  readonly allowMemberPolicies?: boolean;
  /** Whether the broker had a policy of this uid, by its record; undefined for a broker that keeps none. */
  readonly isRecorded?: ((uid: string) => boolean) | undefined;
}

export type SyncReport =
  | { readonly reason: 'Synced' }
  | { readonly reason: 'NameConflict'; readonly owner: string }
  | { readonly reason: 'EditLost'; readonly editor: string }
  /** It is done when both sides agree again. It is reported until the policy is edited. */
  | { readonly reason: 'BrokerRestored'; readonly isDone?: true }
  | { readonly reason: 'NoPolicyRecord' }
  | { readonly reason: 'MemberPoliciesNotAllowed' };

export interface SyncActions {
  /** The wanted content of the broker's object; undefined leaves it alone. */
  readonly toBroker?: {
    readonly content: Content;
    readonly origin: string;
    readonly mark: string;
    readonly inForce: string | undefined;
    /** On a policy that the broker lost: the uid of the lost object, and this member. */
    readonly replaces?: string;
    readonly resourceVersion?: string;
  };
  readonly deleteBroker?: { readonly uid: string };
  /** The wanted content of the member's copy, and its new base. */
  readonly toMember?: {
    readonly content: Content;
    /** Undefined on the member that created it: an object without an origin is its own. */
    readonly origin: string | undefined;
    readonly base: SyncBase;
    readonly inForce: string | undefined;
    readonly asAlias: boolean;
  };
  /** The base to record on the member's copy, which is left alone otherwise. */
  readonly base?: SyncBase;
  /** The text to record as in force, with the base or alone. */
  readonly inForce?: { readonly onMember?: string; readonly onBroker?: string };
  readonly deleteMember?: true;
  readonly deleteAlias?: true;
  /** The deletion of the member's copy may be completed. */
  readonly release?: true;
  /** The broker's object need not be held any longer: its creator has recorded the base. */
  readonly releaseBroker?: true;
  /** The deletion of the member's copy waits for the broker's record. */
  readonly waits?: true;
  readonly report: SyncReport;
}

const SYNCED: SyncReport = { reason: 'Synced' };

export function syncPolicy(sides: PolicySides): SyncActions {
  const { local, member, alias } = sides;
  const found = sides.broker;
  const broker = isDeleting(found) ? undefined : found;
  const noAlias = alias === undefined ? {} : { deleteAlias: true as const };
  const isHeld = found !== undefined && holderOf(found) === local && isHeldForExport(found.metadata);
  // Members that are away know the lost object only: the broker has to record both before the new one may go.
  const replaced = isHeld ? replacementOf(found) : undefined;
  const mayRelease = replaced === undefined || sides.isRecorded?.(replaced.uid) !== false;
  if (member === undefined) {
    if (isHeld && !mayRelease) return { ...noAlias, report: SYNCED };
    if (isHeld) return { ...noAlias, releaseBroker: true, report: SYNCED };
    return { ...noAlias, ...(broker ? imported(broker, undefined, local) : { report: SYNCED }) };
  }
  if (isDeleting(member)) {
    if (isHeld && broker === undefined)
      return { ...noAlias, ...(mayRelease ? { releaseBroker: true } : { waits: true }), report: SYNCED };
    return { ...noAlias, ...afterDeletion(sides, member, baseInForce(local, member, broker), broker) };
  }
  const isBased = isHeld && baseOf(member.metadata)?.uid === found.metadata.uid;
  if (isHeld && (!isBased || mayRelease)) return { ...noAlias, ...afterCreation(local, member, found) };
  const base = baseInForce(local, member, found);
  // The name is free when the deletion on the broker is complete.
  if (base === undefined && found !== undefined && broker === undefined)
    return { ...noAlias, report: { reason: 'NameConflict', owner: originOf(found) } };
  if (base === undefined) return beforeFirstSync(sides, member, broker);
  if (found === undefined && isLost(sides, base)) return { ...noAlias, ...createdAgain(member, base, local) };
  // A restored broker has no record until its operator runs.
  if (found === undefined && base.isRecorded && sides.isRecorded === undefined)
    return { ...noAlias, report: { reason: 'NoPolicyRecord' } };
  if (broker === undefined) return { ...noAlias, deleteMember: true, report: SYNCED };
  return { ...noAlias, ...merged(sides, member, base, broker) };
}

/**
 * The broker has the policy that this member created. The base comes first: with an edit exported before it, a deletion on the
 * broker would look like no creation at all. Then the broker's object need not be held any longer.
 */
function afterCreation(local: string, member: SyncPolicyObject, broker: SyncPolicyObject): SyncActions {
  if (baseOf(member.metadata)?.uid === broker.metadata.uid) return { releaseBroker: true, report: SYNCED };
  const isEditedThere = baseInForce(local, member, broker) === undefined;
  if (isEditedThere && !isDeleting(broker)) {
    const isEqual = digestOf(contentOf(member)) === digestOf(contentOf(broker));
    if (!isEqual) return editLost(broker, member, local);
  }
  return withBase(baseFrom(broker, digestOf(contentOf(broker))), broker, member);
}

/** Whether an absent policy was lost in a restore of the broker, and not deleted. */
function isLost({ allowMemberPolicies = true, isRecorded }: PolicySides, base: SyncBase | undefined): boolean {
  return allowMemberPolicies && base?.isRecorded === true && isRecorded?.(base.uid) === false;
}

function createdAgain(member: SyncPolicyObject, { uid }: SyncBase, local: string): SyncActions {
  const origin = member.metadata.labels?.[ORIGIN_LABEL] ?? local;
  const content = contentOf(member);
  const { toBroker, ...rest } = exported(content, origin, member, undefined, local);
  if (toBroker === undefined) return rest;
  const replaces = [uid, local, digestOf(content)].join(' ');
  return { toBroker: { ...toBroker, replaces }, report: { reason: 'BrokerRestored' } };
}

/** Both are there and were in agreement once. */
function merged(
  { allowMemberPolicies = true, local, isRecorded: isKnown }: PolicySides,
  member: SyncPolicyObject,
  base: SyncBase,
  broker: SyncPolicyObject,
): SyncActions {
  const [here, there] = [contentOf(member), contentOf(broker)];
  const [mine, theirs] = [digestOf(here), digestOf(there)];
  const next = baseFrom(broker, theirs);
  if (mine === theirs) {
    const recorded = baseOf(member.metadata);
    const isRecorded = recorded?.uid === next.uid && recorded.digest === theirs;
    if (!isRecorded) return withBase(next, broker, member);
    const report: SyncReport =
      replacementOf(broker)?.digest === theirs ? { reason: 'BrokerRestored', isDone: true } : SYNCED;
    if (!recorded.isRecorded && isKnown?.(next.uid))
      return { ...withBase({ ...next, isRecorded: true }, broker, member), report };
    return { ...recordInForce(broker, member), report };
  }
  // A broker that was restored from a backup holds an earlier version of the object that the two agreed on.
  if (allowMemberPolicies && base.uid === next.uid && isOlderThan(broker, base))
    return { ...exported(here, originOf(broker), member, broker, local), report: { reason: 'BrokerRestored' } };
  const isEdited = mine !== base.digest;
  if (!isEdited) return imported(broker, member, local);
  const isBrokerEdited = base.uid !== next.uid || theirs !== base.digest;
  if (isBrokerEdited) return editLost(broker, member, local);
  if (!allowMemberPolicies)
    return { ...imported(broker, member, local), report: { reason: 'MemberPoliciesNotAllowed' } };
  return exported(here, originOf(broker), member, broker, local);
}

/** A copy that has never been in agreement with the broker is new. */
function beforeFirstSync(
  sides: PolicySides,
  member: SyncPolicyObject,
  broker: SyncPolicyObject | undefined,
): SyncActions {
  const { local, alias, allowMemberPolicies = true } = sides;
  const here = contentOf(member);
  const noAlias = alias === undefined ? {} : { deleteAlias: true as const };
  const refused = { reason: 'MemberPoliciesNotAllowed' } as const;
  if (broker === undefined)
    return allowMemberPolicies
      ? { ...noAlias, ...exported(here, local, member, undefined, local) }
      : { ...noAlias, report: refused };
  const digest = digestOf(contentOf(broker));
  if (digestOf(here) === digest) return { ...noAlias, ...withBase(baseFrom(broker, digest), broker, member) };
  // The policy that is in force in the set keeps its name, whichever of the two is older.
  const report: SyncReport = allowMemberPolicies ? { reason: 'NameConflict', owner: originOf(broker) } : refused;
  const text = inForceOn(broker, alias);
  if (text !== undefined && broker.metadata.annotations?.[IN_FORCE] !== text)
    return { inForce: { onBroker: text }, report };
  const isCurrent =
    alias !== undefined &&
    baseOf(alias.metadata)?.digest === digest &&
    digestOf(contentOf(alias)) === digest &&
    recordedText(alias) === text;
  return isCurrent ? { report } : { ...imported(broker, alias, local, true), report };
}

/** A deletion on a member holds for all, once the broker has confirmed it. */
function afterDeletion(
  sides: PolicySides,
  member: SyncPolicyObject,
  base: SyncBase | undefined,
  broker: SyncPolicyObject | undefined,
): SyncActions {
  const { local, allowMemberPolicies = true } = sides;
  // Other members would create a lost policy again: it has to be there to be deleted for all.
  if (base !== undefined && sides.broker === undefined && isLost(sides, base)) return createdAgain(member, base, local);
  if (broker === undefined) return { release: true, report: SYNCED };
  const uid = broker.metadata.uid ?? '';
  const isOurs =
    base === undefined
      ? originOf(broker) === local && digestOf(contentOf(broker)) === digestOf(contentOf(member))
      : base.uid === uid || replacementOf(broker)?.uid === base.uid;
  if (isOurs && allowMemberPolicies) return { deleteBroker: { uid }, report: SYNCED };
  return { release: true, report: SYNCED };
}

function exported(
  content: Content,
  origin: string,
  member: SyncPolicyObject,
  broker: SyncPolicyObject | undefined,
  local: string,
): SyncActions {
  const resourceVersion = broker?.metadata.resourceVersion;
  return {
    toBroker: {
      content,
      origin,
      mark: exportMark(local, baseOf(member.metadata), content),
      inForce: inForceText(member) ?? (broker === undefined ? recordedText(member) : inForceOn(broker, member)),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    report: SYNCED,
  };
}

function imported(
  broker: SyncPolicyObject,
  copy: SyncPolicyObject | undefined,
  local: string,
  asAlias = false,
): SyncActions {
  const content = contentOf(broker);
  const base = baseFrom(broker, digestOf(content));
  const origin = originOf(broker) === local ? undefined : originOf(broker);
  return { toMember: { content, origin, base, inForce: inForceOn(broker, copy), asAlias }, report: SYNCED };
}

function editLost(broker: SyncPolicyObject, member: SyncPolicyObject, local: string): SyncActions {
  const editor = editorOf(broker) ?? BROKER_ORIGIN;
  return { ...imported(broker, member, local), report: { reason: 'EditLost', editor } };
}

function withBase(base: SyncBase, broker: SyncPolicyObject, member: SyncPolicyObject): SyncActions {
  const onMember = inForceOn(broker, member);
  return { base, ...(onMember !== undefined && { inForce: { onMember } }), report: SYNCED };
}

/** Both sides agree: each records the text that is in force, where it does not yet. */
function recordInForce(broker: SyncPolicyObject, member: SyncPolicyObject): SyncActions {
  const text = inForceOn(broker, member);
  if (text === undefined) return { report: SYNCED };
  const isOn = ({ metadata }: SyncPolicyObject) => metadata.annotations?.[IN_FORCE] === text;
  if (!isOn(broker)) return { inForce: { onBroker: text }, report: SYNCED };
  return isOn(member) ? { report: SYNCED } : { inForce: { onMember: text }, report: SYNCED };
}

/**
 * The text that is in force in the set: the broker's spec while it is valid, else the text that it records. Where it records
 * none, a member that knew the object before it became invalid brings it.
 */
function inForceOn(broker: SyncPolicyObject, copy: SyncPolicyObject | undefined): string | undefined {
  return inForceText(broker) ?? recordedText(broker) ?? inForceText(copy) ?? recordedText(copy);
}

export function isHeldForExport({ finalizers = [] }: ObjectMeta): boolean {
  return finalizers.includes(EXPORT_FINALIZER);
}

/** The member that holds a new object until it has recorded its base. */
function holderOf(broker: SyncObject): string {
  return replacementOf(broker)?.holder ?? originOf(broker);
}

export function originOf({ metadata }: SyncObject): string {
  return metadata.labels?.[ORIGIN_LABEL] ?? BROKER_ORIGIN;
}

function isDeleting(object: SyncObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}
