// Conditions of a KafkaProxy.
import { Pod } from '@capstan/kube';
import { type ConditionInput, conditionType, drop, noCondition, type Reader } from '@capstan/reconcile';
import { type Composed } from '../configuration/compose.ts';
import { reportedHash, shortHash } from '../hash/combine-hashes.ts';
import { workloadName } from '../kinds/labels.ts';
import { type PodProblem, podProblemOf } from '../resolution/pod-problem.ts';
import { type Rollout } from '../resolution/rollout.ts';
import { type NamespacedRef } from '../tree/keys.ts';
import { type FaultyCluster } from '../tree/served-clusters.ts';
import { NO_SNAPSHOT_YET } from '../tree/snapshots.ts';

type ReadyReason =
  | 'Ready'
  | 'RollingOut'
  | 'RolledBack'
  | 'Held'
  | 'NoVirtualClusters'
  | 'NoValidVirtualClusters'
  | 'InvalidConfiguration'
  | 'ConfigurationTooLarge';

export const ready = conditionType<ReadyReason>('Ready');

const staleConfig = conditionType<'StaleConfig'>('StaleConfig');

type Unfinished = Pick<Rollout, 'name' | 'failure'>;

/** Prefers the problem that a pod reports to the one that its Deployment reports, since it is nearer to the cause. */
export function withProblems(
  unfinished: readonly Unfinished[],
  { name: proxy }: NamespacedRef,
  failures: PodProblem[],
) {
  const byName = new Map(
    failures.toReversed().map(({ cluster = '', text }) => [workloadName({ proxy, cluster }), text]),
  );
  return unfinished.map(({ name, failure }) => ({ name, failure: byName.get(name) ?? failure }));
}

/** The number of Deployments that are reported by name. The others are counted. */
const UNFINISHED_SHOWN = 3;

export function unfinishedText(unfinished: readonly Unfinished[], of: number): string {
  const reported = unfinished
    .slice(0, UNFINISHED_SHOWN)
    .map(({ name, failure }) => (failure === undefined ? name : `${name} (${failure})`));
  const others = unfinished.length - reported.length;
  return `${unfinished.length} of ${of} Deployments are not ready yet: ${reported.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

export function noneServed({ name }: NamespacedRef, faulty: readonly FaultyCluster[], count: number): ConditionInput {
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

export function faultCondition(faults: Composed['faults']): ConditionInput | undefined {
  if (faults.length === 0) return undefined;
  return ready.isFalse(
    'InvalidConfiguration',
    `the proxy would refuse the configuration, so what runs stays: ${faults.map(({ path, problem }) => `${path} ${problem}`).join('; ')}`,
  );
}

/**
 * Returns whether two hashes have the same file, so that only Secrets differ. Those cannot be rolled back, since pods mount them by name.
 */
const sameFile = (left: string, right: string) => shortHash(left) === shortHash(right);

/**
 * Returns the problems of pods, sorted by name. Call it only during a rollout, so that changes of pods trigger no reconcile at other times.
 */
export function podProblems(read: Reader, namespace: string, labels: string): PodProblem[] {
  return read
    .list(Pod, { namespace, labels }, podProblemOf)
    .filter((failure) => failure !== undefined)
    .toSorted((left, right) => (left.text < right.text ? -1 : 1));
}

export function readyCondition(
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

export function staleCondition(faulty: readonly FaultyCluster[], wantsSnapshots: boolean): ConditionInput {
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

export function faultyStatus(faulty: readonly FaultyCluster[]) {
  if (faulty.length === 0) return drop();
  return faulty
    .slice(0, FAULTY_SHOWN)
    .map(({ name, lastGood }) => ({ name, ...(lastGood === undefined ? {} : { configHash: lastGood }) }));
}
