// Conditions and Events of a VirtualKafkaCluster whose content or rollout waits.
import { Deployment } from '@capstan/kube';
import { type ConditionInput, conditionType, type EventInput, noCondition, type Reader } from '@capstan/reconcile';
import { inForce, parseRunning } from '../hash/running-clusters.ts';
import { type Workload, workloadName } from '../kinds/labels.ts';
import { type Problem } from '../resolution/problem.ts';
import { ROLLOUT_HELD, rolloutOf } from '../resolution/rollout.ts';
import { type BrokenCluster, heldBecause } from '../tree/broken-clusters.ts';
import { type ClusterFragment } from '../tree/cluster-fragment.ts';
import type { ClusterNode } from '../tree/cluster-node.ts';
import { isOtherKey, type SecretVersions, secretVersions, writtenSince } from '../tree/key-change.ts';
import { type NamespacedRef } from '../tree/keys.ts';
import { NO_SNAPSHOT_YET } from '../tree/snapshots.ts';
import { type ClusterMemory, type Doubt } from './cluster-memory.ts';

const staleConfig = conditionType<'StaleConfig'>('StaleConfig');

export const rolloutHeld = conditionType<'WaitsForCluster' | 'WaitsForContent'>(ROLLOUT_HELD);

/** Returns the versions of the Secrets behind the configuration, and the Secrets that a lost digest key leaves in doubt. */
export function doubtOf(
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

export function doubtEvent(doubt: Doubt | undefined, { proxy }: ClusterFragment): EventInput {
  const secrets = (doubt?.secrets ?? []).map((name) => `secret/${name}`).join(', ');
  return {
    type: 'Warning',
    reason: 'DigestKeyLost',
    note: `the operator’s digest key is new, and ${secrets} was written since the last rollout: whether its content changed is not known, so the pods of ${proxy} are rolled once`,
  };
}

/**
 * Returns the condition about a held rollout. Read only while another cluster is broken, or every rollout would trigger all clusters of the
 * proxy.
 */
export function heldCondition(
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
export function staleCondition(
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
