// Syncs policies between this member and its broker. The rules are in src/sync; here they become plans: one reconciler for the objects of
// the member, and one that creates copies of the broker's other policies.
import { ConfigMap, type KubeObject, type ObjectRef } from '@capstan/kube';
import {
  conditionType,
  createOnly,
  type GroupInput,
  patch,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  released,
  remove,
  writing,
} from '@capstan/reconcile';
import {
  BROKER_NAMESPACE,
  BROKER_ORIGIN,
  Broker,
  CablePolicies,
  REAL_NAME_ANNOTATION,
  Submariner,
} from '../kinds/index.ts';
import { LEAVING_ANNOTATION } from '../membership/names.ts';
import { withInlineOptions } from '../policy/inline-options.ts';
import {
  baseAnnotations,
  EXPORT,
  EXPORT_FINALIZER,
  isOriginal,
  REPLACES,
  SYNC,
  SYNC_FINALIZER,
  SYNCED,
} from '../sync/content.ts';
import { IN_FORCE } from '../sync/in-force.ts';
import { originOf, type SyncActions, type SyncReport, syncPolicy } from '../sync/sync-policy.ts';
import { annotationFields, copyOf, fieldsOf } from './copied-fields.ts';

export const BROKER_ROLE = 'broker';

const LOCAL_WORLD = '';

/** Where the objects of a member are, here and on the broker. */
export interface SyncPlaces {
  readonly clusterID: string;
  readonly namespace: string;
  readonly brokerNamespace: string;
  /**
   * Whether the Submariner resource must be there: a gateway that an operator started for it outlives it for a moment, and takes
   * up nothing then, nor when the resource names another broker than its own. False by default.
   */
  readonly needsResource?: boolean;
  /** The broker that this gateway was started for, as the resource named it. */
  readonly brokerServer?: string;
}

const membershipOf = ({ metadata, spec }: Submariner) => ({
  id: spec.clusterID,
  server: spec.brokerK8sApiServer,
  remote: spec.brokerK8sRemoteNamespace || BROKER_NAMESPACE,
  isLeaving: metadata.deletionTimestamp !== undefined || metadata.annotations?.[LEAVING_ANNOTATION] !== undefined,
});

/** Whether this cluster leaves its broker: from then on nothing is exported, imported or deleted there by the sync. */
export function isLeaving(
  here: Pick<Reader, 'list'>,
  { clusterID, namespace, brokerNamespace, needsResource = false, brokerServer }: SyncPlaces,
): boolean {
  const own = here.list(Submariner, { namespace }, membershipOf).filter(({ id }) => id === clusterID);
  if (own.length === 0) return needsResource;
  const isMoved = ({ server, remote }: (typeof own)[number]) =>
    needsResource && brokerServer !== undefined && ((server ?? '') !== brokerServer || remote !== brokerNamespace);
  return own.every((each) => each.isLeaving || isMoved(each));
}

const synced = conditionType<SyncReport['reason'] | 'BrokerAway'>('Synced');

export function createPolicySync(places: SyncPlaces): Reconciler[] {
  const { clusterID, namespace, brokerNamespace } = places;
  const sidesOf = (read: Reader, name: string, own: CablePolicies | undefined) => {
    const there = read.in(BROKER_ROLE);
    // Without a broker nothing is known of its objects: they are neither there nor gone.
    if (there === undefined) return undefined;
    const found = there.get(CablePolicies, { namespace: brokerNamespace, name });
    const broker = found === undefined ? undefined : { ...found, spec: inlined(there, found, brokerNamespace) };
    const allow = there.list(Broker, { namespace: brokerNamespace }, allowsMembers);
    const isRecorded = recordIn(there, brokerNamespace);
    const alias =
      broker === undefined ? undefined : read.get(CablePolicies, aliasRef(namespace, name, originOf(broker)));
    const allowMemberPolicies = allow.every((each) => each);
    return { local: clusterID, member: own, alias, broker, allowMemberPolicies, isRecorded };
  };

  const local = reconciler<CablePolicies>({
    name: 'sync-policy',
    resource: CablePolicies,
    finalizer: SYNC_FINALIZER,
    reads: [
      reading(CablePolicies, 'everywhere', { in: BROKER_ROLE }),
      reading(Broker, 'everywhere', { in: BROKER_ROLE }),
      reading(ConfigMap, 'referenced', { in: BROKER_ROLE }),
      reading(Submariner, 'everywhere'),
      ConfigMap,
    ],
    writes: [
      writing(CablePolicies, SYNC, { prunes: false }),
      writing(CablePolicies, SYNC, { prunes: false, in: BROKER_ROLE }),
    ],
    primary: false,
    reconcile({ object, read }) {
      if (object.metadata.namespace !== namespace || isLeaving(read, places))
        return plan({ held: false, prune: false });
      const real = object.metadata.annotations?.[REAL_NAME_ANNOTATION];
      if (real !== undefined) {
        const ofWinner = sidesOf(read, real, read.get(CablePolicies, { namespace, name: real }));
        return ofWinner === undefined ? plan({ held: false, prune: false }) : planOfAlias(object, ofWinner);
      }
      const name = object.metadata.name ?? '';
      const member = { ...object, spec: inlined(read, object, namespace) };
      const sides = sidesOf(read, name, member);
      if (sides === undefined) return plan({ held: true, prune: false, conditions: [away(name)] });
      const actions = syncPolicy(sides);
      return plan({
        held: true,
        ...writesOf(actions, { name, namespace, brokerNamespace }, object, sides.broker),
        conditions: [conditionOf(name, actions.report)],
        ...(isWarning(actions.report) && {
          events: [{ type: 'Warning' as const, reason: actions.report.reason, note: messageOf(name, actions.report) }],
        }),
      });
    },
    release({ object, read }) {
      const { name = '', annotations } = object.metadata;
      if (annotations?.[REAL_NAME_ANNOTATION] !== undefined || isLeaving(read, places)) return released();
      const member = { ...object, spec: inlined(read, object, namespace) };
      const sides = sidesOf(read, name, member);
      if (sides === undefined) return plan({ held: true, prune: false, conditions: [away(name)] });
      const actions = syncPolicy(sides);
      if (actions.toBroker !== undefined) {
        const writes = writesOf(actions, { name, namespace, brokerNamespace }, object, sides.broker);
        return plan({ held: true, prune: false, ...writes });
      }
      if (actions.waits) return plan({ held: true, prune: false });
      if (sides.broker === undefined) return released();
      if (actions.releaseBroker) return plan({ held: true, prune: false, patches: [releaseExport(sides.broker)] });
      if (actions.deleteBroker === undefined) return released();
      return plan({
        held: true,
        prune: false,
        removals: [remove(CablePolicies, sides.broker, { in: BROKER_ROLE, ...SYNCED })],
      });
    },
  });

  const imported = reconciler<CablePolicies>({
    name: 'import-policy',
    resource: CablePolicies,
    in: BROKER_ROLE,
    reads: [
      reading(CablePolicies, 'everywhere', { in: 'local' }),
      reading(Submariner, 'everywhere', { in: 'local' }),
      reading(Broker, 'everywhere'),
      ConfigMap,
    ],
    writes: [writing(CablePolicies, SYNC, { prunes: false, in: 'local' }), writing(CablePolicies, ['patch', 'remove'])],
    primary: false,
    writesStatus: false,
    reconcile({ object, read }) {
      const { name = '' } = object.metadata;
      const here = read.in(LOCAL_WORLD);
      if (object.metadata.namespace !== brokerNamespace || here === undefined) return plan({ held: false });
      if (isLeaving(here, places)) return plan({ held: false, prune: false });
      const member = here.get(CablePolicies, { namespace, name });
      if (member !== undefined) return plan({ held: false, prune: false });
      const broker = { ...object, spec: inlined(read, object, brokerNamespace) };
      const { toMember, releaseBroker } = syncPolicy({
        local: clusterID,
        member,
        broker,
        isRecorded: recordIn(read, brokerNamespace),
      });
      if (releaseBroker) return plan({ held: false, prune: false, patches: [releaseExport(object)] });
      if (toMember === undefined) return plan({ held: false, prune: false });
      const marks = { ...baseAnnotations(toMember.base), ...inForceMark(toMember.inForce) };
      const copy = copyOf({ namespace, name }, toMember.content, toMember.origin, marks);
      return plan({
        held: false,
        prune: false,
        children: [createOnly(CablePolicies, copy, { owned: false, in: LOCAL_WORLD })],
      });
    },
  });
  return [local, imported];
}

/** The record of policies that the broker's operator keeps. */
function recordIn(there: Pick<Reader, 'list'>, namespace: string): ((uid: string) => boolean) | undefined {
  const record = there.list(Broker, { namespace }, recordOf).find((each) => each !== undefined);
  return record === undefined ? undefined : (uid) => record.includes(uid);
}

const recordOf = ({ status }: Broker) => status?.policyRecord;

const allowsMembers = ({ spec }: Broker) => spec.allowMemberPolicies;

const dataOf = ({ data }: ConfigMap) => data ?? {};

/** The spec with the options of the ConfigMaps that lie beside the policy. */
function inlined(read: Pick<Reader, 'get'>, { metadata, spec }: CablePolicies, namespace: string): unknown {
  if (!isOriginal(metadata)) return spec;
  return withInlineOptions(spec, (name, given) => read.get(ConfigMap, { namespace: given ?? namespace, name }, dataOf))
    .spec;
}

interface Names {
  readonly name: string;
  readonly namespace: string;
  readonly brokerNamespace: string;
}

function writesOf(
  actions: SyncActions,
  { name, namespace, brokerNamespace }: Names,
  member: KubeObject,
  broker: KubeObject | undefined,
): GroupInput {
  const { toBroker, toMember, base, inForce } = actions;
  const here = { namespace, name };
  const there = { namespace: brokerNamespace, name };
  if (actions.releaseBroker && broker !== undefined) return { patches: [releaseExport(broker)] };
  if (toBroker !== undefined) {
    const { content, origin, mark, replaces } = toBroker;
    const marks = {
      [EXPORT]: mark,
      ...inForceMark(toBroker.inForce),
      ...(replaces !== undefined && { [REPLACES]: replaces }),
    };
    if (broker === undefined) {
      const { metadata, spec } = copyOf(there, content, origin, marks);
      const held = { metadata: { ...metadata, finalizers: [EXPORT_FINALIZER] }, spec };
      return { children: [createOnly(CablePolicies, held, { owned: false, in: BROKER_ROLE })] };
    }
    const fields = [...fieldsOf(content, origin, broker), ...annotationFields(marks)];
    return { patches: [patch(CablePolicies, there, fields, { ...SILENT, in: BROKER_ROLE })] };
  }
  if (toMember?.asAlias && broker !== undefined) {
    const ref = aliasRef(namespace, name, originOf(broker));
    const marks = {
      ...baseAnnotations(toMember.base),
      ...inForceMark(toMember.inForce),
      [REAL_NAME_ANNOTATION]: name,
    };
    return {
      children: [createOnly(CablePolicies, copyOf(ref, toMember.content, toMember.origin, marks), { owned: false })],
    };
  }
  if (toMember !== undefined) {
    const fields = [
      ...fieldsOf(toMember.content, toMember.origin, member),
      ...annotationFields({ ...baseAnnotations(toMember.base), ...inForceMark(toMember.inForce) }),
    ];
    return { patches: [patch(CablePolicies, here, fields, SILENT)] };
  }
  if (base !== undefined || inForce?.onMember !== undefined) {
    const marks = { ...(base !== undefined && baseAnnotations(base)), ...inForceMark(inForce?.onMember) };
    return { patches: [patch(CablePolicies, here, annotationFields(marks), SILENT)] };
  }
  if (inForce?.onBroker !== undefined) {
    const fields = annotationFields(inForceMark(inForce.onBroker));
    return { patches: [patch(CablePolicies, there, fields, { ...SILENT, in: BROKER_ROLE })] };
  }
  if (actions.deleteMember) return { removals: [remove(CablePolicies, member, SYNCED)] };
  return {};
}

/** The copy of a winner under another name: it goes when its name is free again, and follows the broker until then. */
function planOfAlias(alias: CablePolicies, sides: Parameters<typeof syncPolicy>[0]) {
  const actions = syncPolicy({ ...sides, alias });
  const isNeeded =
    sides.member !== undefined &&
    (actions.report.reason === 'NameConflict' || actions.report.reason === 'MemberPoliciesNotAllowed');
  if (!isNeeded) return plan({ held: false, removals: [remove(CablePolicies, alias, SYNCED)] });
  const { toMember } = actions;
  if (toMember?.asAlias !== true) return plan({ held: false, prune: false });
  const { namespace = '', name = '' } = alias.metadata;
  const fields = [
    ...fieldsOf(toMember.content, toMember.origin, alias),
    ...annotationFields({ ...baseAnnotations(toMember.base), ...inForceMark(toMember.inForce) }),
  ];
  return plan({ held: false, prune: false, patches: [patch(CablePolicies, { namespace, name }, fields, SILENT)] });
}

function inForceMark(text: string | undefined): Record<string, string> {
  return text === undefined ? {} : { [IN_FORCE]: text };
}

/** Lets the broker's object go: its creator has recorded the base. */
function releaseExport({ metadata }: KubeObject) {
  const { namespace = '', name = '', finalizers = [] } = metadata;
  const others = finalizers.filter((each) => each !== EXPORT_FINALIZER);
  const field = { path: '/metadata/finalizers', value: others.length > 0 ? others : undefined };
  return patch(CablePolicies, { namespace, name }, [field], { ...SILENT, in: BROKER_ROLE });
}

/** A patch that stays: the written values are the object's own content from then on. */
const SILENT = { restore: false, explained: false } as const;

function aliasRef(namespace: string, name: string, origin: string): ObjectRef & { namespace: string } {
  return { namespace, name: `${name}.${origin}` };
}

function away(name: string) {
  return synced.isUnknown('BrokerAway', `policy "${name}": the broker is not connected; changes wait for it`);
}

function isWarning(report: SyncReport): boolean {
  return report.reason === 'EditLost' || (report.reason === 'BrokerRestored' && report.isDone !== true);
}

function conditionOf(name: string, report: SyncReport) {
  if (report.reason === 'BrokerRestored' && report.isDone)
    return synced.isTrue(
      'BrokerRestored',
      `policy "${name}": the broker had lost it, as after a restore from a backup, and a member created it again; check it, and delete it if it is not wanted`,
    );
  return report.reason === 'Synced'
    ? synced.isTrue('Synced', `policy "${name}": is the same as on the broker`)
    : synced.isFalse(report.reason, messageOf(name, report));
}

function placeOf(origin: string): string {
  return origin === BROKER_ORIGIN ? 'the broker' : `cluster "${origin}"`;
}

function messageOf(name: string, report: SyncReport): string {
  switch (report.reason) {
    case 'NameConflict':
      return `policy "${name}": another policy of this name, from ${placeOf(report.owner)}, is in force in the set; rename this one, or delete the other and this one takes over`;
    case 'EditLost':
      return `policy "${name}": it was changed at the same time ${report.editor === BROKER_ORIGIN ? 'on the broker' : `by ${placeOf(report.editor)}`}, and that change holds; repeat yours`;
    case 'BrokerRestored':
      return `policy "${name}": the broker lacked it or held an earlier version, as after a restore from a backup; the version of this cluster was written to the broker again`;
    case 'NoPolicyRecord':
      return `policy "${name}": the broker does not have it and keeps no record of deletions (status.policyRecord of its Broker); it stays here until the operator of the broker runs`;
    case 'MemberPoliciesNotAllowed':
      return `policy "${name}": the broker does not take policies of members (allowMemberPolicies); create it on the broker`;
    default:
      return '';
  }
}
