// The reconciler of a VirtualKafkaCluster, which is leaf and aggregator. It reports the problems of the cluster, keeps its last good
// configuration, and creates the Services that clients use. If the proxy isolates its clusters, it also runs the cluster's own Deployment.
import { ConfigMap, Deployment, keyOfObject, PodDisruptionBudget, ReplicaSet, Secret, Service } from '@capstan/kube';
import {
  type Child,
  createOnly,
  drop,
  type GroupInput,
  keep,
  noCondition,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { inForce, parseRunning } from '../hash/running-clusters.ts';
import {
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
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
} from '../kinds/labels.ts';
import { conditionAbout, warningCondition } from '../resolution/problem.ts';
import { rolloutOf } from '../resolution/rollout.ts';
import { type Settings } from '../settings.ts';
import { clusterRoutes } from '../templates/routes.ts';
import { clusterServices, loadBalancer, loadBalancerName } from '../templates/services.ts';
import { mountedSnapshotsOf, PROXY_DEPLOYMENTS, REPLICA_SET_FIELDS } from '../templates/workload.ts';
import { type BrokenClusters } from '../tree/broken-clusters.ts';
import { type ClusterFragment } from '../tree/cluster-fragment.ts';
import type { ClusterNode, ClusterNodes } from '../tree/cluster-node.ts';
import { ingressAnnotationsOf, ingressNode } from '../tree/ingress-node.ts';
import { keyIn, type NamespacedRef, refOfKey } from '../tree/keys.ts';
import { isStored, snapshotNames } from '../tree/snapshots.ts';
import { doubtEvent, doubtOf, heldCondition, rolloutHeld, staleCondition } from './cluster-conditions.ts';
import { type ClusterMemory, type StoredSnapshots } from './cluster-memory.ts';
import { isolatedWorkload } from './isolated-workload.ts';

const proxySpecOf = ({ spec }: KafkaProxy) => spec ?? { replicas: 1, isolation: 'Proxy' as const };

const loadBalancerPointsOf = ({ status }: Service) => status?.loadBalancer?.ingress ?? [];

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
