// Deployment: from its template to ReplicaSets, one for each revision. The newest grows while the others shrink. Each reconcile takes one
// step (a set resized, a status written) and is woken by the change of that step.
import {
  compileLabelSelector,
  Deployment,
  type DeploymentStatus,
  equal,
  isAlreadyExists,
  keyOf,
  keyOfObject,
  Pod,
  ReplicaSet,
  reasonOf,
  refOf,
} from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { claim, controllerOf, controllerReference, createOwnership, isControlledBy } from '../controller/ownership.ts';
import { isEnded, isTerminating, podCondition } from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import {
  annotationsFor,
  desiredReplicas,
  maxReplicas,
  nextRevision,
  REVISION,
  renewedAnnotations,
  revisionOf,
  sizeAnnotations,
} from './annotations.ts';
import {
  availableOf,
  byCreation,
  isRollingUpdate,
  maxUnavailable,
  newReplicas,
  proportionalSizes,
  type Resize,
  replicasOf,
  shrinkOld,
} from './rolling-update.ts';
import {
  type ConditionInput,
  conditionOf,
  countedStatus,
  deadlineOf,
  isComplete,
  pauseCondition,
  rolloutStatus,
  untilDeadline,
  withCondition,
} from './status.ts';
import { findNewReplicaSet, HASH_LABEL, isSameTemplate, selectorWithHash, templateHash, withHash } from './template.ts';

const DEFAULT_HISTORY = 10;

/** The ReplicaSets of a Deployment: the one of its present template, and the others. */
interface Sets {
  fresh: ReplicaSet | undefined;
  old: readonly ReplicaSet[];
}

const allOf = ({ fresh, old }: Sets) => (fresh === undefined ? old : [...old, fresh]);
const activeOf = (sets: readonly ReplicaSet[]) => sets.filter((set) => replicasOf(set) > 0);

export function deploymentController(tools: Toolkit): Controller {
  const { clock, write } = tools;
  const deployments = tools.cache(Deployment);
  const setsCache = tools.cache(ReplicaSet);
  const replicaSets = createOwnership(setsCache);
  const pods = createOwnership(tools.cache(Pod));

  async function setStatus(deployment: Deployment, status: DeploymentStatus): Promise<Deployment> {
    if (equal(status, deployment.status ?? {})) return deployment;
    return write.updateStatus(Deployment, { ...deployment, status });
  }

  function setCondition(deployment: Deployment, input: ConditionInput): Promise<Deployment> {
    const conditions = withCondition(deployment.status?.conditions ?? [], input, clock.now());
    return setStatus(deployment, { ...deployment.status, conditions });
  }

  /** kubectl shows the revision of the Deployment, and so do people's scripts. */
  async function setRevision(deployment: Deployment, revision: string | undefined): Promise<Deployment> {
    if (revision === undefined || deployment.metadata.annotations?.[REVISION] === revision) return deployment;
    const patch = { metadata: { annotations: { [REVISION]: revision } } };
    // As Kubernetes' controller: a write of the status does not count as a generation, another write of an annotation does.
    return write.patch(Deployment, refOf(deployment), 'merge', patch, 'status');
  }

  function sort(deployment: Deployment, sets: readonly ReplicaSet[]): Sets {
    const fresh = findNewReplicaSet(deployment, sets);
    return { fresh, old: sets.filter((set) => set !== fresh) };
  }

  /** The set of the present template brought up to date: revision, annotations, minReadySeconds. */
  async function renew(deployment: Deployment, { fresh, old }: Sets): Promise<[Deployment, Sets]> {
    if (fresh === undefined) return [deployment, { fresh, old }];
    const annotations = renewedAnnotations(deployment, fresh, nextRevision(old));
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
    const isCurrent =
      equal(annotations, fresh.metadata.annotations ?? {}) && minReadySeconds === (fresh.spec?.minReadySeconds ?? 0);
    const current = isCurrent
      ? fresh
      : await write.update(ReplicaSet, {
          ...fresh,
          metadata: { ...fresh.metadata, annotations },
          spec: { ...specOf(fresh), minReadySeconds },
        });
    let updated = await setRevision(deployment, current.metadata.annotations?.[REVISION]);
    if (deadlineOf(updated) !== undefined && conditionOf(updated.status?.conditions, 'Progressing') === undefined) {
      const message = `Found new replica set ${JSON.stringify(current.metadata.name)}`;
      updated = await setCondition(updated, {
        type: 'Progressing',
        status: 'True',
        reason: 'FoundNewReplicaSet',
        message,
      });
    }
    return [updated, { fresh: current, old }];
  }

  async function createFresh(deployment: Deployment, old: readonly ReplicaSet[]): Promise<[Deployment, ReplicaSet]> {
    const { name = '', namespace = '' } = deployment.metadata;
    const template = deployment.spec?.template ?? {};
    const hash = templateHash(template, deployment.status?.collisionCount);
    const revision = nextRevision(old);
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
    const hashed = withHash(template, hash);
    const wanted: ReplicaSet = {
      apiVersion: ReplicaSet.apiVersion,
      kind: ReplicaSet.kind,
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels: { ...hashed.metadata?.labels },
        annotations: annotationsFor(deployment, revision),
        ownerReferences: [controllerReference(deployment)],
      },
      spec: {
        replicas: newReplicas(deployment, old, 0),
        ...(minReadySeconds > 0 ? { minReadySeconds } : {}),
        selector: selectorWithHash(deployment.spec?.selector, hash),
        template: hashed,
      },
    };
    const created = await createOrFind(deployment, wanted);
    let updated = await setRevision(deployment, created.metadata.annotations?.[REVISION]);
    if (deadlineOf(deployment) !== undefined) {
      const message = `Created new replica set ${JSON.stringify(created.metadata.name)}`;
      updated = await setCondition(updated, {
        type: 'Progressing',
        status: 'True',
        reason: 'NewReplicaSetCreated',
        message,
      });
    }
    if (replicasOf(created) > 0) notifyScaled(updated, created, 0, replicasOf(created));
    return [updated, created];
  }

  async function createOrFind(deployment: Deployment, wanted: ReplicaSet): Promise<ReplicaSet> {
    try {
      return await write.create(ReplicaSet, wanted);
    } catch (error) {
      if (!isAlreadyExists(error)) {
        if (deadlineOf(deployment) !== undefined) {
          const message = `Failed to create new replica set ${JSON.stringify(wanted.metadata.name)}: ${reasonOf(error)}`;
          await setCondition(deployment, {
            type: 'Progressing',
            status: 'False',
            reason: 'ReplicaSetCreateError',
            message,
          });
          tools.event(deployment, { type: 'Warning', reason: 'ReplicaSetCreateError', note: message });
        }
        throw error;
      }
      const found = await tools.client.get(ReplicaSet, refOf(wanted));
      if (isControlledBy(found, deployment) && isSameTemplate(found.spec?.template, wanted.spec?.template))
        return found;
      // Another template with the same hash: count it, and the next try has another name.
      const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
      await setStatus(deployment, { ...deployment.status, collisionCount });
      throw error;
    }
  }

  /** Changes the size of a set, and its record of the total; true when its size changed. */
  async function resize(deployment: Deployment, { set, replicas }: Resize): Promise<boolean> {
    const before = replicasOf(set);
    const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
    if (before === replicas && equal(annotations, set.metadata.annotations)) return false;
    await write.update(ReplicaSet, {
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...specOf(set), replicas },
    });
    if (before === replicas) return false;
    notifyScaled(deployment, set, before, replicas);
    return true;
  }

  function notifyScaled(deployment: Deployment, set: ReplicaSet, from: number, to: number): void {
    const direction = to > from ? 'up' : 'down';
    const note = `Scaled ${direction} replica set ${set.metadata.name} from ${from} to ${to}`;
    tools.event(deployment, { reason: 'ScalingReplicaSet', note });
  }

  async function resizeAll(deployment: Deployment, resizes: readonly Resize[]): Promise<boolean> {
    let hasChanged = false;
    for (const one of resizes) hasChanged = (await resize(deployment, one)) || hasChanged;
    return hasChanged;
  }

  /** The Deployment was scaled, or is paused: sizes follow without a step of the rollout. */
  async function scale(deployment: Deployment, { fresh, old }: Sets): Promise<void> {
    const active = activeOf(allOf({ fresh, old }));
    const single = active.length === 0 ? (fresh ?? old.toSorted(byCreation).at(-1)) : active[0];
    if (active.length < 2) {
      if (single !== undefined) await resize(deployment, { set: single, replicas: replicasOf(deployment) });
      return;
    }
    if (fresh !== undefined && isSaturated(deployment, fresh)) {
      await resizeAll(
        deployment,
        activeOf(old).map((set) => ({ set, replicas: 0 })),
      );
      return;
    }
    if (!isRollingUpdate(deployment)) return;
    await resizeAll(
      deployment,
      proportionalSizes(deployment, active, (set) => maxReplicas(set, deployment)),
    );
  }

  async function roll(deployment: Deployment, sets: Sets & { fresh: ReplicaSet }): Promise<void> {
    const { fresh, old } = sets;
    const wanted = replicasOf(deployment);
    const size = replicasOf(fresh) > wanted ? wanted : newReplicas(deployment, [...old, fresh], replicasOf(fresh));
    if (await resize(deployment, { set: fresh, replicas: size })) return;
    await resizeAll(deployment, shrinkOld(deployment, old, fresh));
  }

  /** False while pods of the old template are still there. */
  async function emptyOld(deployment: Deployment, old: readonly ReplicaSet[]): Promise<boolean> {
    const isShrinking = await resizeAll(
      deployment,
      activeOf(old).map((set) => ({ set, replicas: 0 })),
    );
    return !isShrinking && old.every((set) => pods.of(set).every(isEnded));
  }

  async function dropHistory(deployment: Deployment, old: readonly ReplicaSet[]): Promise<void> {
    const limit = deployment.spec?.revisionHistoryLimit ?? DEFAULT_HISTORY;
    const alive = old.filter((set) => !isTerminating(set)).toSorted((a, b) => (revisionOf(a) < revisionOf(b) ? -1 : 1));
    for (const set of alive.slice(0, Math.max(0, alive.length - limit))) {
      const isEmpty = replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0;
      const isSeen = (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0);
      if (isEmpty && isSeen) await write.remove(ReplicaSet, set, { propagationPolicy: 'Background' });
    }
  }

  /**
   * Why the rollout can never go on: its new pods need a port of the host that its old pods have, and no old pod may go
   * before a new one serves.
   */
  function blockedBy(deployment: Deployment, { fresh, old }: Sets): string | undefined {
    if (fresh === undefined || !isRollingUpdate(deployment) || maxUnavailable(deployment) > 0) return undefined;
    if (activeOf(old).length === 0 || shrinkOld(deployment, old, fresh).length > 0) return undefined;
    const waiting = pods.of(fresh).map((pod) => podCondition(pod, 'PodScheduled'));
    const conflict = waiting.find((one) => one?.reason === 'Unschedulable' && one.message?.includes('free ports'));
    if (conflict === undefined) return undefined;
    return `ReplicaSet "${fresh.metadata.name}" would have to share a port with the pods that it replaces: ${conflict.message} Set strategy.rollingUpdate.maxUnavailable to 1, or use the strategy Recreate.`;
  }

  /** For a set without a controller: every Deployment that selects it may adopt it. */
  function adopters({ metadata }: ReplicaSet): string[] {
    return deployments
      .list()
      .filter((one) => one.metadata.namespace === metadata.namespace)
      .filter((one) => compileLabelSelector(one.spec?.selector).matches(metadata.labels))
      .map(keyOfObject);
  }

  /** The sets as they are after this reconcile's own writes. */
  function latest(deployment: Deployment): [Deployment, Sets] {
    const current = deployments.get(keyOfObject(deployment)) ?? deployment;
    return [current, sort(current, replicaSets.of(current))];
  }

  async function finish(deployment: Deployment, isPaused: boolean): Promise<number | undefined> {
    const [current, sets] = latest(deployment);
    const status = isPaused
      ? countedStatus(current, allOf(sets), sets.fresh, clock.now())
      : rolloutStatus(current, allOf(sets), sets.fresh, clock.now(), blockedBy(current, sets));
    const written = await setStatus(current, status);
    if (!isPaused && isComplete(written, written.status)) await dropHistory(written, sets.old);
    return untilDeadline(written, status, clock.now());
  }

  return {
    name: 'deployment',
    concurrency: 5,
    sources: [
      source(tools, Deployment, (deployment) => [keyOfObject(deployment)]),
      source(tools, ReplicaSet, (set, old) => {
        const owned = [...ownerKeys(set), ...(old === undefined ? [] : ownerKeys(old))];
        return controllerOf(set) === undefined ? [...owned, ...adopters(set)] : owned;
      }),
      // Recreate waits until the last old pod is gone, which no ReplicaSet shows; neither does it show unschedulable pods.
      source(tools, Pod, (pod, _, isDeleted) => {
        const isUnplaced = podCondition(pod, 'PodScheduled')?.status === 'False';
        const set =
          isDeleted || isEnded(pod) || isUnplaced ? setsCache.get(ownerKeys(pod, 'ReplicaSet')[0] ?? '') : undefined;
        return set === undefined ? [] : ownerKeys(set);
      }),
    ],
    async reconcile(key) {
      let deployment = deployments.get(key);
      if (deployment === undefined) return undefined;
      const selector = compileLabelSelector(deployment.spec?.selector);
      if (selector.terms.length === 0) {
        tools.event(deployment, {
          type: 'Warning',
          reason: 'SelectingAll',
          note: 'This deployment is selecting all pods. A non-empty selector is required.',
        });
        return undefined;
      }
      const claimed = await claim(tools, ReplicaSet, replicaSets, deployment, selector);
      let sets = sort(deployment, claimed);
      if (isTerminating(deployment)) return finish(deployment, true);
      const pause = pauseCondition(deployment);
      if (pause !== undefined) deployment = await setCondition(deployment, pause);

      const isPaused = deployment.spec?.paused === true;
      const wanted = replicasOf(deployment);
      const isScaled = activeOf(claimed).some((set) => (desiredReplicas(set) ?? wanted) !== wanted);
      if (isPaused || isScaled) {
        [deployment, sets] = await renew(deployment, sets);
        await scale(deployment, sets);
        return finish(deployment, true);
      }
      const isRolling = isRollingUpdate(deployment);
      [deployment, sets] = await renew(deployment, sets);
      if (!isRolling && !(await emptyOld(deployment, sets.old))) return finish(deployment, false);
      let { fresh } = sets;
      if (fresh === undefined) [deployment, fresh] = await createFresh(deployment, sets.old);
      if (isRolling) await roll(deployment, { fresh, old: sets.old });
      else await resize(deployment, { set: fresh, replicas: wanted });
      return finish(deployment, false);
    },
  };
}

function specOf(set: ReplicaSet): NonNullable<ReplicaSet['spec']> {
  return set.spec ?? { selector: { matchLabels: { [HASH_LABEL]: '' } } };
}

/** The whole of the Deployment is the new set, and serves. */
function isSaturated(deployment: Deployment, fresh: ReplicaSet): boolean {
  const wanted = replicasOf(deployment);
  return replicasOf(fresh) === wanted && desiredReplicas(fresh) === wanted && availableOf(fresh) === wanted;
}

function ownerKeys(object: ReplicaSet | Pod, kind: 'Deployment' | 'ReplicaSet' = 'Deployment'): string[] {
  const owner = controllerOf(object);
  if (owner?.kind !== kind) return [];
  return [keyOf({ namespace: object.metadata.namespace ?? '', name: owner.name })];
}
