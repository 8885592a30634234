// The reconciler of a VirtualKafkaCluster, which is leaf and aggregator. It reports the problems of the cluster, keeps its last good
// configuration, and creates the Services that clients use. If the proxy isolates its clusters, it also runs the cluster's own Deployment.
import { ConfigMap, Deployment, keyOfObject, PodDisruptionBudget, ReplicaSet, Secret, Service } from '@capstan/kube';
import {
  type Child,
  type ConditionInput,
  conditionType,
  createOnly,
  drop,
  type EventInput,
  type GroupInput,
  keep,
  noCondition,
  PAUSED_ANNOTATION,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { compose } from '../configuration/compose.ts';
import { type CarriedHash, carryHash } from '../hash/carried-hash.ts';
import { formatRunning, inForce, parseRunning } from '../hash/running-clusters.ts';
import {
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  type KafkaProxySpec,
  KafkaService,
  OpenShiftRoute,
  SecurityContextConstraints,
  VirtualKafkaCluster,
} from '../kinds/index.ts';
import {
  CLUSTER_LABEL,
  proxySelector,
  SNAPSHOT_ANNOTATION,
  type Workload,
  workloadLabels,
  workloadName,
  workloadSelector,
} from '../kinds/labels.ts';
import { conditionAbout, named, type Problem, warningCondition } from '../resolution/problem.ts';
import {
  ROLLOUT_HELD,
  type Rolled,
  rolledTo,
  rolloutEvents,
  rolloutOf,
  rolloutProgress,
} from '../resolution/rollout.ts';
import { quietMsOf, type Settings } from '../settings.ts';
import { rollsPods } from '../templates/deployment.ts';
import { clusterRoutes } from '../templates/routes.ts';
import { clusterServices, loadBalancer, loadBalancerName } from '../templates/services.ts';
import {
  configMapsOf,
  mountedSnapshotsOf,
  PROXY_DEPLOYMENTS,
  REPLICA_SET_FIELDS,
  type WorkloadParts,
  workloadGroups,
} from '../templates/workload.ts';
import { type BrokenCluster, type BrokenClusters, brokenMounts, heldBecause } from '../tree/broken-clusters.ts';
import { type ClusterFragment, served } from '../tree/cluster-fragment.ts';
import type { ClusterNode, ClusterNodes } from '../tree/cluster-node.ts';
import { ingressAnnotationsOf, ingressNode } from '../tree/ingress-node.ts';
import { isOtherKey, type SecretVersions, secretVersions, writtenSince } from '../tree/key-change.ts';
import { keyIn, type NamespacedRef, refOfKey } from '../tree/keys.ts';
import { isOpenShift } from '../tree/platform.ts';
import { isStored, NO_SNAPSHOT_YET, snapshotNames, snapshotsAwaited } from '../tree/snapshots.ts';

const staleConfig = conditionType<'StaleConfig'>('StaleConfig');
const rolloutHeld = conditionType<'WaitsForCluster' | 'WaitsForContent'>(ROLLOUT_HELD);
const isPausedOf = ({ metadata }: KafkaProxy) => metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
const proxySpecOf = ({ spec }: KafkaProxy) => spec ?? { replicas: 1, isolation: 'Proxy' as const };
const loadBalancerPointsOf = ({ status }: Service) => status?.loadBalancer?.ingress ?? [];

/** Secrets that were written while the digest key was lost. */
interface Doubt {
  /** The hash of the configuration under the new key. */
  readonly hash: string;
  readonly secrets: readonly string[];
}

interface ClusterMemory {
  lastGood?: ClusterFragment;
  previousGood?: ClusterFragment;
  /** The names of its snapshots that exist. */
  snapshots?: string[];
  versions?: SecretVersions;
  doubt?: Doubt;
  /** The Deployment that its Services select. */
  deployment?: string;
  /** The hash on its own Deployment. */
  hash?: CarriedHash;
  rolled?: Rolled;
}

export function createVirtualKafkaClusterReconciler(
  settings: Settings,
  clusterNode: ClusterNodes,
  brokenClusters: BrokenClusters,
): Reconciler {
  return reconciler<VirtualKafkaCluster, ClusterMemory>({
    name: 'virtual-kafka-cluster',
    resource: VirtualKafkaCluster,
    // Children are in the namespace of their owner, so the garbage collector deletes them with it.
    finalizer: false,
    reads: [
      KafkaProxy,
      KafkaService,
      KafkaProtocolFilter,
      KafkaProxyIngress,
      Secret,
      ConfigMap,
      reading(Service, 'owned'),
      reading(OpenShiftRoute, 'owned', { optional: true }),
      reading(SecurityContextConstraints, 'everywhere', { optional: true, fields: ['metadata.name'] }),
      reading(Deployment, 'owned'),
      reading(ReplicaSet, 'everywhere', { fields: REPLICA_SET_FIELDS }),
    ],
    writes: [
      Service,
      OpenShiftRoute,
      writing(ConfigMap, 'createOnly'),
      PROXY_DEPLOYMENTS,
      PodDisruptionBudget,
      // Snapshots are never changed.
      writing(Secret, 'createOnly'),
    ],
    reconcile({ object: cluster, read, memory }) {
      const ref = refOfKey(keyOfObject(cluster));
      const node = read.derived(clusterNode, keyOfObject(cluster));
      const problems = node?.problems ?? [];
      const { lastGood, previousGood } = memory.own ?? {};
      const fragment = node?.served?.fragment ?? lastGood;
      const isStale = node?.served === undefined;
      const proxy = fragment && read.get(KafkaProxy, { namespace: ref.namespace, name: fragment.proxy }, proxySpecOf);
      const conditions = [
        conditionAbout('ResolvedRefs', problems),
        conditionAbout('Accepted', problems),
        staleCondition(problems, isStale && proxy !== undefined, {
          isWanted: proxy?.rollout?.onStaleInput === 'Snapshot',
          isStored: snapshotNames(lastGood).length > 0,
        }),
        warningCondition(node?.warnings ?? []),
      ];
      // The hosts of Routes are known only after the Routes exist. Create them even for a cluster that cannot be served yet.
      const awaited = isStale ? (node?.routes ?? []) : [];
      const ways = [
        ...(fragment?.ways ?? []).filter(({ ingress }) => !awaited.some((way) => way.ingress === ingress)),
        ...awaited,
      ];
      const names = [...new Set(ways.map(({ ingress }) => ingress))];
      const annotations = Object.fromEntries(
        names.map((name) => [name, read.derived(ingressNode, keyIn(ref, name), ingressAnnotationsOf) ?? {}]),
      );
      const lead = (workload: Workload) => {
        const parts = { namespace: ref.namespace, workload, cluster: ref.name, ways, annotations };
        const hasRoutes = ways.some(({ type }) => type === 'Route') && read.access(OpenShiftRoute) === 'served';
        return [...clusterServices(parts), ...(hasRoutes ? clusterRoutes(parts) : [])];
      };
      if (fragment === undefined)
        return plan({ conditions, prune: false, children: lead({ proxy: cluster.spec.proxyRef.name }) });

      const shared: Workload = { proxy: fragment.proxy };
      const own: Workload = { proxy: fragment.proxy, cluster: ref.name };
      const target = proxy?.isolation === 'VirtualCluster' ? own : shared;
      const serving = servingWorkload(memory.own?.deployment, target, target === own ? shared : own, ref, read);
      const { versions, doubt, isNew: isNewDoubt } = doubtOf(node, fragment, memory.own ?? {}, ref, read);
      const snapshots = snapshotsOf(node, fragment, memory.own ?? {}, serving, ref, read);
      const isolated =
        target === own
          ? isolatedWorkload(own, node, ref, proxy, read, settings, { ...memory.own, doubt }, snapshots)
          : undefined;
      conditions.push(
        target === shared && !isStale
          ? heldCondition(read, read.derived(brokenClusters, keyIn(ref, fragment.proxy)), shared, fragment, ref)
          : isolated?.waitingFor === undefined
            ? noCondition(rolloutHeld.type)
            : rolloutHeld.isTrue(
                'WaitsForContent',
                `the change of ${workloadName(own)} waits for ${isolated.waitingFor}`,
              ),
      );
      // Only a cluster with its own pods has its own load balancer. The reconciler of the proxy creates the shared one.
      const balancer = target === own ? loadBalancer(ref.namespace, own, [fragment], annotations) : undefined;
      const services: GroupInput = {
        name: 'services',
        children: [...lead(serving), ...(balancer === undefined ? [] : [balancer])],
      };
      return plan({
        groups: [...snapshots.groups, services, ...(isolated?.groups ?? [])],
        // Services may still select the workload that is being replaced: prune its objects only once they select the new one.
        prune: !isStale && serving === target && isolated?.isRefused !== true,
        conditions,
        status: {
          ...(isStale ? {} : { configHash: fragment.hash }),
          deployment: workloadName(serving),
          ingresses: ingressStatus(fragment, ref, serving, read),
          ...(target === own ? {} : { rollout: drop() }),
        },
        progress: isolated?.progress ?? {},
        events: [...(isNewDoubt ? [doubtEvent(doubt, fragment)] : []), ...(isolated?.events ?? [])],
        memory: {
          lastGood: fragment,
          previousGood: otherThan(
            fragment,
            fragment.hash === lastGood?.hash ? previousGood : runningGood(memory.own, serving, ref, read),
          ),
          versions,
          doubt,
          snapshots: snapshots.stored.length === 0 ? undefined : snapshots.stored,
          deployment: workloadName(serving),
          hash: isolated?.hash ?? memory.own?.hash,
          rolled: target === own ? (isolated?.rolled ?? memory.own?.rolled) : undefined,
        },
      });
    },
  });
}

/**
 * Returns the good configuration unless it is the same as the fragment. The same configuration may have mounted other objects (a source,
 * and later its snapshot), and only the present ones count.
 */
function otherThan(fragment: ClusterFragment, good: ClusterFragment | undefined): ClusterFragment | undefined {
  return good?.hash === fragment.hash ? undefined : good;
}

/**
 * Returns the earlier configuration that runs, however many came in between, so that it is known if a fault appears. Read only while the
 * configuration changes, or every rollout would trigger all clusters of the proxy.
 */
function runningGood(
  { lastGood, previousGood }: ClusterMemory = {},
  serving: Workload,
  { namespace, name }: NamespacedRef,
  read: Reader,
): ClusterFragment | undefined {
  if (lastGood === undefined || previousGood === undefined) return lastGood;
  const rollout = read.get(Deployment, { namespace, name: workloadName(serving) }, rolloutOf);
  const running = inForce([lastGood, previousGood], name, rollout && parseRunning(rollout.clusters));
  return running === undefined || running === 'unknown' ? lastGood : running;
}

/** Returns the workload that the Services select. It stays the current one until the pods of the next one are ready. */
function servingWorkload(
  current: string | undefined,
  target: Workload,
  other: Workload,
  { namespace, name }: NamespacedRef,
  read: Reader,
): Workload {
  if (current !== workloadName(other)) return target;
  const rollout = read.get(Deployment, { namespace, name: workloadName(target) }, rolloutOf);
  const isReady =
    rollout?.isComplete &&
    rollout.available > 0 &&
    (target.cluster !== undefined || parseRunning(rollout.clusters).has(name));
  return isReady ? target : other;
}

interface IsolatedWorkload {
  readonly groups: GroupInput[];
  readonly rolled?: Rolled | undefined;
  readonly progress?: { rollout?: object };
  readonly events?: EventInput[];
  readonly hash?: CarriedHash;
  /** The reason why its rollout is held. */
  readonly waitingFor?: string;
  /** The proxy would refuse the configuration, so the running one stays. */
  readonly isRefused?: true;
}

function isolatedWorkload(
  own: Workload,
  node: ClusterNode | undefined,
  { namespace, name }: NamespacedRef,
  spec: KafkaProxySpec | undefined,
  read: Reader,
  settings: Settings,
  memory: ClusterMemory,
  { stored }: Pick<StoredSnapshots, 'stored'>,
): IsolatedWorkload {
  const rollout = read.get(Deployment, { namespace, name: workloadName(own) }, rolloutOf);
  const good = [memory.lastGood, memory.previousGood].filter((one) => one !== undefined);
  // Keep the running configuration while the cluster has a fault.
  const fragment = node?.served?.fragment ?? inForce(good, name, rollout && parseRunning(rollout.clusters));
  if (fragment === undefined || fragment === 'unknown') return { groups: [], isRefused: true };
  const composed = compose(spec, [served(fragment)]);
  if (composed.faults.length > 0) return { groups: [], isRefused: true };
  const usedConfigMaps = read.list(ReplicaSet, { namespace, labels: workloadSelector(own) }, configMapsOf).flat();
  const hash = carryHash(memory.hash, rollout?.hash, composed.hash, memory.doubt?.hash === fragment.hash);
  const parts: WorkloadParts = {
    workload: own,
    namespace,
    spec,
    image: settings.image,
    composed,
    hash: hash.shown,
    usedConfigMaps,
    quietMs: quietMsOf(spec, settings),
    // A paused proxy holds the rollouts of all its clusters.
    open: read.get(KafkaProxy, { namespace, name: own.proxy }, isPausedOf) !== true,
    clusters: rollout?.hash === hash.shown ? rollout.clusters : formatRunning([{ name, hash: fragment.hash }]),
    isOpenShift: read.derived(isOpenShift, ''),
  };
  const broken =
    node?.served === undefined
      ? [
          ...brokenMounts(read, { namespace, name }, fragment),
          ...snapshotNames(fragment)
            .filter((one) => !stored.includes(one))
            .map((one) => named('Secret', { name: one, namespace })),
        ]
      : [];
  const isHeld = broken.length > 0 && (rollout === undefined || rollsPods(parts, rollout));
  const waitingFor = `${broken.join(', ')} to be there and usable: pods that are started now would not come up`;
  const awaited = node?.served === undefined ? [] : snapshotNames(fragment).filter((one) => !stored.includes(one));
  const groups = workloadGroups(
    isHeld
      ? { ...parts, open: false, waitingFor }
      : awaited.length > 0
        ? { ...parts, open: false, waitingFor: snapshotsAwaited(awaited) }
        : parts,
  );
  const rolled = rollout === undefined ? undefined : rolledTo(rollout, memory.rolled);
  return {
    groups,
    ...(isHeld ? { waitingFor } : {}),
    hash,
    rolled,
    progress: rolloutProgress(rollout, rolled),
    events: rollout === undefined ? [] : rolloutEvents(rollout, rolled, memory.rolled),
  };
}

/** Returns the versions of the Secrets behind the configuration, and the Secrets that a lost digest key leaves in doubt. */
function doubtOf(
  node: ClusterNode | undefined,
  fragment: ClusterFragment,
  { lastGood, versions: known, doubt }: ClusterMemory,
  { namespace }: NamespacedRef,
  read: Reader,
): { versions: SecretVersions | undefined; doubt: Doubt | undefined; isNew: boolean } {
  const isKnown = lastGood?.hash === fragment.hash && known !== undefined;
  if (node?.served === undefined || isKnown)
    return { versions: known, doubt: doubt?.hash === fragment.hash ? doubt : undefined, isNew: false };
  const versions = secretVersions(read, namespace, fragment.mounts);
  const secrets = isOtherKey(lastGood?.hash, fragment.hash) ? writtenSince(known, versions) : [];
  if (secrets.length === 0) return { versions, doubt: undefined, isNew: false };
  return { versions, doubt: { hash: fragment.hash, secrets }, isNew: true };
}

function doubtEvent(doubt: Doubt | undefined, { proxy }: ClusterFragment): EventInput {
  const secrets = (doubt?.secrets ?? []).map((name) => `secret/${name}`).join(', ');
  return {
    type: 'Warning',
    reason: 'DigestKeyLost',
    note: `the operator’s digest key is new, and ${secrets} was written since the last rollout: whether its content changed is not known, so the pods of ${proxy} are rolled once`,
  };
}

interface StoredSnapshots {
  readonly groups: GroupInput[];
  /** The names of the snapshots that exist. */
  readonly stored: string[];
}

/** Returns the snapshots of the cluster: the present ones, and those that run or that a rollback would restore. */
function snapshotsOf(
  node: ClusterNode | undefined,
  fragment: ClusterFragment,
  { lastGood, previousGood, snapshots: known = [] }: ClusterMemory,
  serving: Workload,
  { namespace, name }: NamespacedRef,
  read: Reader,
): StoredSnapshots {
  const wanted = node?.snapshots ?? [];
  if (snapshotNames(fragment).length === 0 && known.length === 0) return { groups: [], stored: [] };
  // If two clusters name one Secret, the pods mount the snapshot of one of them. Keep the running snapshot of the other one too: it comes
  // into force if the next configuration has a problem.
  const rollout = read.get(Deployment, { namespace, name: workloadName(serving) }, rolloutOf);
  const good = [fragment, lastGood, previousGood].filter((one) => one !== undefined);
  const running = inForce(good, name, rollout && parseRunning(rollout.clusters));
  const mounted = snapshotNames(
    fragment,
    running === 'unknown' ? undefined : running,
    node?.served === undefined ? previousGood : undefined,
  );
  const used = [
    ...read.list(Deployment, { namespace, labels: proxySelector(fragment.proxy) }, mountedSnapshotsOf),
    ...read.list(ReplicaSet, { namespace, labels: proxySelector(fragment.proxy) }, mountedSnapshotsOf),
  ]
    .flat()
    .filter((one) => known.includes(one));
  const names = [...new Set([...mounted, ...used])].toSorted();
  const labels = { ...workloadLabels({ proxy: fragment.proxy }), [CLUSTER_LABEL]: name };
  const children = names.map((one): Child => {
    const snapshot = wanted.find((taken) => taken.name === one);
    if (snapshot === undefined) return keep(Secret, { namespace, name: one });
    return createOnly(Secret, {
      metadata: { namespace, name: one, labels, annotations: { [SNAPSHOT_ANNOTATION]: snapshot.of } },
      type: 'Opaque',
      immutable: true,
      data: { ...snapshot.data },
    });
  });
  return {
    groups: [{ name: 'snapshots', children }],
    stored: names.filter((one) => read.get(Secret, { namespace, name: one }, isStored) === true),
  };
}

function ingressStatus({ ways }: ClusterFragment, { namespace }: NamespacedRef, serving: Workload, read: Reader) {
  return ways.map(({ ingress, bootstrapServer, protocol, type }) => {
    const points =
      type === 'LoadBalancer'
        ? (read.get(Service, { namespace, name: loadBalancerName(serving) }, loadBalancerPointsOf) ?? [])
        : [];
    const reported = points.map(({ hostname, ip }) => ({
      ...(hostname === undefined ? {} : { hostname }),
      ...(ip === undefined ? {} : { ip }),
    }));
    return {
      name: ingress,
      ...(bootstrapServer === undefined ? {} : { bootstrapServer }),
      protocol,
      ...(reported.length === 0 ? {} : { loadBalancerIngressPoints: reported }),
    };
  });
}

/**
 * Returns the condition about a held rollout. Read only while another cluster is broken, or every rollout would trigger all clusters of the
 * proxy.
 */
function heldCondition(
  read: Reader,
  broken: readonly BrokenCluster[],
  shared: Workload,
  { hash }: ClusterFragment,
  { namespace, name }: NamespacedRef,
): ConditionInput {
  if (broken.length === 0) return noCondition(rolloutHeld.type);
  const rollout = read.get(Deployment, { namespace, name: workloadName(shared) }, rolloutOf);
  const running = rollout && inForce([{ hash }], name, parseRunning(rollout.clusters));
  if (running !== undefined && running !== 'unknown') return noCondition(rolloutHeld.type);
  return rolloutHeld.isTrue('WaitsForCluster', heldBecause(broken));
}

/** Returns the condition about a stale configuration. Without the proxy that served it, no configuration is in force. */
function staleCondition(
  problems: readonly Problem[],
  isInForce: boolean,
  snapshots: { readonly isWanted: boolean; readonly isStored: boolean },
): ConditionInput {
  if (!isInForce) return noCondition(staleConfig.type);
  const isUnusable = problems.some(
    ({ reason }) => reason.endsWith('NotFound') || reason === 'InvalidReferencedResource',
  );
  const stays = 'the last good configuration stays in force until the error is fixed';
  if (snapshots.isStored)
    return staleConfig.isTrue('StaleConfig', `${stays}, with snapshots of the content that it mounts`);
  if (!isUnusable) return staleConfig.isTrue('StaleConfig', stays);
  const restart =
    'should a Secret or ConfigMap that it names be missing or unusable, pods cannot be restarted until it is usable again';
  return staleConfig.isTrue('StaleConfig', `${stays}; ${restart}${snapshots.isWanted ? `; ${NO_SNAPSHOT_YET}` : ''}`);
}
