// The memory of a VirtualKafkaCluster and its stored snapshots.
import { type GroupInput, PAUSED_ANNOTATION } from '@capstan/reconcile';
import { type CarriedHash } from '../hash/carried-hash.ts';
import type { KafkaProxy } from '../kinds/index.ts';
import { type Rolled } from '../resolution/rollout.ts';
import { type ClusterFragment } from '../tree/cluster-fragment.ts';
import { type SecretVersions } from '../tree/key-change.ts';

export const isPausedOf = ({ metadata }: KafkaProxy) => metadata.annotations?.[PAUSED_ANNOTATION] === 'true';

/** Secrets that were written while the digest key was lost. */
export interface Doubt {
  /** The hash of the configuration under the new key. */
  readonly hash: string;
  readonly secrets: readonly string[];
}

export interface ClusterMemory {
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

export interface StoredSnapshots {
  readonly groups: GroupInput[];
  /** The names of the snapshots that exist. */
  readonly stored: string[];
}
