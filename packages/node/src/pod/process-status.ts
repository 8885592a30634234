// A pod's status from the states of its containers.
import {
  type Container,
  type ContainerState,
  type ContainerStatus,
  formatTime,
  type Pod,
  type PodStatus,
} from '@capstan/kube';
import type { ContainerView } from '../container/container.ts';
import { readinessConditions, withConditions } from './conditions.ts';
import type { Placement } from './simulated-pod.ts';

export interface PodView {
  placement: Placement;
  /** By name; a container that is not there yet waits for the others. */
  containers: ReadonlyMap<string, ContainerView>;
  /** The init containers are through (sidecars: up). */
  isInitialized: boolean;
  /** The pod's own end, where it has come: all containers have ended and stay so. */
  end?: { phase: 'Succeeded' | 'Failed'; reason?: string; message?: string };
}

export function processStatus(pod: Pod, view: PodView, now: number): PodStatus {
  const { placement, containers, isInitialized, end } = view;
  const { hostIP, podIP } = placement;
  const main = pod.spec?.containers ?? [];
  const initial = pod.spec?.initContainers ?? [];
  const statusOf = (container: Container) =>
    containerStatus(pod, container, containers.get(container.name), isInitialized);
  const isSidecar = ({ restartPolicy }: Container) => restartPolicy === 'Always';
  const unready = [...initial.filter(isSidecar), ...main]
    .map(({ name }) => name)
    .filter((name) => !containers.get(name)?.isReady);
  const { reason: _, message: __, ...kept } = pod.status ?? {};
  return {
    ...kept,
    phase: end?.phase ?? phaseOf(main, view),
    ...(end?.reason === undefined ? {} : { reason: end.reason }),
    ...(end?.message === undefined ? {} : { message: end.message }),
    observedGeneration: pod.metadata.generation ?? 1,
    startTime: pod.status?.startTime ?? formatTime(now),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: withConditions(
      pod.status?.conditions,
      readinessConditions(pod, { isInitialized, unready, isCompleted: end?.phase === 'Succeeded' }),
      now,
    ),
    containerStatuses: main.map(statusOf),
    ...(initial.length > 0 ? { initContainerStatuses: initial.map(statusOf) } : {}),
  };
}

/** Pending until every container has been started once. */
function phaseOf(main: readonly Container[], { containers, isInitialized }: PodView): 'Pending' | 'Running' {
  const hasRun = ({ name }: Container) => {
    const view = containers.get(name);
    return view !== undefined && (view.state.waiting === undefined || view.lastState.terminated !== undefined);
  };
  return isInitialized && main.every(hasRun) ? 'Running' : 'Pending';
}

function containerStatus(
  pod: Pod,
  { name, image = '' }: Container,
  view: ContainerView | undefined,
  isInitialized: boolean,
): ContainerStatus {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  const known = statuses.find((one) => one.name === name);
  const waiting = { reason: isInitialized ? 'ContainerCreating' : 'PodInitializing' };
  const state: ContainerState = view?.state ?? { waiting };
  const lastState = view?.lastState ?? known?.lastState ?? {};
  const restartCount = view?.restartCount ?? known?.restartCount ?? 0;
  const hasRun = state.running !== undefined || state.terminated !== undefined || restartCount > 0;
  return {
    name,
    image,
    imageID: hasRun ? `capstan://${image}` : '',
    ...(hasRun ? { containerID: `capstan://${pod.metadata.uid}/${name}/${restartCount}` } : {}),
    ready: view?.isReady ?? false,
    started: view?.isStarted ?? false,
    restartCount,
    state,
    lastState,
  };
}
