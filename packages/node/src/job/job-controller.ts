// Job: pods until enough of them have succeeded. Finished pods are counted as they are found; those that were deleted before
// count no more, so a Job whose pods are deleted while it runs makes new ones.
import {
  backOff,
  equal,
  formatTime,
  Job,
  type JobCondition,
  type JobStatus,
  keyOf,
  keyOfObject,
  Pod,
  parseTime,
} from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { controllerOf, createOwnership } from '../controller/ownership.ts';
import { isActive, isPodReady, isTerminating, podFromTemplate } from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';

const INDEX = 'batch.kubernetes.io/job-completion-index';
const BACK_OFF = { firstMs: 10_000, longestMs: 600_000 };

export function jobController(tools: Toolkit): Controller {
  const { clock, write } = tools;
  const jobs = tools.cache(Job);
  const pods = createOwnership(tools.cache(Pod));

  async function remove(job: Job, active: readonly Pod[]): Promise<void> {
    for (const pod of active) {
      await write.remove(Pod, pod);
      tools.event(job, { reason: 'SuccessfulDelete', note: `Deleted pod: ${pod.metadata.name}` });
    }
  }

  async function create(job: Job, indexes: readonly (number | undefined)[]): Promise<void> {
    for (const index of indexes) {
      const pod = await write.create(Pod, podOf(job, index));
      tools.event(job, { reason: 'SuccessfulCreate', note: `Created pod: ${pod.metadata.name}` });
    }
  }

  async function finish(job: Job, status: JobStatus, active: readonly Pod[], end: JobEnd): Promise<void> {
    await remove(job, active);
    const now = formatTime(clock.now());
    const condition = { type: end.type, status: 'True', lastProbeTime: now, lastTransitionTime: now };
    const why = { reason: end.reason, message: end.message };
    const others = (status.conditions ?? []).filter(({ type }) => type !== 'Suspended');
    await writeStatus(job, {
      ...status,
      active: 0,
      ready: 0,
      terminating: 0,
      conditions: [...others, { ...condition, ...why }],
      ...(end.type === 'Complete' && { completionTime: now }),
    });
    const isDone = end.type === 'Complete';
    tools.event(job, {
      type: isDone ? 'Normal' : 'Warning',
      reason: isDone ? 'Completed' : end.reason,
      note: isDone ? 'Job completed' : end.message,
    });
  }

  async function writeStatus(job: Job, status: JobStatus): Promise<void> {
    const current = jobs.get(keyOfObject(job)) ?? job;
    if (!equal(withoutZeros(status), current.status ?? {})) {
      await write.updateStatus(Job, { ...current, status: withoutZeros(status) });
    }
  }

  return {
    name: 'job',
    concurrency: 5,
    sources: [
      source(tools, Job, (job) => [keyOfObject(job)]),
      source(tools, Pod, (pod) => {
        const owner = controllerOf(pod);
        return owner?.kind === 'Job' ? [keyOf({ namespace: pod.metadata.namespace ?? '', name: owner.name })] : [];
      }),
    ],
    async reconcile(key) {
      const job = jobs.get(key);
      if (job === undefined || isTerminating(job)) return undefined;
      const ended = (job.status?.conditions ?? []).find(isEnd);
      if (ended) return expire(job, ended);
      const now = clock.now();
      const all = pods.of(job);
      const count = countOf(job, all);
      const active = all.filter(isActive);
      const isSuspended = job.spec?.suspend === true;
      const startTime = isSuspended ? undefined : (job.status?.startTime ?? formatTime(now));
      const status: JobStatus = {
        ...job.status,
        active: active.length,
        ready: active.filter(isPodReady).length,
        terminating: all.filter((pod) => isTerminating(pod)).length,
        succeeded: count.succeeded,
        failed: count.failed,
        uncountedTerminatedPods: {},
        ...(job.spec?.completionMode === 'Indexed' && { completedIndexes: rangesOf(count.doneIndexes) }),
      };
      if (startTime === undefined) delete status.startTime;
      else status.startTime = startTime;
      status.conditions = suspension(job, isSuspended, now);
      const end = isSuspended ? undefined : endOf(job, count, status, now);
      if (end) {
        await finish(job, status, active, end);
        return undefined;
      }
      if (isSuspended) await remove(job, active);
      else {
        const wait = backOffMs(all, count.failed, now);
        if (wait > 0) {
          await writeStatus(job, status);
          return wait;
        }
        await fit(job, active, count);
      }
      const present = pods.of(job).filter(isActive);
      await writeStatus(job, { ...status, active: present.length, ready: present.filter(isPodReady).length });
      return untilDeadline(job, startTime, now);
    },
  };

  /** As many pods as may run at once and are still needed. */
  async function fit(job: Job, active: readonly Pod[], count: Count): Promise<void> {
    const { parallelism = 1, completions } = job.spec ?? {};
    const needed =
      completions === undefined ? (count.succeeded > 0 ? active.length : parallelism) : completions - count.succeeded;
    const wanted = Math.max(0, Math.min(parallelism, needed));
    if (active.length > wanted) await remove(job, active.slice(wanted));
    if (active.length >= wanted) return;
    await create(job, newIndexes(job, active, count, wanted - active.length));
  }

  /** Deletes a finished job when its time has come, if it has one. */
  async function expire(job: Job, { lastTransitionTime }: JobCondition): Promise<number | undefined> {
    const seconds = job.spec?.ttlSecondsAfterFinished;
    if (seconds === undefined || lastTransitionTime === undefined) return undefined;
    const left = parseTime(lastTransitionTime) + seconds * 1000 - clock.now();
    if (left > 0) return left;
    await write.remove(Job, job, { propagationPolicy: 'Foreground' });
    return undefined;
  }
}

interface JobEnd {
  type: 'Complete' | 'Failed';
  reason: string;
  message: string;
}

interface Count {
  succeeded: number;
  failed: number;
  doneIndexes: ReadonlySet<number>;
}

const isEnd = ({ type, status }: JobCondition) => status === 'True' && (type === 'Complete' || type === 'Failed');

function countOf({ spec, status }: Job, all: readonly Pod[]): Count {
  const succeeded = all.filter((pod) => pod.status?.phase === 'Succeeded');
  const doneIndexes = new Set(spec?.completionMode === 'Indexed' ? succeeded.flatMap(indexOf) : []);
  const failed = all.filter((pod) => pod.status?.phase === 'Failed').length;
  return {
    succeeded:
      spec?.completionMode === 'Indexed' ? doneIndexes.size : Math.max(succeeded.length, status?.succeeded ?? 0),
    failed: Math.max(failed, status?.failed ?? 0),
    doneIndexes,
  };
}

function endOf({ spec }: Job, count: Count, status: JobStatus, now: number): JobEnd | undefined {
  const { completions, backoffLimit = 6, activeDeadlineSeconds } = spec ?? {};
  const isDone =
    completions === undefined ? count.succeeded > 0 && status.active === 0 : count.succeeded >= completions;
  if (isDone) {
    const message = 'Reached expected number of succeeded pods';
    return { type: 'Complete', reason: 'CompletionsReached', message };
  }
  if (count.failed > backoffLimit) {
    const message = 'Job has reached the specified backoff limit';
    return { type: 'Failed', reason: 'BackoffLimitExceeded', message };
  }
  const started = status.startTime === undefined ? now : parseTime(status.startTime);
  if (activeDeadlineSeconds !== undefined && now - started >= activeDeadlineSeconds * 1000) {
    return { type: 'Failed', reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  }
  return undefined;
}

function untilDeadline({ spec }: Job, startTime: string | undefined, now: number): number | undefined {
  if (spec?.activeDeadlineSeconds === undefined || startTime === undefined) return undefined;
  return Math.max(1, parseTime(startTime) + spec.activeDeadlineSeconds * 1000 - now);
}

function suspension({ status }: Job, isSuspended: boolean, now: number): JobCondition[] {
  const conditions = status?.conditions ?? [];
  const current = conditions.find(({ type }) => type === 'Suspended');
  if ((current?.status === 'True') === isSuspended) return conditions;
  const time = formatTime(now);
  const next: JobCondition = {
    type: 'Suspended',
    status: isSuspended ? 'True' : 'False',
    reason: isSuspended ? 'JobSuspended' : 'JobResumed',
    message: isSuspended ? 'Job suspended' : 'Job resumed',
    lastProbeTime: time,
    lastTransitionTime: time,
  };
  return [...conditions.filter((one) => one !== current), next];
}

/** Longer after each failure, counted from the last one. */
function backOffMs(all: readonly Pod[], failures: number, now: number): number {
  if (failures === 0) return 0;
  const times = all
    .filter((pod) => pod.status?.phase === 'Failed')
    .flatMap(({ status }) => status?.containerStatuses?.map((one) => one.state?.terminated?.finishedAt) ?? [])
    .flatMap((time) => (time === undefined ? [] : [parseTime(time)]));
  if (times.length === 0) return 0;
  const delay = backOff(failures, BACK_OFF);
  return Math.max(0, Math.max(...times) + delay - now);
}

function podOf(job: Job, index: number | undefined): Pod {
  const pod = podFromTemplate(job, job.spec?.template ?? {});
  const { name = '' } = job.metadata;
  if (index === undefined || !pod.spec) return pod;
  const annotations = { ...pod.metadata.annotations, [INDEX]: String(index) };
  const labels = { ...pod.metadata.labels, [INDEX]: String(index) };
  const valueFrom = { fieldRef: { fieldPath: `metadata.annotations['${INDEX}']` } };
  const variable = { name: 'JOB_COMPLETION_INDEX', valueFrom };
  return {
    ...pod,
    metadata: { ...pod.metadata, generateName: `${name}-${index}-`, annotations, labels },
    spec: {
      ...pod.spec,
      hostname: `${name}-${index}`,
      containers: pod.spec.containers.map((one) => ({ ...one, env: [...(one.env ?? []), variable] })),
    },
  };
}

function newIndexes({ spec }: Job, active: readonly Pod[], { doneIndexes }: Count, count: number) {
  if (spec?.completionMode !== 'Indexed') return Array.from({ length: count }, () => undefined);
  const taken = new Set([...doneIndexes, ...active.flatMap(indexOf)]);
  const free = Array.from({ length: spec.completions ?? 0 }, (_, index) => index).filter((one) => !taken.has(one));
  return free.slice(0, count);
}

function indexOf({ metadata }: Pod): number[] {
  const text = metadata.annotations?.[INDEX];
  return text !== undefined && /^\d+$/.test(text) ? [Number(text)] : [];
}

/** As in `0-2,5`. */
function rangesOf(indexes: ReadonlySet<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of [...indexes].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

/** The API leaves counts out that are zero, except for those that tell that they were counted. */
function withoutZeros(status: JobStatus): JobStatus {
  const { active, succeeded, failed, conditions = [], ...rest } = status;
  return {
    ...rest,
    ...(active ? { active } : {}),
    ...(succeeded ? { succeeded } : {}),
    ...(failed ? { failed } : {}),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}
