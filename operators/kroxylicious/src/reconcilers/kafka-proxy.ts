// The aggregator builds one configuration from the fragments of its virtual clusters, and the Deployment that runs it. It does not read
// Secrets, filters or services: the clusters' fragments and hashes cover them.
import {
  ConfigMap,
  Deployment,
  findCondition,
  keyOfObject,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  Service,
} from '@capstan/kube';
import {
  aside,
  type ConditionInput,
  conditionType,
  drop,
  type GroupInput,
  noCondition,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { type Composed, compose, networkFaults } from '../configuration/compose.ts';
import { type CarriedHash, carryHash } from '../hash/carried-hash.ts';
import { isKeyed } from '../hash/combine-hashes.ts';
import { formatRunning } from '../hash/running-clusters.ts';
import { KafkaProxy, SecurityContextConstraints, VirtualKafkaCluster } from '../kinds/index.ts';
import { isolatedSelector, workloadName, workloadSelector } from '../kinds/labels.ts';
import { POD_READ } from '../resolution/pod-problem.ts';
import {
  ROLLOUT_HELD,
  type Rollout,
  rolledTo,
  rolloutEvents,
  rolloutOf,
  rolloutProgress,
} from '../resolution/rollout.ts';
import { quietMsOf, type Settings } from '../settings.ts';
import { rollsPods } from '../templates/deployment.ts';
import { loadBalancer } from '../templates/services.ts';
import {
  configMapsOf,
  PROXY_DEPLOYMENTS,
  REPLICA_SET_FIELDS,
  type WorkloadParts,
  workloadGroups,
} from '../templates/workload.ts';
import { type BrokenCluster, type BrokenClusters, heldBecause } from '../tree/broken-clusters.ts';
import type { ServedFragment } from '../tree/cluster-fragment.ts';
import type { ClusterNodes } from '../tree/cluster-node.ts';
import { ingressAnnotationsOf, ingressNode } from '../tree/ingress-node.ts';
import { isOtherKey } from '../tree/key-change.ts';
import { keyIn, type NamespacedRef, refOfKey } from '../tree/keys.ts';
import { networkPlan } from '../tree/network-plan.ts';
import { isOpenShift } from '../tree/platform.ts';
import { type ServedClusters, servedClusters } from '../tree/served-clusters.ts';
import { snapshotNames, snapshotsAwaited, storedSnapshotsOf } from '../tree/snapshots.ts';
import {
  faultCondition,
  faultyStatus,
  noneServed,
  podProblems,
  ready,
  readyCondition,
  staleCondition,
  unfinishedText,
  withProblems,
} from './proxy-conditions.ts';

const deprecationWarning = conditionType<'SpecMissing'>('DeprecationWarning');

/** etcd refuses larger objects. The rest of the limit is left for metadata. */
const MAX_CONFIGURATION_BYTES = 1_000_000;

export function createKafkaProxyReconciler(
  settings: Settings,
  clusterNode: ClusterNodes,
  brokenClusters: BrokenClusters,
): Reconciler {
  return reconciler<KafkaProxy, ProxyMemory>({
    name: 'kafka-proxy',
    resource: KafkaProxy,
    // Children are in the namespace of their owner, so the garbage collector deletes them with it.
    finalizer: false,
    reads: [
      VirtualKafkaCluster,
      reading(Deployment, 'owned'),
      reading(ReplicaSet, 'everywhere', { fields: REPLICA_SET_FIELDS }),
      reading(Pod, 'everywhere', POD_READ),
      reading(SecurityContextConstraints, 'everywhere', { optional: true, fields: ['metadata.name'] }),
    ],
    writes: [writing(ConfigMap, 'createOnly'), PROXY_DEPLOYMENTS, PodDisruptionBudget, Service],
    reconcile({ object: proxy, read, memory }) {
      const ref = refOfKey(keyOfObject(proxy));
      const isIsolated = proxy.spec?.isolation === 'VirtualCluster';
      const rollout = isIsolated ? undefined : read.get(Deployment, ref, rolloutOf);
      const clusters = servedClusters(read, clusterNode, keyOfObject(proxy), rollout?.clusters);
      const { ports, nextPort } = read.derived(networkPlan, keyOfObject(proxy));
      const common = {
        // Keep the remembered values that this run does not compute.
        memory: { hash: memory.own?.hash, rolled: memory.own?.rolled, ports, nextPort },
        conditions: [
          staleCondition(clusters.faulty, proxy.spec?.rollout?.onStaleInput === 'Snapshot'),
          proxy.spec === undefined
            ? deprecationWarning.isTrue('SpecMissing', 'spec is missing; write spec: {}')
            : noCondition(deprecationWarning.type),
        ],
        status: { clusters: faultyStatus(clusters.faulty) },
      };
      const brokenIn = (reader: Reader) => reader.derived(brokenClusters, keyOfObject(proxy));
      const merged = isIsolated
        ? isolatedPlan(proxy, ref, read, clusters)
        : sharedPlan(proxy, ref, read, { ...clusters, broken: brokenIn(read) }, rollout, settings, memory.own ?? {});
      return plan({
        ...merged,
        memory: { ...common.memory, ...merged.memory },
        conditions: [...common.conditions, ...(merged.conditions ?? [])],
        status: { ...common.status, ...merged.status },
      });
    },
  });
}

type Parts = Omit<NonNullable<Parameters<typeof plan>[0]>, 'memory'> & {
  memory?: Pick<ProxyMemory, 'rolled' | 'hash'>;
};

type ProxyMemory = NonNullable<NonNullable<KafkaProxy['status']>['memory']>;

/** Plans one Deployment for all clusters. */
function sharedPlan(
  proxy: KafkaProxy,
  ref: NamespacedRef,
  read: Reader,
  { served, faulty, count, broken }: ServedClusters & { readonly broken: readonly BrokenCluster[] },
  rollout: Rollout | undefined,
  settings: Settings,
  known: Partial<ProxyMemory>,
): Parts {
  const lost = faulty.filter(({ isLost }) => isLost).map(({ name }) => name);
  if (lost.length > 0)
    return {
      prune: false,
      conditions: [
        ready.isFalse(
          'Held',
          `what runs is not changed: ${lost.join(', ')} became invalid during a change, and its running configuration is no longer known; fix or delete it`,
        ),
      ],
    };
  if (served.length === 0) {
    // Keep the running pods if all clusters are broken from the start. Remove them only if there are no clusters.
    const conditions = [noneServed(ref, faulty, count)];
    return count === 0
      ? { conditions, status: { configHash: drop(), rollout: drop(), selector: drop(), replicas: 0 } }
      : { conditions, prune: false };
  }
  const composed = compose(proxy.spec, served);
  const refusal = refusalOf(composed);
  if (refusal !== undefined) return { prune: false, conditions: [refusal] };
  const workload = { proxy: ref.name };
  const carried = carriedHash(read, ref, known.hash, rollout?.hash, composed.hash, served);
  const hash = carried.shown;
  const usedConfigMaps = read
    .list(ReplicaSet, { namespace: ref.namespace, labels: workloadSelector(workload) }, configMapsOf)
    .flat();
  const fragments = served.map(({ fragment }) => fragment);
  const ingresses = new Set(
    fragments.flatMap(({ ways }) => ways.filter(({ type }) => type === 'LoadBalancer').map(({ ingress }) => ingress)),
  );
  const annotations = Object.fromEntries(
    [...ingresses].map((name) => [name, read.derived(ingressNode, keyIn(ref, name), ingressAnnotationsOf) ?? {}]),
  );
  const balancer = loadBalancer(ref.namespace, workload, fragments, annotations);
  const parts: WorkloadParts = {
    workload,
    namespace: ref.namespace,
    spec: proxy.spec,
    image: settings.image,
    composed,
    hash,
    usedConfigMaps,
    quietMs: quietMsOf(proxy.spec, settings),
    // The same hash stands for the same content, under any digest key.
    clusters:
      rollout?.hash === hash
        ? rollout.clusters
        : formatRunning(fragments.map(({ config: { name }, hash: of }) => ({ name, hash: of }))),
    isOpenShift: read.derived(isOpenShift, ''),
  };
  // Hold every change that would start pods with broken content, so that the running pods stay. A Deployment that does not exist yet would
  // start pods too (if a proxy goes back from isolation to sharing).
  const isHeld = broken.length > 0 && (rollout === undefined || rollsPods(parts, rollout));
  const awaited = served
    .filter(({ isStale, fragment }) => isStale !== true && snapshotNames(fragment).length > 0)
    .flatMap(({ fragment }) => {
      const at = { namespace: ref.namespace, name: fragment.config.name };
      const stored = read.get(VirtualKafkaCluster, at, storedSnapshotsOf) ?? [];
      return snapshotNames(fragment).filter((name) => !stored.includes(name));
    });
  const waitingFor = isHeld ? heldBecause(broken) : awaited.length > 0 ? snapshotsAwaited(awaited) : undefined;
  const groups: GroupInput[] = [
    { name: 'services', children: balancer === undefined ? [] : [balancer] },
    ...workloadGroups(waitingFor === undefined ? parts : { ...parts, open: false, waitingFor }),
  ];
  const rolled = rollout === undefined ? undefined : rolledTo(rollout, known.rolled);
  return {
    groups,
    conditions: [
      isHeld
        ? ready.isFalse('Held', `what runs is not changed: ${heldBecause(broken)}`)
        : readyCondition(rollout, hash, () => podProblems(read, ref.namespace, workloadSelector(workload))),
    ],
    status: { configHash: hash, selector: workloadSelector(workload) },
    progress: {
      replicas: rollout?.ready ?? 0,
      ...rolloutProgress(rollout, rolled),
    },
    memory: { hash: carried, ...(rolled === undefined ? {} : { rolled }) },
    events: rollout === undefined ? [] : rolloutEvents(rollout, rolled, known.rolled),
  };
}

/** After a change of the digest key, uses the knowledge of its clusters about their Secrets, once all of them have checked them. */
function carriedHash(
  read: Reader,
  { namespace }: NamespacedRef,
  known: CarriedHash | undefined,
  live: string | undefined,
  next: string,
  served: readonly ServedFragment[],
): CarriedHash {
  const before = known ?? (live === undefined ? undefined : { shown: live, is: live });
  if (before === undefined || !isOtherKey(before.is, next)) return carryHash(known, live, next);
  const seen = served
    .filter(({ isStale, fragment }) => isStale !== true && isKeyed(fragment.hash))
    .map(({ fragment: { config, hash } }) => ({
      hash,
      ...read.get(VirtualKafkaCluster, { namespace, name: config.name }, keyChangeOf),
    }));
  if (seen.some(({ hash, configHash }) => hash !== configHash)) return before;
  return carryHash(
    known,
    live,
    next,
    seen.some(({ hash, doubt }) => hash === doubt),
  );
}

const keyChangeOf = aside(({ status }: VirtualKafkaCluster) => ({
  configHash: status?.configHash,
  doubt: status?.memory?.doubt?.hash,
}));

const servingDeploymentOf = ({ metadata, status }: VirtualKafkaCluster) => ({
  name: metadata.name ?? '',
  deployment: status?.deployment,
});

/** Returns the reason for which the rollout of a cluster's own Deployment waits. */
const heldOf = ({ metadata, status }: VirtualKafkaCluster) => {
  const held = findCondition(status?.conditions, ROLLOUT_HELD);
  return held?.status === 'True' ? `virtualkafkacluster/${metadata.name}: ${held.message}` : undefined;
};

/**
 * Plans for isolated clusters. The reconciler of each cluster creates its Deployment. The shared one is removed once it serves no cluster.
 */
function isolatedPlan(
  proxy: KafkaProxy,
  ref: NamespacedRef,
  read: Reader,
  { served, faulty, count }: ServedClusters,
): Parts {
  const waiting = served.filter(({ fragment }) => {
    const at = { namespace: ref.namespace, name: fragment.config.name };
    const deployment = read.get(VirtualKafkaCluster, at, servingDeploymentOf)?.deployment;
    return deployment !== workloadName({ proxy: ref.name, cluster: at.name });
  });
  const rollouts = read.list(Deployment, { namespace: ref.namespace, labels: isolatedSelector(ref.name) }, rolloutOf);
  const unfinished = [
    ...rollouts.filter(({ isComplete }) => !isComplete),
    ...served
      .map(({ fragment }) => workloadName({ proxy: ref.name, cluster: fragment.config.name }))
      .filter((name) => !rollouts.some((rollout) => rollout.name === name))
      .map((name) => ({ name, failure: undefined })),
  ];
  const replicas = rollouts.reduce((sum, rollout) => sum + rollout.ready, 0);
  const isolatedReady = (): ConditionInput => {
    if (served.length === 0) return noneServed(ref, faulty, count);
    const fault = faultCondition(networkFaults(proxy.spec));
    if (fault !== undefined) return fault;
    const held = faulty.flatMap(
      ({ name }) => read.get(VirtualKafkaCluster, { namespace: ref.namespace, name }, heldOf) ?? [],
    );
    if (held.length > 0) return ready.isFalse('Held', `what runs stays as it is: ${held.join('; ')}`);
    if (unfinished.length === 0)
      return ready.isTrue('Ready', `${served.length} virtual clusters run in Deployments of their own`);
    const problems = podProblems(read, ref.namespace, isolatedSelector(ref.name));
    return ready.isFalse('RollingOut', unfinishedText(withProblems(unfinished, ref, problems), served.length));
  };
  return {
    prune: waiting.length === 0,
    conditions: [isolatedReady()],
    status: { configHash: drop(), rollout: drop(), selector: isolatedSelector(ref.name) },
    progress: { replicas },
  };
}

function refusalOf({ faults, text }: Composed): ConditionInput | undefined {
  const fault = faultCondition(faults);
  if (fault !== undefined) return fault;
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_CONFIGURATION_BYTES) return undefined;
  return ready.isFalse(
    'ConfigurationTooLarge',
    `the configuration has ${bytes} bytes, and a ConfigMap holds ${MAX_CONFIGURATION_BYTES}; set spec.isolation to VirtualCluster, or spread the clusters over several proxies`,
  );
}
