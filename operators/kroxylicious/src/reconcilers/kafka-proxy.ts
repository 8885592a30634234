// The aggregator: from the fragments of its virtual clusters to one configuration, and the Deployment that runs it. It reads
// no Secret, filter or service: what they mean is in the clusters' fragments and hashes.
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
import { isKeyed, reportedHash, shortHash } from '../hash/combine-hashes.ts';
import { formatRunning } from '../hash/running-clusters.ts';
import { KafkaProxy, SecurityContextConstraints, VirtualKafkaCluster } from '../kinds/index.ts';
import { isolatedSelector, workloadName, workloadSelector } from '../kinds/labels.ts';
import { POD_READ, type PodProblem, podProblemOf } from '../resolution/pod-problem.ts';
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
import { configMapsOf, REPLICA_SET_FIELDS, type WorkloadParts, workloadGroups } from '../templates/workload.ts';
import { type BrokenCluster, type BrokenClusters, heldBecause } from '../tree/broken-clusters.ts';
import type { ServedFragment } from '../tree/cluster-fragment.ts';
import type { ClusterNodes } from '../tree/cluster-node.ts';
import { ingressAnnotationsOf, ingressNode } from '../tree/ingress-node.ts';
import { isOtherKey } from '../tree/key-change.ts';
import { keyIn, type NamespacedRef, refOfKey } from '../tree/keys.ts';
import { networkPlan } from '../tree/network-plan.ts';
import { isOpenShift } from '../tree/platform.ts';
import { type FaultyCluster, type ServedClusters, servedClusters } from '../tree/served-clusters.ts';
import { NO_SNAPSHOT_YET, snapshotNames, snapshotsAwaited, storedSnapshotsOf } from '../tree/snapshots.ts';

type ReadyReason =
  | 'Ready'
  | 'RollingOut'
  | 'RolledBack'
  | 'Held'
  | 'NoVirtualClusters'
  | 'NoValidVirtualClusters'
  | 'InvalidConfiguration'
  | 'ConfigurationTooLarge';

const ready = conditionType<ReadyReason>('Ready');
const staleConfig = conditionType<'StaleConfig'>('StaleConfig');
const deprecationWarning = conditionType<'SpecMissing'>('DeprecationWarning');

/** etcd takes no larger objects; the rest is for metadata. */
const MAX_CONFIGURATION_BYTES = 1_000_000;

export function createKafkaProxyReconciler(
  settings: Settings,
  clusterNode: ClusterNodes,
  brokenClusters: BrokenClusters,
): Reconciler {
  return reconciler<KafkaProxy, ProxyMemory>({
    name: 'kafka-proxy',
    resource: KafkaProxy,
    // Children are in the namespace of their owner, and are collected with it.
    finalizer: false,
    reads: [
      VirtualKafkaCluster,
      reading(Deployment, 'owned'),
      reading(ReplicaSet, 'everywhere', { fields: REPLICA_SET_FIELDS }),
      reading(Pod, 'everywhere', POD_READ),
      reading(SecurityContextConstraints, 'everywhere', { optional: true, fields: ['metadata.name'] }),
    ],
    writes: [writing(ConfigMap, 'createOnly'), Deployment, PodDisruptionBudget, Service],
    reconcile({ object: proxy, read, memory }) {
      const ref = refOfKey(keyOfObject(proxy));
      const isIsolated = proxy.spec?.isolation === 'VirtualCluster';
      const rollout = isIsolated ? undefined : read.get(Deployment, ref, rolloutOf);
      const clusters = servedClusters(read, clusterNode, keyOfObject(proxy), rollout?.clusters);
      const { ports, nextPort } = read.derived(networkPlan, keyOfObject(proxy));
      const common = {
        // What a run has nothing to say about is remembered as it was.
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

/** One Deployment for all clusters. */
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
    // Clusters that are all broken from the start are no reason to take away what runs; no clusters at all are.
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
    // The same hash is the same content, under whichever key it was created.
    clusters:
      rollout?.hash === hash
        ? rollout.clusters
        : formatRunning(fragments.map(({ config: { name }, hash: of }) => ({ name, hash: of }))),
    isOpenShift: read.derived(isOpenShift, ''),
  };
  // Hold every change that would start pods with broken content: what runs stays. A Deployment that is not there yet
  // starts pods too (a proxy that takes its isolation back).
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

/** Under a new digest key: what its clusters know of their Secrets counts, once all of them have looked. */
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

/** What the rollout of a cluster's own Deployment waits for. */
const heldOf = ({ metadata, status }: VirtualKafkaCluster) => {
  const held = findCondition(status?.conditions, ROLLOUT_HELD);
  return held?.status === 'True' ? `virtualkafkacluster/${metadata.name}: ${held.message}` : undefined;
};

/** Each cluster has a Deployment of its own, which its own reconciler creates; the shared one goes when it serves no cluster. */
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

type Unfinished = Pick<Rollout, 'name' | 'failure'>;

/** What pods say is nearer to the cause than what their Deployment says. */
function withProblems(unfinished: readonly Unfinished[], { name: proxy }: NamespacedRef, failures: PodProblem[]) {
  const byName = new Map(
    failures.toReversed().map(({ cluster = '', text }) => [workloadName({ proxy, cluster }), text]),
  );
  return unfinished.map(({ name, failure }) => ({ name, failure: byName.get(name) ?? failure }));
}

/** How many Deployments are reported by name; the others are counted. */
const UNFINISHED_SHOWN = 3;

function unfinishedText(unfinished: readonly Unfinished[], of: number): string {
  const reported = unfinished
    .slice(0, UNFINISHED_SHOWN)
    .map(({ name, failure }) => (failure === undefined ? name : `${name} (${failure})`));
  const others = unfinished.length - reported.length;
  return `${unfinished.length} of ${of} Deployments are not ready yet: ${reported.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

function noneServed({ name }: NamespacedRef, faulty: readonly FaultyCluster[], count: number): ConditionInput {
  return count === 0
    ? ready.isFalse(
        'NoVirtualClusters',
        `no VirtualKafkaCluster names this proxy; create one with spec.proxyRef.name ${name}`,
      )
    : ready.isFalse(
        'NoValidVirtualClusters',
        `none of its virtual clusters is valid: ${faulty.map((one) => one.name).join(', ')}; see their conditions`,
      );
}

function faultCondition(faults: Composed['faults']): ConditionInput | undefined {
  if (faults.length === 0) return undefined;
  return ready.isFalse(
    'InvalidConfiguration',
    `the proxy would refuse the configuration, so what runs stays: ${faults.map(({ path, problem }) => `${path} ${problem}`).join('; ')}`,
  );
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

/** Whether two hashes are of the same file, and only Secrets differ: those cannot be rolled back, since pods mount them by name. */
const sameFile = (left: string, right: string) => shortHash(left) === shortHash(right);

/** In the order of their names. Read only while a rollout is not finished: otherwise pod changes trigger no reconcile. */
function podProblems(read: Reader, namespace: string, labels: string): PodProblem[] {
  return read
    .list(Pod, { namespace, labels }, podProblemOf)
    .filter((failure) => failure !== undefined)
    .toSorted((left, right) => (left.text < right.text ? -1 : 1));
}

function readyCondition(
  rollout: Rollout | undefined,
  hash: string,
  failures: () => readonly PodProblem[],
): ConditionInput {
  if (rollout === undefined) return ready.isFalse('RollingOut', 'the Deployment is being created');
  const { isComplete, updated, available, wanted, failure } = rollout;
  if (rollout.hash !== hash && rollout.isHeld)
    return ready.isFalse(
      'RolledBack',
      `${available} pods run ${reportedHash(rollout.hash ?? '')}, to which a user rolled back${sameFile(rollout.hash ?? '', hash) ? ' (with Secrets as they are now: nothing else differs)' : ''}; ${reportedHash(hash)} is not rolled out until one of its inputs changes again`,
    );
  if (rollout.hash !== hash)
    return ready.isFalse(
      'RollingOut',
      `${available} pods run ${reportedHash(rollout.hash ?? '')}; ${reportedHash(hash)} is to follow`,
    );
  if (isComplete) return ready.isTrue('Ready', `${available} pods run ${reportedHash(hash)}`);
  const why = (rollout.isPaused ? undefined : failures()[0]?.text) ?? failure;
  return ready.isFalse(
    'RollingOut',
    `${updated} of ${wanted} pods have the new configuration, ${available} are available${why === undefined ? '' : `: ${why}`}`,
  );
}

function staleCondition(faulty: readonly FaultyCluster[], wantsSnapshots: boolean): ConditionInput {
  const stale = faulty.filter(({ lastGood }) => lastGood !== undefined).map(({ name }) => name);
  if (stale.length === 0) return noCondition(staleConfig.type);
  return staleConfig.isTrue(
    'StaleConfig',
    `served with their last good configuration: ${stale.join(', ')}; ${
      faulty.every(({ lastGood, hasSnapshots }) => lastGood === undefined || hasSnapshots)
        ? 'pods mount snapshots of its content'
        : `pods cannot be restarted while a Secret or ConfigMap that it names is missing or unusable${wantsSnapshots ? `; ${NO_SNAPSHOT_YET}` : ''}`
    }`,
  );
}

const FAULTY_SHOWN = 50;

function faultyStatus(faulty: readonly FaultyCluster[]) {
  if (faulty.length === 0) return drop();
  return faulty
    .slice(0, FAULTY_SHOWN)
    .map(({ name, lastGood }) => ({ name, ...(lastGood === undefined ? {} : { configHash: lastGood }) }));
}
