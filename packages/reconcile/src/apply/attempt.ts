// One attempt to carry out the writes of a key: its budget, its failures and the reports of both.
import { isApiError, isTooManyRequests, reasonOf } from '@capstan/kube/cluster';
import { type ChildWrite, describe, type Failure, type StatusWrite, type WriteSet } from '../diff/index.ts';
import { ApplyErrors } from '../errors.ts';
import { type Job } from './job.ts';
import { isNotMade } from './mint.ts';
import { WriteConflict } from './outcome.ts';
import { writesId } from './patience.ts';

/** Work of an author that lasts longer is shown on the resource, and no longer takes the place of a worker. */
export const SHOWN_AFTER_MS = 2000;

/** Progress fields of a status go out at most this often. */
export const PROGRESS_MS = 1000;

/** How long a key whose plan changes all the time keeps a worker for which others wait. */
export const TURN_MS = 250;

export interface Attempt {
  readonly job: Job;
  hasWritten: boolean;
  /** The writes that the last step was built from: its events go with it. */
  basis: WriteSet;
  /** When to look again, if nothing changes before. */
  waitMs?: number | undefined;
  failure?: unknown;
  /** Writes whose ground had shifted once: when they come again as they were, planning again is no help. */
  readonly stumbled: Set<string>;
  statusSent?: StatusWrite;
}

export function isOver(attempt: Attempt, left: number): boolean {
  if (left > 0) attempt.waitMs = left;
  return left <= 0;
}

export function stumble(attempt: Attempt, write: ChildWrite): void {
  const id = writesId([write]);
  if (attempt.stumbled.has(id)) {
    const error = ApplyErrors.NotAsShown(describe(write.kind, write.ref));
    attempt.failure ??= error;
    attempt.job.refused?.(write, error);
    reportRefusal(attempt, error, '', 'WriteRefused');
  }
  attempt.stumbled.add(id);
}

export function fail(attempt: Attempt, error: unknown, write: ChildWrite, reason: Failure['reason']): void {
  if (attempt.failure === undefined || attempt.failure instanceof WriteConflict) attempt.failure = error;
  const { job } = attempt;
  if (!job.signal.aborted) job.refused?.(write, error);
  if (error instanceof WriteConflict) job.report({ reason: 'Conflict', message: error.message });
  else if (isNotMade(error) && job.state.waiting !== undefined)
    job.report({ reason: 'Waiting', message: job.state.waiting });
  else reportRefusal(attempt, error, `${describe(write.kind, write.ref)}: `, reason);
}

/** A failure that often passes by itself (no answer, overload) is worth a status when the second attempt fails too. */
export function reportRefusal({ job }: Attempt, error: unknown, subject: string, reason: Failure['reason']): void {
  if (job.signal.aborted) return;
  const mayPass = !isApiError(error) || error.code >= 500 || isTooManyRequests(error);
  if (!mayPass || job.state.failed !== undefined) job.report({ reason, message: `${subject}${reasonOf(error)}` });
}

export function written(attempt: Attempt, verb: 'status' | 'finalizer'): void {
  attempt.hasWritten = true;
  attempt.job.written({ verb });
}
