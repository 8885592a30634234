// The arithmetic of a rolling update: how many pods may be above and below the wanted number, and from that how far each
// ReplicaSet may be scaled now. All of it is Kubernetes' own, so that a rollout takes the same steps here and there.
import type { Deployment, ReplicaSet } from '@capstan/kube';
import { scaledValue } from '../controller/pods.ts';

export const replicasOf = (object: Deployment | ReplicaSet): number => object.spec?.replicas ?? 1;
export const availableOf = (set: ReplicaSet | undefined): number => set?.status?.availableReplicas ?? 0;
export const sumOf = (sets: readonly (ReplicaSet | undefined)[], count: (set: ReplicaSet) => number): number =>
  sets.reduce((sum, set) => sum + (set === undefined ? 0 : count(set)), 0);

export function isRollingUpdate(deployment: Deployment): boolean {
  return (deployment.spec?.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
}

/** Above the wanted number. */
export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? fenceposts(deployment).surge : 0;
}

/** Below the wanted number. */
export function maxUnavailable(deployment: Deployment): number {
  const replicas = replicasOf(deployment);
  if (!isRollingUpdate(deployment) || replicas === 0) return 0;
  return Math.min(fenceposts(deployment).unavailable, replicas);
}

/** Surge is rounded up, unavailability down; where both are nothing one pod may be missing, or it would never end. */
function fenceposts(deployment: Deployment): { surge: number; unavailable: number } {
  const replicas = replicasOf(deployment);
  const rolling = deployment.spec?.strategy?.rollingUpdate;
  const surge = scaledValue(rolling?.maxSurge ?? '25%', replicas, 'up');
  const unavailable = scaledValue(rolling?.maxUnavailable ?? '25%', replicas, 'down');
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
}

/** How many pods the new ReplicaSet should have now. */
export function newReplicas(deployment: Deployment, all: readonly ReplicaSet[], current: number): number {
  const wanted = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return wanted;
  const room = wanted + maxSurge(deployment) - sumOf(all, replicasOf);
  return room <= 0 ? current : current + Math.min(room, wanted - current);
}

export interface Resize {
  set: ReplicaSet;
  replicas: number;
}

/** The old ReplicaSets that may shrink now: first their pods that do not serve, then as many as the new ones replace. */
export function shrinkOld(deployment: Deployment, old: readonly ReplicaSet[], fresh: ReplicaSet): Resize[] {
  const active = old.filter((set) => replicasOf(set) > 0).toSorted(byCreation);
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const all = [...active, fresh];
  const freshUnavailable = replicasOf(fresh) - availableOf(fresh);
  const maxScaledDown = sumOf(all, replicasOf) - minAvailable - freshUnavailable;
  if (active.length === 0 || maxScaledDown <= 0) return [];

  const sizes = new Map(active.map((set) => [set, replicasOf(set)]));
  let unhealthy = 0;
  for (const set of active) {
    const missing = Math.max(0, replicasOf(set) - availableOf(set));
    const count = Math.min(maxScaledDown - unhealthy, missing);
    if (count <= 0) continue;
    unhealthy += count;
    sizes.set(set, replicasOf(set) - count);
  }
  let spare = sumOf(all, availableOf) - minAvailable;
  for (const set of active) {
    const size = sizes.get(set) ?? 0;
    const count = Math.min(size, spare);
    if (count <= 0) continue;
    spare -= count;
    sizes.set(set, size - count);
  }
  return [...sizes].flatMap(([set, replicas]) => (replicas === replicasOf(set) ? [] : [{ set, replicas }]));
}

/**
 * A Deployment that is scaled in the middle of a rollout: each ReplicaSet grows or shrinks in proportion to its size, and the largest takes
 * the rest from rounding. `maxBefore` is the largest total that was recorded on a set when it was last sized.
 */
export function proportionalSizes(
  deployment: Deployment,
  active: readonly ReplicaSet[],
  maxBefore: (set: ReplicaSet) => number,
): Resize[] {
  const wanted = replicasOf(deployment);
  const allowed = wanted > 0 ? wanted + maxSurge(deployment) : 0;
  const toAdd = allowed - sumOf(active, replicasOf);
  const isGrowing = toAdd > 0;
  const sorted = active.toSorted(
    (a, b) => replicasOf(b) - replicasOf(a) || (isGrowing ? byCreation(b, a) : byCreation(a, b)),
  );
  let added = 0;
  const resizes = sorted.map((set) => {
    const part = proportion(set, toAdd, added, wanted, maxSurge(deployment), maxBefore(set));
    added += part;
    return { set, replicas: replicasOf(set) + part };
  });
  const [largest] = resizes;
  if (largest !== undefined && toAdd !== 0) largest.replicas = Math.max(0, largest.replicas + toAdd - added);
  return resizes;
}

function proportion(
  set: ReplicaSet,
  toAdd: number,
  added: number,
  wanted: number,
  surge: number,
  maxBefore: number,
): number {
  const size = replicasOf(set);
  if (size === 0 || toAdd === 0 || toAdd === added) return 0;
  const share = wanted === 0 ? -size : roundHalfAway((size * (wanted + surge)) / Math.max(1, maxBefore)) - size;
  const left = toAdd - added;
  return toAdd > 0 ? Math.min(share, left) : Math.max(share, left);
}

function roundHalfAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value);
}

/** Oldest first. */
export function byCreation(a: ReplicaSet, b: ReplicaSet): number {
  const [one, other] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (one !== other) return one < other ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}
