// A pod that nobody runs: its image is unknown here, or the machine cannot give it an address. It is shown as running and
// ready after a moment, so that what depends on it goes on, and says by annotation and condition that it is not real.
import {
  type Container,
  type ContainerStatus,
  formatTime,
  isTransportError,
  type Pod,
  type PodStatus,
  parseTime,
  sleep,
  untilAborted,
} from '@capstan/kube';
import { podCondition } from '../controller/pods.ts';
import { readinessConditions, withConditions } from './conditions.ts';
import type { PodContext } from './pod-context.ts';

export const SIMULATED = 'capstan.dev/simulated';
export const SIMULATED_CONDITION = 'capstan.dev/Simulated';

export interface SimulateOptions {
  /** From its start until a simulated pod is ready; default 500. */
  readyAfterMs?: number;
  /** From the wish to delete it until it is gone; default 100. */
  stopAfterMs?: number;
  /** Pods that never become ready, for tests and demonstrations; default none. */
  isUnready?: (pod: Pod) => boolean;
}

export interface WhySimulated {
  reason: string;
  message: string;
}

export interface Placement {
  hostIP: string;
  podIP: string;
}

/** Runs until the pod is gone from the API, or the signal is aborted; then the pod stays as it is. */
export async function simulatePod(
  context: PodContext,
  placement: Placement,
  why: WhySimulated,
  options: SimulateOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, deletion } = context;
  const isUnready = options.isUnready?.(context.pod()) ?? false;
  if (!deletion.aborted) {
    await context.annotate({ [SIMULATED]: 'true' });
    let wait = options.readyAfterMs ?? 500;
    if (podCondition(context.pod(), SIMULATED_CONDITION)?.status !== 'True') {
      await context.setStatus((pod, now) => simulatedStatus(pod, placement, why, 'creating', now));
    } else wait -= clock.now() - parseTime(context.pod().status?.startTime ?? formatTime(clock.now()));
    const isInTime = podCondition(context.pod(), 'Ready')?.status === 'True' || (await pause(context, wait, signal));
    if (isInTime) {
      const state = isUnready ? 'unready' : 'ready';
      const tell = () => context.setStatus((pod, now) => simulatedStatus(pod, placement, why, state, now));
      await tell();
      await followGates(context, tell, signal);
    }
  }
  if (signal.aborted) return;
  await sleep(clock, options.stopAfterMs ?? 100, signal).catch(() => {});
  if (!signal.aborted) await context.finalise();
}

/** False when the pod was deleted, or the node stopped, before. */
async function pause({ clock, deletion }: PodContext, ms: number, signal: AbortSignal): Promise<boolean> {
  if (ms <= 0) return !deletion.aborted && !signal.aborted;
  return sleep(clock, ms, AbortSignal.any([deletion, signal])).then(
    () => true,
    () => false,
  );
}

/** Until the pod is to go: readiness gates are opened and closed by others. */
async function followGates(context: PodContext, tell: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const end = AbortSignal.any([context.deletion, signal]);
  const off = context.onChange(() => {
    if (end.aborted || !context.pod().spec?.readinessGates?.length) return;
    tell().catch((error: unknown) => {
      if (!isTransportError(error))
        context.logger.warn('the status of a simulated pod could not be written', { error });
    });
  });
  await untilAborted(end);
  off();
}

function simulatedStatus(
  pod: Pod,
  { hostIP, podIP }: Placement,
  why: WhySimulated,
  state: 'creating' | 'ready' | 'unready',
  now: number,
): PodStatus {
  const startTime = pod.status?.startTime ?? formatTime(now);
  const containers = pod.spec?.containers ?? [];
  const initial = pod.spec?.initContainers ?? [];
  const unready = state === 'ready' ? [] : containers.map(({ name }) => name);
  return {
    ...pod.status,
    phase: state === 'creating' ? 'Pending' : 'Running',
    observedGeneration: pod.metadata.generation ?? 1,
    startTime,
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: withConditions(
      pod.status?.conditions,
      [
        ...readinessConditions(pod, { isInitialized: true, unready }),
        { type: SIMULATED_CONDITION, status: 'True', ...why },
      ],
      now,
    ),
    containerStatuses: containers.map((one) => containerStatus(pod, one, state, now)),
    ...(initial.length > 0
      ? { initContainerStatuses: initial.map((one) => initStatus(pod, one, state, startTime)) }
      : {}),
  };
}

function containerStatus(pod: Pod, container: Container, state: string, now: number): ContainerStatus {
  const { name, image = '' } = container;
  const old = pod.status?.containerStatuses?.find((one) => one.name === name);
  const isRunning = state !== 'creating';
  return {
    name,
    image,
    imageID: '',
    ready: state === 'ready',
    started: isRunning,
    restartCount: 0,
    lastState: {},
    state: isRunning
      ? { running: { startedAt: old?.state?.running?.startedAt ?? formatTime(now) } }
      : { waiting: { reason: 'ContainerCreating' } },
    ...(isRunning ? { containerID: `simulated://${pod.metadata.uid}/${name}` } : {}),
  };
}

function initStatus(pod: Pod, container: Container, state: string, startTime: string): ContainerStatus {
  const { name, image = '', restartPolicy } = container;
  const isSidecar = restartPolicy === 'Always';
  const terminated = { exitCode: 0, reason: 'Completed', startedAt: startTime, finishedAt: startTime };
  return {
    name,
    image,
    imageID: '',
    ready: !isSidecar || state === 'ready',
    started: isSidecar,
    restartCount: 0,
    lastState: {},
    containerID: `simulated://${pod.metadata.uid}/${name}`,
    state: isSidecar ? { running: { startedAt: startTime } } : { terminated },
  };
}
