// The annotations of a Deployment on its ReplicaSets: the revision of each, and the intended total size when the set was last sized. The
// latter distinguishes a later scaling from a rollout.
import type { Deployment, ReplicaSet } from '@capstan/kube';
import { maxSurge, replicasOf } from './rolling-update.ts';

export const REVISION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
const DESIRED = 'deployment.kubernetes.io/desired-replicas';
const MAX = 'deployment.kubernetes.io/max-replicas';

/** These are about one object only and do not travel from the Deployment to its sets. */
const OWN = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  REVISION,
  REVISION_HISTORY,
  DESIRED,
  MAX,
]);

type Annotations = Record<string, string>;

/** A number of 64 bits, as in Kubernetes: more than a number of JavaScript holds. */
export function revisionOf(object: Deployment | ReplicaSet): bigint {
  const text = object.metadata.annotations?.[REVISION] ?? '0';
  return /^[0-9]{1,19}$/.test(text) ? BigInt(text) : 0n;
}

/** Returns the revision after the newest of these. */
export function nextRevision(sets: readonly ReplicaSet[]): bigint {
  return sets.map(revisionOf).reduce((newest, one) => (one > newest ? one : newest), 0n) + 1n;
}

export function desiredReplicas(set: ReplicaSet): number | undefined {
  return numberOf(set, DESIRED);
}

/** The largest total recorded on a set when it was last sized; without a record, the current total counts. */
export function maxReplicas(set: ReplicaSet, deployment: Deployment): number {
  return numberOf(set, MAX) ?? deployment.status?.replicas ?? replicasOf(deployment);
}

export function sizeAnnotations(deployment: Deployment): Annotations {
  const wanted = replicasOf(deployment);
  return { [DESIRED]: String(wanted), [MAX]: String(wanted + maxSurge(deployment)) };
}

/** The annotations of a new set. */
export function annotationsFor(deployment: Deployment, revision: bigint): Annotations {
  return { ...inherited(deployment), [REVISION]: String(revision), ...sizeAnnotations(deployment) };
}

/** The annotations of a set that is used again: its revision becomes the newest, and its former revisions are recorded. */
export function renewedAnnotations(deployment: Deployment, set: ReplicaSet, revision: bigint): Annotations {
  const next: Annotations = { ...set.metadata.annotations, ...inherited(deployment) };
  const old = revisionOf(set);
  if (old >= revision) return next;
  next[REVISION] = String(revision);
  if (old === 0n) return next;
  const history = next[REVISION_HISTORY];
  next[REVISION_HISTORY] = history ? `${history},${old}` : String(old);
  return next;
}

function inherited(deployment: Deployment): Annotations {
  return Object.fromEntries(Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !OWN.has(key)));
}

function numberOf(set: ReplicaSet, key: string): number | undefined {
  const text = set.metadata.annotations?.[key];
  return text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : undefined;
}
