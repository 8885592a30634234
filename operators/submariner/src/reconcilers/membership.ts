// The membership of a cluster in the plans of its Submariner: whether others know it, and how it goes from one broker to another.
import { Secret } from '@capstan/kube';
import {
  apply,
  aside,
  type Child,
  type ConditionInput,
  conditionType,
  drop,
  noCondition,
  type Patch,
  patch,
  plan,
  type Reader,
} from '@capstan/reconcile';
import { Cluster, Gateway, type GatewayStatus, Submariner, type SubmarinerSpec } from '../kinds/index.ts';
import {
  type BrokerRecord,
  brokerOf,
  hasLeft,
  identityOf,
  isKeptFor,
  JOINED_SECRET,
  keptCredentials,
  namedCredentials,
  type SecretData,
} from '../membership/broker-record.ts';
import { SYNCED_KINDS } from '../membership/clear-member.ts';
import type { DepartureReport } from '../membership/departures.ts';
import { localCleanup } from '../membership/local-cleanup.ts';
import { LEAVING_ANNOTATION, LEFT_ANNOTATION } from '../membership/names.ts';

const joined = conditionType<
  'Joined' | 'Waiting' | 'Moving' | 'DuplicateClusterID' | 'OverlappingSubnets' | 'InvalidSubnet' | 'BrokerUnavailable'
>('Joined');

/** Returns whether others know this cluster, by the reports of its Cluster and its gateways. */
export function membership(
  read: Reader,
  namespace: string,
  { clusterID, brokerK8sApiServer: server }: SubmarinerSpec,
  gateways: readonly GatewayStatus[],
) {
  if (server === undefined) return noCondition('Joined');
  const conditions = read.get(Cluster, { namespace, name: clusterID }, conditionsOf) ?? [];
  const find = (name: string) => conditions.find(({ type }) => type === name);
  const [published, accepted] = [find('Published'), find('Accepted')];
  if (published?.status === 'False')
    return joined.isFalse(
      published.reason === 'OverlappingSubnets' ? 'OverlappingSubnets' : 'DuplicateClusterID',
      published.message,
    );
  const failure = gateways.find(({ brokerFailure }) => brokerFailure !== undefined && brokerFailure !== '');
  if (failure?.brokerFailure !== undefined) return joined.isFalse('BrokerUnavailable', failure.brokerFailure);
  if (accepted?.status === 'False' && (accepted.reason === 'OverlappingSubnets' || accepted.reason === 'InvalidSubnet'))
    return joined.isFalse(accepted.reason, accepted.message);
  return published?.status === 'True'
    ? joined.isTrue('Joined', '')
    : joined.isUnknown('Waiting', `cluster "${clusterID}": its gateway has not published it on the broker yet`);
}

const conditionsOf = aside(({ status }: Cluster) => status?.conditions ?? []);

/** The report on a cluster that has no broker. */
export const LEFT: DepartureReport = { of: '', outcome: 'left', message: '' };

/** A Warning about a member that its old broker still has; nothing else of the resource reports it. */
export function notLeft(message: string) {
  return message === '' ? {} : { events: [{ type: 'Warning' as const, reason: 'BrokerNotLeft', note: message }] };
}

/** The kinds that a cluster has from its broker. Its gateways run on, and write their own objects. */
const FROM_BROKER = SYNCED_KINDS.filter(({ kind }) => kind !== Gateway.kind);

/**
 * A resource that names another broker than the recorded one: the cluster leaves the recorded broker, then the copies of the sync go,
 * then the record follows. Gateways run on as they are until then, and neither publish nor take anything.
 */
export function movePlan(
  read: Reader,
  { metadata, spec }: Submariner,
  record: BrokerRecord,
  report: DepartureReport | undefined,
  { status, conditions: others }: { readonly status: object; readonly conditions: readonly ConditionInput[] },
) {
  const next = brokerOf(spec);
  const namespace = metadata.namespace ?? '';
  const kept = read.get(Secret, { namespace, name: JOINED_SECRET }, secretDataOf);
  const isLeft = hasLeft(metadata, record) || isKeptFor(kept, next);
  const outcome = isLeft ? 'left' : report?.of === identityOf(record) ? report.outcome : 'waiting';
  const told = report?.of === identityOf(record) ? report.message : '';
  const target = next === undefined ? '' : `, and joins broker ${next.server} as "${next.clusterID}" then`;
  const message =
    outcome === 'waiting' && told !== ''
      ? told
      : `cluster "${record.clusterID}": leaves broker ${record.server}${target}`;
  const conditions = [...others, joined.isFalse('Moving', message)];
  if (outcome === 'waiting' || metadata.annotations?.[LEAVING_ANNOTATION] !== undefined)
    return plan({ prune: false, status: { ...status }, conditions });
  const groups = outcome === 'unchanged' ? undefined : localCleanup(read, namespace, FROM_BROKER);
  if (groups !== undefined) return plan({ prune: false, status: { ...status }, groups, conditions });
  const events = outcome === 'given up' ? notLeft(told) : {};
  const children = next === undefined ? [] : joinedSecret(read, namespace, spec, next);
  return plan({ prune: false, status: { ...status, broker: next ?? drop() }, children, conditions, ...events });
}

/** The credentials for the recorded broker: its member needs them when the resource names another one. */
export function joinedSecret(read: Reader, namespace: string, spec: SubmarinerSpec, record: BrokerRecord): Child[] {
  const secretOf = (name: string) => read.get(Secret, { namespace, name }, secretDataOf);
  const named = namedCredentials(spec, secretOf);
  const kept = secretOf(JOINED_SECRET);
  const data = named === undefined ? kept : keptCredentials(kept, record, named);
  if (data === undefined) return [];
  return [apply(Secret, { metadata: { namespace, name: JOINED_SECRET }, type: 'Opaque', data: { ...data } })];
}

const secretDataOf = ({ data }: Secret): SecretData => data ?? {};

/** The annotation is about the broker before: it goes when another one is recorded. */
export function forgetDeparture({ metadata: { namespace = '', name = '', annotations } }: Submariner): Patch[] {
  if (annotations?.[LEFT_ANNOTATION] === undefined) return [];
  const path = `/metadata/annotations/${LEFT_ANNOTATION.replaceAll('/', '~1')}`;
  return [patch(Submariner, { namespace, name }, [{ path, value: undefined }], { restore: false, explained: false })];
}
