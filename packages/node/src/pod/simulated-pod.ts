// A simulated pod: its image is unknown here, or the machine cannot give it an address. It is shown as running and ready after a moment, so
// that its dependents continue. An annotation, a condition and an Event report that it is not real. Like any pod it waits for the Secrets,
// ConfigMaps and claims that it names.
import {
  type Container,
  type ContainerStatus,
  formatTime,
  type Pod,
  type PodStatus,
  parseTime,
  sleep,
  untilAborted,
} from '@capstan/kube';
import { podCondition } from '../controller/pods.ts';
import { readinessConditions, withConditions } from './conditions.ts';
import type { PodContext } from './pod-context.ts';
import type { Missing } from './required-references.ts';
import { endedStatus, simulatedEnd } from './simulated-end.ts';
import { createStatusWriter, isStatusBehind } from './status-writer.ts';

export const SIMULATED = 'capstan.dev/simulated';
export const SIMULATED_CONDITION = 'capstan.dev/Simulated';

/** Why nothing of a simulated pod runs. */
export function whyIsSimulated(pod: Pod): string {
  return podCondition(pod, SIMULATED_CONDITION)?.message ?? 'nothing of it runs';
}

export interface SimulateOptions {
  /** From its start until a simulated pod is ready; default 500. */
  readyAfterMs?: number;
  /** How long a simulated pod that has a piece of work to do takes for it; default 500. */
  workMs?: number;
  /** From its deletionTimestamp until it is removed; default 100. */
  stopAfterMs?: number;
  /** Pods that never become ready, for tests and demonstrations; default none. */
  isUnready?: (pod: Pod) => boolean;
}

export interface WhySimulated {
  reason: string;
  message: string;
}

/** Returns the first missing reference of a pod; undefined if all exist. */
export type FindMissing = (pod: Pod) => Promise<Missing | undefined>;

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
  findMissing: FindMissing,
  signal: AbortSignal,
): Promise<void> {
  const { clock, deletion } = context;
  const isUnready = options.isUnready?.(context.pod()) ?? false;
  if (!deletion.aborted) {
    await context.annotate({ [SIMULATED]: 'true' });
    let wait = options.readyAfterMs ?? 500;
    if (podCondition(context.pod(), SIMULATED_CONDITION)?.status !== 'True') {
      context.event({ reason: 'Simulated', note: `This pod is simulated, nothing of it runs: ${why.message}` });
      await context.setStatus((pod, now) => simulatedStatus(pod, placement, why, 'creating', now));
    } else wait -= clock.now() - parseTime(context.pod().status?.startTime ?? formatTime(clock.now()));
    const isInTime =
      podCondition(context.pod(), 'Ready')?.status === 'True' ||
      ((await waitForReferences(context, placement, why, findMissing, signal)) && (await pause(context, wait, signal)));
    if (isInTime) {
      const state = isUnready ? 'unready' : 'ready';
      const make = (pod: Pod, now: number) => simulatedStatus(pod, placement, why, state, now);
      await context.setStatus(make);
      const status = createStatusWriter(context, make);
      const off = context.onChange(() => {
        if (!context.deletion.aborted && isStatusBehind(context.pod())) status.changed();
      });
      const end = await simulatedEnd(context, options.workMs ?? 500, signal);
      off();
      await status.settled();
      if (end !== undefined) {
        await context.setStatus((pod, now) => endedStatus(pod, end, now));
        await untilAborted(AbortSignal.any([context.deletion, signal]));
      }
    }
  }
  if (signal.aborted) return;
  await sleep(clock, options.stopAfterMs ?? 100, signal).catch(() => {});
  if (!signal.aborted) await context.finalise();
}

const POLL_MS = 1_000;

/** Until everything that the pod names is there; false when the pod was deleted, or the node stopped, before. */
async function waitForReferences(
  context: PodContext,
  placement: Placement,
  why: WhySimulated,
  findMissing: FindMissing,
  signal: AbortSignal,
): Promise<boolean> {
  let reported = '';
  for (;;) {
    const missing = await findMissing(context.pod());
    if (missing === undefined) return true;
    if (missing.message !== reported) {
      reported = missing.message;
      const reason = missing.container === undefined ? 'FailedMount' : 'Failed';
      const note = missing.container === undefined ? missing.message : `Error: ${missing.message}`;
      context.event({ type: 'Warning', reason, note });
      await context.setStatus((pod, now) => simulatedStatus(pod, placement, why, 'creating', now, missing));
    }
    if (!(await pause(context, POLL_MS, signal))) return false;
  }
}

/** False when the pod was deleted, or the node stopped, before. */
async function pause({ clock, deletion }: PodContext, ms: number, signal: AbortSignal): Promise<boolean> {
  if (ms <= 0) return !deletion.aborted && !signal.aborted;
  return sleep(clock, ms, AbortSignal.any([deletion, signal])).then(
    () => true,
    () => false,
  );
}

function simulatedStatus(
  pod: Pod,
  { hostIP, podIP }: Placement,
  why: WhySimulated,
  state: 'creating' | 'ready' | 'unready',
  now: number,
  missing?: Missing,
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
    containerStatuses: containers.map((one) => containerStatus(pod, one, state, now, missing)),
    ...(initial.length > 0
      ? { initContainerStatuses: initial.map((one) => initStatus(pod, one, state, startTime)) }
      : {}),
  };
}

function containerStatus(
  pod: Pod,
  container: Container,
  state: string,
  now: number,
  missing: Missing | undefined,
): ContainerStatus {
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
      : { waiting: missing?.container === name ? configError(missing) : { reason: 'ContainerCreating' } },
    ...(isRunning ? { containerID: `simulated://${pod.metadata.uid}/${name}` } : {}),
  };
}

const configError = ({ message }: Missing) => ({ reason: 'CreateContainerConfigError', message });

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
