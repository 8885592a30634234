// The Deployment of a cluster with pods of its own.
import { Deployment, ReplicaSet } from '@capstan/kube';
import { type EventInput, type GroupInput, type Reader } from '@capstan/reconcile';
import { compose } from '../configuration/compose.ts';
import { type CarriedHash, carryHash } from '../hash/carried-hash.ts';
import { formatRunning, inForce, parseRunning } from '../hash/running-clusters.ts';
import { KafkaProxy, type KafkaProxySpec } from '../kinds/index.ts';
import { type Workload, workloadName, workloadSelector } from '../kinds/labels.ts';
import { named } from '../resolution/problem.ts';
import { type Rolled, rolledTo, rolloutEvents, rolloutOf, rolloutProgress } from '../resolution/rollout.ts';
import { quietMsOf, type Settings } from '../settings.ts';
import { rollsPods } from '../templates/deployment.ts';
import { configMapsOf, type WorkloadParts, workloadGroups } from '../templates/workload.ts';
import { brokenMounts } from '../tree/broken-clusters.ts';
import { served } from '../tree/cluster-fragment.ts';
import type { ClusterNode } from '../tree/cluster-node.ts';
import { type NamespacedRef } from '../tree/keys.ts';
import { isOpenShift } from '../tree/platform.ts';
import { snapshotNames, snapshotsAwaited } from '../tree/snapshots.ts';
import { type ClusterMemory, isPausedOf, type StoredSnapshots } from './cluster-memory.ts';

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

export function isolatedWorkload(
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
