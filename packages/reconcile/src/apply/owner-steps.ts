// The steps of an attempt that write to the owner itself: its finalizer and its status.
import { equal, formatTime, type KubeObject } from '@capstan/kube/cluster';
import { type StatusWrite } from '../diff/index.ts';
import { ApplyErrors } from '../errors.ts';
import type { Ownership } from '../ownership/index.ts';
import type { StatusInput } from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';
import { type Attempt, PROGRESS_MS, reportRefusal, written } from './attempt.ts';
import { type Job } from './job.ts';
import { reportNews } from './new-events.ts';
import { writeFinalizer, writeStatus } from './owner-writes.ts';

export async function finalizerStep(attempt: Attempt, change: 'add' | 'remove'): Promise<boolean> {
  const { job } = attempt;
  try {
    await job.inTurn(async (hasWaited) => {
      if (hasWaited) await job.wave();
      const ownership = job.owner?.();
      if (ownership === undefined || job.writes()?.finalizer !== change || !job.mayWrite()) return;
      if (await writeFinalizer(ownerWrite(job, ownership), change, job.finalizer)) written(attempt, 'finalizer');
    });
    return true;
  } catch (error) {
    attempt.failure ??= error;
    reportRefusal(attempt, error, '', 'WriteRefused');
    return false;
  }
}

export async function statusStep(attempt: Attempt): Promise<boolean> {
  const { job } = attempt;
  // A reported failure changes the status: evaluate again before writing it.
  await job.wave();
  if (job.writes()?.status === undefined) {
    if (!job.state.dropsStatus || attempt.failure !== undefined) return false;
    job.state.dropsStatus = false;
    job.report(undefined);
    return true;
  }
  return job.inTurn(async (hasWaited) => {
    if (hasWaited) await job.wave();
    return sendStatus(attempt);
  });
}

async function sendStatus(attempt: Attempt): Promise<boolean> {
  const { job } = attempt;
  attempt.basis = job.writes() ?? attempt.basis;
  const status = job.writes()?.status;
  const ownership = job.owner?.();
  if (status === undefined || ownership === undefined || !job.mayWrite()) return false;
  const { state, clock } = job;
  const left = state.statusWrittenAt + PROGRESS_MS - clock.now();
  if (!status.isUrgent && left > 0) {
    attempt.waitMs = Math.min(left, attempt.waitMs ?? left);
    return false;
  }
  if (equal(status, attempt.statusSent)) {
    return notKept(attempt, status, ownership);
  }
  // The status records the reported events: a process that ends between the two reports them again, rather than never.
  state.reported = reportNews(attempt.basis, state.reported, true, (event) => job.notify(event));
  try {
    const isWritten = await writeStatus(ownerWrite(job, ownership), status, () => formatTime(clock.now()));
    if (isWritten) {
      attempt.statusSent = status;
      state.statusWrittenAt = clock.now();
      written(attempt, 'status');
    }
  } catch (error) {
    attempt.failure ??= error;
    return false;
  }
  return true;
}

/** The server took the status and dropped a part of it: that is shown in a part that it keeps, and as an Event. */
function notKept(attempt: Attempt, { input }: StatusWrite, { object }: Ownership): boolean {
  const { job } = attempt;
  const { status } = object as KubeObject & { status?: StatusInput };
  const lost = Object.keys(input).filter((field) => mergeStatus(status, { [field]: input[field] }) !== status);
  const error = ApplyErrors.StatusNotKept(lost.length > 0 ? lost : ['conditions']);
  attempt.failure ??= error;
  if (job.state.dropsStatus) return false;
  job.state.dropsStatus = true;
  job.report({ reason: 'WriteRefused', message: error.message });
  job.notify({ type: 'Warning', reason: 'StatusNotKept', note: error.message });
  return true;
}

function ownerWrite({ target, manager, signal }: Job, { object, owner }: Ownership) {
  return { target, kind: owner.kind, object, manager, signal };
}
