// Carries out what is left to do for one key, round by round: after each step the caches take in what was written, the diff
// is evaluated again, and the next step follows from that. So a crash between any two writes loses nothing, and a write
// that changed something else than expected is noticed at once.
import {
  type Clock,
  formatTime,
  isApiError,
  isTooManyRequests,
  type Kind,
  type KubeObject,
  kindId,
} from '@capstan/kube';
import type { Ownership } from '../diff/child-body.ts';
import { type ChildWrite, describe, type PendingGroup, type Trouble, type WriteSet } from '../diff/index.ts';
import { plainDigest } from '../digest.ts';
import type { EventInput } from '../plan/index.ts';
import { done, type Outcome, retry, retryAfter } from '../queue/index.ts';
import { WriteConflict } from './outcome.ts';
import { writeFinalizer, writeStatus } from './owner-writes.ts';
import { perform, rehearse, type Target } from './perform.ts';

/** What a key needs from one attempt to the next; lost with the process, and harmless to lose. */
export interface KeyState {
  quiet: { id: string; since: number } | undefined;
  secondLook: { id: string; since: number } | undefined;
  statusWrittenAt: number;
  /** Events of the current plan that have been told, or need not be. */
  told: ReadonlySet<string>;
}

export function createKeyState(): KeyState {
  return { quiet: undefined, secondLook: undefined, statusWrittenAt: Number.NEGATIVE_INFINITY, told: new Set() };
}

export interface Job {
  /** What is left to do, as of the last wave; undefined while suspended or when the object is gone. */
  writes(): WriteSet | undefined;
  /** The owner as the cache has it. */
  owner(): Ownership | undefined;
  /** Lets the caches take in what was written and evaluates again. */
  wave(): Promise<void>;
  /** Whether the caches of the kinds concerned are recent enough to delete on. */
  isFresh(): boolean;
  report(trouble: Trouble | undefined): void;
  tell(event: EventInput): void;
  written(write: ChildWrite | { verb: 'status' | 'finalizer' }): void;
  readonly state: KeyState;
  readonly target: Target;
  readonly manager: string;
  readonly finalizer: string;
  readonly clock: Clock;
  /** Whether we lead. Everybody computes; only the holder of the lease writes. */
  readonly mayWrite: () => boolean;
  /** Shows the diff an object that stands where a child should be. */
  readonly meetStranger: (kind: Kind, object: KubeObject) => void;
  cause(): string | undefined;
  readonly signal: AbortSignal;
}

/** Progress fields of a status go out at most this often. */
const PROGRESS_MS = 1000;
/** How long a removal of a large share of the inventory must stay wanted before it is believed. */
const SECOND_LOOK_MS = 5000;
const STALE_RETRY_MS = 1000;
/** More rounds than any plan has groups: past this something writes against us, and back-off is the answer. */
const MAX_ROUNDS = 30;

export async function carryOut(job: Job): Promise<Outcome> {
  const attempt: Attempt = { job, wrote: false, waitMs: undefined, failure: undefined };
  for (let round = 0; round < MAX_ROUNDS && !job.signal.aborted; round++) {
    // What is left is sent by whoever leads next, or by us when we lead again.
    if (!job.mayWrite()) return done;
    const writes = job.writes();
    const ownership = job.owner();
    if (writes === undefined || ownership === undefined) return outcomeOf(attempt);
    attempt.waitMs = undefined;
    const hasMoved = await step(attempt, writes, ownership);
    tellEvents(attempt, writes);
    if (!hasMoved) return outcomeOf(attempt);
    await job.wave();
  }
  return job.signal.aborted
    ? done
    : retry(new Error('the writes of this plan did not settle: something else writes against them'));
}

interface Attempt {
  readonly job: Job;
  /** Whether anything was written in this attempt. */
  wrote: boolean;
  waitMs: number | undefined;
  failure: unknown;
}

function outcomeOf({ failure, waitMs }: Attempt): Outcome {
  if (failure !== undefined) return retry(failure);
  return waitMs === undefined ? done : retryAfter(waitMs);
}

/** One step forward; false when there is nothing (more) to do now. */
async function step(attempt: Attempt, writes: WriteSet, ownership: Ownership): Promise<boolean> {
  const { job } = attempt;
  if (writes.finalizer === 'add')
    return ownerStep(attempt, () => writeFinalizer(ownerWrite(job, ownership), 'add', job.finalizer), 'finalizer');
  if (attempt.failure === undefined) {
    const group = writes.groups[0];
    if (group !== undefined) {
      if (await groupStep(attempt, group, ownership)) return true;
    } else if (writes.prune.length > 0) {
      if (mayPrune(attempt, writes) && (await performAll(attempt, writes.prune, ownership))) return true;
    } else if (writes.finalizer === 'remove') {
      return ownerStep(attempt, () => writeFinalizer(ownerWrite(job, ownership), 'remove', job.finalizer), 'finalizer');
    } else {
      job.report(undefined);
    }
  }
  return statusStep(attempt, ownership);
}

async function groupStep(attempt: Attempt, group: PendingGroup, ownership: Ownership): Promise<boolean> {
  if (!group.open || group.writes.length === 0) return false;
  if (!isQuiet(attempt, group)) return false;
  if (group.preflight) {
    for (const write of group.writes) {
      try {
        await rehearse(write, performanceOf(attempt.job, ownership));
      } catch (error) {
        fail(attempt, error, write, 'PreflightRefused');
        return true;
      }
    }
  }
  return performAll(attempt, group.writes, ownership);
}

/** True once what the group wants has stayed the same for its quiet period. Creations disturb nobody and need not wait. */
function isQuiet(attempt: Attempt, group: PendingGroup): boolean {
  if (
    group.quietMs <= 0 ||
    group.writes.every((write) => write.verb === 'create' || (write.verb === 'apply' && !write.exists))
  )
    return true;
  const { state, clock } = attempt.job;
  const id = writesId(group.writes);
  if (state.quiet?.id !== id) state.quiet = { id, since: clock.now() };
  const left = state.quiet.since + group.quietMs - clock.now();
  if (left > 0) attempt.waitMs = left;
  return left <= 0;
}

/** Pruning is careful: on fresh caches only, and a large share at once only if it is still wanted a while later. */
function mayPrune(attempt: Attempt, { prune, groups }: WriteSet): boolean {
  const { job } = attempt;
  const { state, clock } = job;
  if (!job.isFresh()) {
    attempt.waitMs = STALE_RETRY_MS;
    return false;
  }
  const isDeleting = job.owner()?.object.metadata.deletionTimestamp !== undefined;
  if (isDeleting || prune.length < LARGE_SHARE || groups.length > 0) return true;
  const id = writesId(prune);
  if (state.secondLook?.id !== id) state.secondLook = { id, since: clock.now() };
  const left = state.secondLook.since + SECOND_LOOK_MS - clock.now();
  if (left > 0) attempt.waitMs = left;
  return left <= 0;
}

/** So many children at once are looked at twice before they go. */
const LARGE_SHARE = 5;

async function performAll(attempt: Attempt, writes: readonly ChildWrite[], ownership: Ownership): Promise<boolean> {
  const { job } = attempt;
  const results = await Promise.allSettled(writes.map((write) => perform(write, performanceOf(job, ownership))));
  for (const [index, result] of results.entries()) {
    const write = writes[index] as ChildWrite;
    if (result.status === 'fulfilled') {
      attempt.wrote = true;
      job.written(write);
    } else if (!(result.reason instanceof WriteConflict && result.reason.isTransient)) {
      fail(attempt, result.reason, write, 'WriteRefused');
    }
  }
  job.state.quiet = undefined;
  return true;
}

function fail(attempt: Attempt, error: unknown, write: ChildWrite, reason: Trouble['reason']): void {
  attempt.failure ??= error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof WriteConflict) attempt.job.report({ reason: 'Conflict', message });
  // What passes by itself (no answer, overload) is retried and not worth a status.
  else if (isApiError(error) && error.code < 500 && !isTooManyRequests(error)) {
    attempt.job.report({ reason, message: `${describe(write.kind, write.ref)}: ${message}` });
  }
}

async function ownerStep(
  attempt: Attempt,
  write: () => Promise<boolean>,
  verb: 'status' | 'finalizer',
): Promise<boolean> {
  try {
    if (await write()) {
      attempt.wrote = true;
      attempt.job.written({ verb });
    }
    return true;
  } catch (error) {
    attempt.failure ??= error;
    return false;
  }
}

async function statusStep(attempt: Attempt, ownership: Ownership): Promise<boolean> {
  const { job } = attempt;
  // A report of trouble changes what the status should say: evaluate again before writing it.
  await job.wave();
  const status = job.writes()?.status;
  const current = job.owner();
  if (status === undefined || current === undefined) return false;
  const { state, clock } = job;
  const left = state.statusWrittenAt + PROGRESS_MS - clock.now();
  if (!status.isUrgent && left > 0) {
    attempt.waitMs = Math.min(left, attempt.waitMs ?? left);
    return false;
  }
  const isWritten = await ownerStep(
    attempt,
    () => writeStatus(ownerWrite(job, current ?? ownership), status, () => formatTime(clock.now())),
    'status',
  );
  if (isWritten) state.statusWrittenAt = clock.now();
  // A failure that has been reported ends the attempt: the retry follows with its back-off.
  return isWritten && attempt.failure === undefined;
}

/** Events accompany writes: a restart on a settled object repeats none of them. */
function tellEvents({ job, wrote }: Attempt, { events }: WriteSet): void {
  const current = new Set(events.map((event) => JSON.stringify([event.type, event.reason, event.note])));
  if (wrote)
    for (const event of events)
      if (!job.state.told.has(JSON.stringify([event.type, event.reason, event.note]))) job.tell(event);
  job.state.told = current;
}

function ownerWrite(job: Job, { object, owner }: Ownership) {
  return { target: job.target, kind: owner.kind, object, manager: job.manager, signal: job.signal };
}

function performanceOf(job: Job, ownership: Ownership) {
  const { target, manager, meetStranger, signal } = job;
  return { target, manager, meetStranger, ownership, cause: job.cause(), signal };
}

/** What a list of writes wants, by value. */
function writesId(writes: readonly ChildWrite[]): string {
  return plainDigest(
    writes.map((write) => [
      write.verb,
      kindId(write.kind),
      write.ref,
      'body' in write ? write.body : undefined,
      'operations' in write ? write.operations : undefined,
    ]),
  );
}
