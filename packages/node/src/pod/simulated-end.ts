// How a simulated pod ends by itself: one that is there to do a piece of work has done it after a moment, and no pod outlives
// its deadline.
import { type Clock, formatTime, type Pod, type PodStatus, parseTime, sleep, untilAborted } from '@capstan/kube';
import { controllerOf } from '../controller/ownership.ts';
import { readinessConditions, withConditions } from './conditions.ts';
import type { PodContext } from './pod-context.ts';

export type SimulatedEnd = 'Succeeded' | 'DeadlineExceeded';

/** Undefined when the pod is deleted, or the node stops, before. */
export async function simulatedEnd(
  context: PodContext,
  workMs: number,
  signal: AbortSignal,
): Promise<SimulatedEnd | undefined> {
  const { clock } = context;
  const end = AbortSignal.any([signal, context.deletion]);
  const since = clock.now();
  for (;;) {
    if (end.aborted) return undefined;
    const pod = context.pod();
    const deadline = deadlineOf(pod);
    const done = isForWork(pod) ? since + workMs : Number.POSITIVE_INFINITY;
    if (clock.now() >= deadline) return 'DeadlineExceeded';
    if (clock.now() >= done) return 'Succeeded';
    // A deadline may be set or changed while the pod runs.
    const changed = new AbortController();
    const off = context.onChange(() => changed.abort());
    await until(clock, Math.min(deadline, done), AbortSignal.any([end, changed.signal]));
    off();
  }
}

/** A pod of a Job, or one with a command that is not repeated: the test of a chart, or `kubectl run --restart Never -- COMMAND`. */
function isForWork(pod: Pod): boolean {
  if ((pod.spec?.restartPolicy ?? 'Always') === 'Always') return false;
  const hasCommand = (pod.spec?.containers ?? []).some(
    ({ command = [], args = [] }) => command.length + args.length > 0,
  );
  return controllerOf(pod)?.kind === 'Job' || hasCommand;
}

function deadlineOf({ spec, status }: Pod): number {
  const seconds = spec?.activeDeadlineSeconds;
  if (seconds === undefined || status?.startTime === undefined) return Number.POSITIVE_INFINITY;
  return parseTime(status.startTime) + seconds * 1000;
}

function until(clock: Clock, time: number, signal: AbortSignal): Promise<void> {
  if (Number.isFinite(time)) return sleep(clock, Math.max(0, time - clock.now()), signal).catch(() => {});
  return untilAborted(signal);
}

export function endedStatus(pod: Pod, end: SimulatedEnd, now: number): PodStatus {
  const isFailed = end === 'DeadlineExceeded';
  const names = (pod.spec?.containers ?? []).map(({ name }) => name);
  const conditions = readinessConditions(pod, { isInitialized: true, unready: names });
  const reason = isFailed ? 'PodFailed' : 'PodCompleted';
  return {
    ...pod.status,
    phase: isFailed ? 'Failed' : 'Succeeded',
    ...(isFailed && { reason: end, message: 'Pod was active on the node longer than the specified deadline' }),
    conditions: withConditions(
      pod.status?.conditions,
      conditions.map((one) => (one.status === 'True' ? one : { ...one, reason })),
      now,
    ),
    containerStatuses: (pod.status?.containerStatuses ?? []).map((one) => ({
      ...one,
      ready: false,
      started: false,
      state: {
        terminated: {
          exitCode: isFailed ? 137 : 0,
          reason: isFailed ? 'Error' : 'Completed',
          startedAt: one.state?.running?.startedAt ?? formatTime(now),
          finishedAt: formatTime(now),
          ...(one.containerID !== undefined && { containerID: one.containerID }),
        },
      },
    })),
  };
}
