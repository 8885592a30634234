// DaemonSet: a pod on every node that it selects, updated node by node.
import {
  ControllerRevision,
  compileLabelSelector,
  DaemonSet,
  type DaemonSetStatus,
  equal,
  formatTime,
  isNotFound,
  keyOf,
  keyOfObject,
  Node,
  Pod,
  parseTime,
} from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { claim, controllerOf, createOwnership } from '../controller/ownership.ts';
import { isEnded, isPodReady, isTerminating, positive, scaledValue, untilAvailable } from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import { daemonPod, HASH_LABEL, nodeOf, wants } from './daemon-pod.ts';
import { dropRevisions, recordRevision } from './history.ts';

/** A node with the set's pods on it. */
interface Place {
  name: string;
  shouldRun: boolean;
  mayStay: boolean;
  /** Not about to go; oldest first. */
  pods: readonly Pod[];
}

/** A failed pod is replaced, but not in a hurry. */
const FAILED_MS = 10_000;

export function daemonSetController(tools: Toolkit): Controller {
  const { clock, write } = tools;
  const sets = tools.cache(DaemonSet);
  const nodes = tools.cache(Node);
  const pods = createOwnership(tools.cache(Pod));
  const revisions = createOwnership(tools.cache(ControllerRevision));

  const isUpdated = (pod: Pod, hash: string) => pod.metadata.labels?.[HASH_LABEL] === hash;
  const isAvailable = (set: DaemonSet, pod: Pod) =>
    untilAvailable(pod, set.spec?.minReadySeconds ?? 0, clock.now()) === 0;

  function placesOf(set: DaemonSet, all: readonly Pod[]): Place[] {
    const alive = all.filter((pod) => !isTerminating(pod));
    return nodes.list().map((node) => {
      const name = node.metadata.name ?? '';
      const here = alive.filter((pod) => nodeOf(pod) === name).toSorted(byAge);
      return { name, ...wants(set, node), pods: here };
    });
  }

  async function create(set: DaemonSet, node: string, hash: string): Promise<void> {
    const pod = await write.create(Pod, daemonPod(set, node, hash));
    tools.event(set, { reason: 'SuccessfulCreate', note: `Created pod: ${pod.metadata.name}` });
  }

  async function remove(set: DaemonSet, pod: Pod): Promise<void> {
    await write.remove(Pod, pod).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    tools.event(set, { reason: 'SuccessfulDelete', note: `Deleted pod: ${pod.metadata.name}` });
  }

  /** A pod where there should be one and none where there should not; whether something failed that is to be replaced. */
  async function manage(set: DaemonSet, places: readonly Place[], hash: string, surge: number): Promise<boolean> {
    let hasFailed = false;
    for (const { name, shouldRun, mayStay, pods: here } of places) {
      const failed = here.filter(isEnded);
      for (const pod of failed) {
        const age = clock.now() - parseTime(pod.metadata.creationTimestamp ?? formatTime(clock.now()));
        if (age < FAILED_MS) {
          hasFailed = true;
          continue;
        }
        tools.event(set, {
          type: 'Warning',
          reason: 'FailedDaemonPod',
          note: `Found failed daemon pod ${keyOfObject(pod)} on node ${name}, will try to kill it`,
        });
        await remove(set, pod);
      }
      const alive = here.filter((pod) => !isEnded(pod));
      if (!mayStay) for (const pod of alive) await remove(set, pod);
      else if (alive.length > 1) await removeExtra(set, alive, hash, surge);
      else if (alive.length === 0 && failed.length === 0 && shouldRun) await create(set, name, hash);
    }
    return hasFailed;
  }

  /** The oldest stays; in a surging update, the old one and the new one do. */
  async function removeExtra(set: DaemonSet, alive: readonly Pod[], hash: string, surge: number): Promise<void> {
    const [old] = alive.filter((pod) => !isUpdated(pod, hash));
    const [fresh] = alive.filter((pod) => isUpdated(pod, hash));
    const keepsBoth = surge > 0 && old !== undefined && fresh !== undefined;
    const kept = keepsBoth ? [old, fresh] : [alive[0]];
    for (const pod of alive) if (!kept.includes(pod)) await remove(set, pod);
  }

  async function rollingUpdate(set: DaemonSet, places: readonly Place[], hash: string, limits: Limits): Promise<void> {
    const wanted = places.filter(({ shouldRun }) => shouldRun);
    const views = wanted.map((place) => {
      const alive = place.pods.filter((pod) => !isEnded(pod));
      return {
        ...place,
        old: alive.find((pod) => !isUpdated(pod, hash)),
        fresh: alive.find((pod) => isUpdated(pod, hash)),
      };
    });
    if (limits.surge === 0) {
      const isServing = ({ old, fresh }: (typeof views)[number]) =>
        [old, fresh].some((pod) => pod !== undefined && isAvailable(set, pod));
      let budget = limits.unavailable - views.filter((view) => !isServing(view)).length;
      for (const { old } of views) {
        if (old === undefined) continue;
        // A pod that does not serve can go without making anything worse.
        const isCounted = isAvailable(set, old);
        if (isCounted && budget <= 0) continue;
        if (isCounted) budget--;
        await remove(set, old);
      }
      return;
    }
    let surging = views.filter(({ old, fresh }) => old !== undefined && fresh !== undefined).length;
    for (const { name, old, fresh } of views) {
      if (old === undefined) continue;
      if (fresh !== undefined) {
        if (isAvailable(set, fresh)) await remove(set, old);
      } else if (!isAvailable(set, old) || surging < limits.surge) {
        surging++;
        await create(set, name, hash);
      }
    }
  }

  async function updateStatus(set: DaemonSet, hash: string): Promise<void> {
    const all = pods.of(set).filter((pod) => !isEnded(pod));
    const places = placesOf(set, all);
    const wanted = places.filter(({ shouldRun }) => shouldRun);
    const leading = wanted.flatMap(({ pods: [first] }) => first ?? []);
    const anyOf = (test: (pod: Pod) => boolean) => wanted.filter(({ pods: here }) => here.some(test)).length;
    const numberAvailable = anyOf((pod) => isPodReady(pod) && isAvailable(set, pod));
    const status: DaemonSetStatus = {
      currentNumberScheduled: leading.length,
      desiredNumberScheduled: wanted.length,
      numberMisscheduled: places.filter(({ shouldRun, pods: here }) => !shouldRun && here.length > 0).length,
      numberReady: anyOf(isPodReady),
      ...positive({
        updatedNumberScheduled: anyOf((pod) => isUpdated(pod, hash)),
        numberAvailable,
        numberUnavailable: wanted.length - numberAvailable,
      }),
      observedGeneration: set.metadata.generation ?? 0,
      ...(set.status?.collisionCount === undefined ? {} : { collisionCount: set.status.collisionCount }),
      ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
    };
    const current = sets.get(keyOfObject(set)) ?? set;
    if (!equal(status, current.status ?? {})) await write.updateStatus(DaemonSet, { ...current, status });
  }

  return {
    name: 'daemonset',
    concurrency: 2,
    sources: [
      source(tools, DaemonSet, (set) => [keyOfObject(set)]),
      source(tools, ControllerRevision, ownerKeys),
      source(tools, Pod, (pod, old) => [...ownerKeys(pod), ...(old === undefined ? [] : ownerKeys(old))]),
      source(tools, Node, (node, old, isDeleted) =>
        isDeleted || isOther(node, old) ? sets.list().map(keyOfObject) : [],
      ),
    ],
    async reconcile(key) {
      const set = sets.get(key);
      if (set === undefined) return undefined;
      const selector = compileLabelSelector(set.spec?.selector);
      if (selector.terms.length === 0) return undefined;
      const owned = await claim(tools, Pod, pods, set, selector);
      if (isTerminating(set)) {
        await updateStatus(set, '');
        return undefined;
      }
      const history = await recordRevision(tools, revisions, set);
      const places = placesOf(set, owned);
      const limits = limitsOf(set, places.filter(({ shouldRun }) => shouldRun).length);
      const hasFailed = await manage(set, places, history.hash, limits.surge);
      if ((set.spec?.updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate') {
        await rollingUpdate(set, placesOf(set, pods.of(set)), history.hash, limits);
      }
      await dropRevisions(tools, set, history, owned);
      await updateStatus(set, history.hash);
      const minReady = set.spec?.minReadySeconds ?? 0;
      const waits = pods.of(set).map((pod) => untilAvailable(pod, minReady, clock.now()) ?? 0);
      const soonest = Math.min(...waits.filter((wait) => wait > 0), ...(hasFailed ? [FAILED_MS] : []));
      return Number.isFinite(soonest) ? soonest : undefined;
    },
  };
}

interface Limits {
  unavailable: number;
  surge: number;
}

function limitsOf(set: DaemonSet, desired: number): Limits {
  const { maxUnavailable = 1, maxSurge = 0 } = set.spec?.updateStrategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, desired, 'up');
  const unavailable = scaledValue(maxUnavailable, desired, 'up');
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function ownerKeys(object: Pod | ControllerRevision): string[] {
  const owner = controllerOf(object);
  if (owner?.kind !== 'DaemonSet') return [];
  return [keyOf({ namespace: object.metadata.namespace ?? '', name: owner.name })];
}

function byAge(a: Pod, b: Pod): number {
  const [one, other] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (one !== other) return one < other ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/** Heartbeats concern no DaemonSet; labels and taints do. */
function isOther(node: Node, old: Node | undefined): boolean {
  if (old === undefined) return true;
  return !equal(node.spec ?? {}, old.spec ?? {}) || !equal(node.metadata.labels ?? {}, old.metadata.labels ?? {});
}
