// Carries out the remaining writes of one key, round by round: after each step the caches take in the result, the diff is evaluated again,
// and the next step follows from that. So a crash between any two writes loses nothing, and a write with an unexpected result is noticed at
// once.
import { formatTime, kindId, reasonOf } from '@capstan/kube/cluster';
import {
  type ChildWrite,
  type DeleteWrite,
  describe,
  type MintWrite,
  NOTHING,
  type PendingGroup,
  type WriteSet,
} from '../diff/index.ts';
import { plainDigest } from '../digest.ts';
import { ApplyErrors } from '../errors.ts';
import type { Ownership } from '../ownership/index.ts';
import { done, type Outcome, retry, retryAfter, terminal } from '../queue/index.ts';
import { atMost } from '../within.ts';
import { type Attempt, fail, isOver, reportRefusal, SHOWN_AFTER_MS, stumble, TURN_MS } from './attempt.ts';
import { inOrder } from './in-order.ts';
import { inTurns } from './in-turns.ts';
import { failedAgain, type Job, type KeyState, NONE } from './job.ts';
import { isNotMade } from './mint.ts';
import { reportNews } from './new-events.ts';
import { nextStep } from './next-step.ts';
import { LeaseLost, WriteConflict } from './outcome.ts';
import { finalizerStep, statusStep } from './owner-steps.ts';
import {
  isLargeShare,
  needsQuiet,
  type PendingWrite,
  pendingWrite,
  quietTimeLeft,
  RECHECK_MS,
  timeLeft,
  writesId,
} from './patience.ts';
import { perform, rehearse } from './perform.ts';
import { type Performance } from './sending.ts';

const STALE_RETRY_MS = 1000;

/** More rounds than any plan has groups: past this something writes against us, and back-off is the answer. */
const MAX_ROUNDS = 30;

/** The least time between two of the same kind of minting. */
const MINT_REST_MS = 10_000;

/** How many writes of one group are under way at the same time. */
const AT_ONCE = 16;

/** Brings one key as far as it can be brought now, or as one turn of it goes where other keys wait. */
export async function carryOut(job: Job): Promise<Outcome> {
  const attempt: Attempt = { job, hasWritten: false, basis: NOTHING, stumbled: new Set() };
  const { state, clock } = job;
  const [started, first] = [clock.now(), job.writes()];
  for (let round = state.rounds; round < MAX_ROUNDS && !job.signal.aborted; round++) {
    // The next leader sends the rest, or this process when it leads again.
    if (!job.mayWrite()) return done;
    const writes = job.writes();
    const ownership = job.owner?.();
    if (writes === undefined || (job.owner !== undefined && ownership === undefined)) return outcomeOf(attempt);
    attempt.waitMs = undefined;
    attempt.basis = writes;
    const hasMoved = await step(attempt, writes, ownership);
    job.state.reported = reportNews(attempt.basis, job.state.reported, attempt.hasWritten, (event) =>
      job.notify(event),
    );
    if (!hasMoved) return outcomeOf(attempt);
    await job.wave();
    if (clock.now() - started < TURN_MS || !job.isAwaited()) continue;
    // One whose plan changes meanwhile is not stuck, however many turns it takes.
    state.rounds = leftToDo(job.writes()) === leftToDo(first) ? round + 1 : 0;
    return retryAfter(0, { keepsFailures: state.failed !== undefined });
  }
  state.rounds = 0;
  if (job.signal.aborted) return done;
  attempt.failure = ApplyErrors.Unsettled(MAX_ROUNDS);
  reportRefusal(attempt, attempt.failure, '', 'WriteRefused');
  await statusStep(attempt);
  return outcomeOf(attempt);
}

function outcomeOf({ job, failure, waitMs }: Attempt): Outcome {
  const { state } = job;
  const writes = job.writes();
  state.rounds = 0;
  // A retry would be refused again until the object changes; then the diff reports it.
  if (failure instanceof WriteConflict) return terminal(failure);
  if (failure !== undefined) {
    state.failed = failedAgain(state, leftToDo(writes), job.clock, job.retries);
    return retry(failure);
  }
  if (waitMs !== undefined) return retryAfter(waitMs, { keepsFailures: state.failed !== undefined });
  if (writes?.threw === undefined) state.failed = undefined;
  return done;
}

function leftToDo(writes: WriteSet | undefined): string {
  return writes === undefined ? '' : workId(writes);
}

/** Identifies the remaining writes, without the status: that shows the failure, and may word it differently each time. */
function workId({ finalizer, groups, prune }: WriteSet): string {
  return `${finalizer ?? ''} ${writesId([...groups.flatMap(({ writes }) => writes), ...prune])}`;
}

/** Milliseconds until the failed writes may be tried again; 0 if the remaining writes are different by now. */
function backOffLeft({ state: { failed }, clock }: Job, writes: WriteSet): number {
  if (failed === undefined || failed.until <= clock.now()) return 0;
  return failed.id === workId(writes) ? failed.until - clock.now() : 0;
}

/** One step forward; false when there is nothing (more) to do now. */
async function step(attempt: Attempt, writes: WriteSet, ownership: Ownership | undefined): Promise<boolean> {
  const left = attempt.failure === undefined ? backOffLeft(attempt.job, writes) : 0;
  if (left > 0) attempt.waitMs = left;
  else if (attempt.failure === undefined) {
    const hasMoved = await workStep(attempt, writes, ownership);
    if (hasMoved) return true;
    // No write is being tried that could be refused: the reported problem has ended.
    if (attempt.failure === undefined && attempt.waitMs === undefined && !attempt.job.state.dropsStatus)
      attempt.job.report(undefined);
  }
  return statusStep(attempt);
}

async function workStep(attempt: Attempt, writes: WriteSet, ownership: Ownership | undefined): Promise<boolean> {
  const next = nextStep(writes);
  if (next?.what !== 'finalizer' || next.change !== 'add') watchPending(attempt, writes.groups);
  if (next === undefined) return false;
  switch (next.what) {
    case 'finalizer':
      return finalizerStep(attempt, next.change);
    case 'group':
      return groupStep(attempt, next.group);
    case 'prune':
      return mayPrune(attempt, writes, ownership) && pruneStep(attempt, next.writes);
  }
}

async function groupStep(attempt: Attempt, group: PendingGroup): Promise<boolean> {
  if (!group.open || group.writes.length === 0 || !isQuiet(attempt, group)) return false;
  if (group.preflight && !(await isAccepted(attempt, group))) return true;
  const writes = group.writes.filter((write) => !isDueAgain(attempt, write));
  if (writes.length === 0) return false;
  const hasMoved = await performAll(attempt, writes);
  // A refused write has been quiet for long enough when it is tried again.
  if (attempt.failure === undefined) forgetPending(attempt.job.state, group);
  return hasMoved;
}

/**
 * Watches waiting groups together, not one after the other: the second has been quiet for as long as the first, and follows it at once.
 * Writes of another group meanwhile restart no quiet period.
 */
function watchPending({ job: { state, clock } }: Attempt, groups: readonly PendingGroup[]): void {
  const wanted = new Map<string, PendingWrite>();
  for (const group of groups)
    if (group.open && group.writes.length > 0 && needsQuiet(group) && !wanted.has(group.name))
      wanted.set(group.name, pendingWrite(group.writes, state.quiet.get(group.name), group.quietMs, clock));
  state.quiet = wanted.size > 0 ? wanted : NONE;
}

function forgetPending(state: KeyState, group: PendingGroup): void {
  if (state.quiet.has(group.name)) state.quiet = new Map([...state.quiet].filter(([name]) => name !== group.name));
}

/** True once the wanted writes of the group have stayed the same for their quiet period, or have changed all the time for ten of them. */
function isQuiet(attempt: Attempt, group: PendingGroup): boolean {
  if (!needsQuiet(group)) return true;
  const { state, clock } = attempt.job;
  const pending = state.quiet.get(group.name);
  return pending !== undefined && isOver(attempt, quietTimeLeft(pending, group.quietMs, clock));
}

/** Pruning is careful: on fresh caches only, and a large share at once only if it is still wanted a while later. */
function mayPrune(attempt: Attempt, writes: WriteSet, ownership: Ownership | undefined): boolean {
  const { job } = attempt;
  const { state, clock } = job;
  if (!job.isFresh()) return isOver(attempt, STALE_RETRY_MS);
  const isDeleting = ownership?.object.metadata.deletionTimestamp !== undefined;
  if (isDeleting || !isLargeShare(writes)) return true;
  state.recheck = pendingWrite(writes.prune, state.recheck, RECHECK_MS, clock);
  return isOver(attempt, timeLeft(state.recheck, RECHECK_MS, clock));
}

/** In a world whose caches are old nothing is removed; elsewhere it is. */
async function pruneStep(attempt: Attempt, writes: readonly DeleteWrite[]): Promise<boolean> {
  const fresh = writes.filter(({ kind }) => attempt.job.isFresh(kind));
  if (fresh.length < writes.length) isOver(attempt, STALE_RETRY_MS);
  return fresh.length > 0 && performAll(attempt, fresh);
}

/** The pre-flight: nothing of a group goes out before the server would take all of it. */
async function isAccepted(attempt: Attempt, { writes }: PendingGroup): Promise<boolean> {
  for (const write of writes) {
    try {
      if (await rehearse(write, performanceOf(attempt, write))) continue;
      stumble(attempt, write);
    } catch (error) {
      if (!(error instanceof LeaseLost)) fail(attempt, error, write, 'PreflightRefused');
    }
    return false;
  }
  return true;
}

async function performAll(attempt: Attempt, writes: readonly ChildWrite[]): Promise<boolean> {
  const { job } = attempt;
  const carry = async (write: ChildWrite) => {
    try {
      await job.pace?.(job.signal);
      if (!(await perform(write, performanceOf(attempt, write)))) {
        stumble(attempt, write);
        return;
      }
      attempt.hasWritten = true;
      if (write.verb === 'mint') noteMint(job, write);
      job.written(write);
    } catch (error) {
      if (!(error instanceof LeaseLost)) fail(attempt, error, write, 'WriteRefused');
    }
  };
  for (const together of inOrder(writes)) await inTurns(AT_ONCE, together, carry);
  return true;
}

function noteMint({ state, clock }: Job, write: MintWrite): void {
  const now = clock.now();
  const recent = [...state.mintedAt].filter(([, at]) => at + MINT_REST_MS > now);
  state.mintedAt = new Map([...recent, [mintId(write), now]]);
}

/**
 * Whether a value would be minted again from the same inputs: a value that is due again at once (a wrong clock, times in the past) would be
 * created in a circle, since our own write wakes us. That is reported, and tried again later.
 */
function isDueAgain(attempt: Attempt, write: ChildWrite): boolean {
  if (write.verb !== 'mint' || write.existing === undefined) return false;
  const { job } = attempt;
  const left = (job.state.mintedAt.get(mintId(write)) ?? Number.NEGATIVE_INFINITY) + MINT_REST_MS - job.clock.now();
  if (left <= 0) return false;
  attempt.waitMs = Math.min(left, attempt.waitMs ?? left);
  job.report({
    reason: 'WriteRefused',
    message: ApplyErrors.DueAgain(describe(write.kind, write.ref), write.minter.name).message,
  });
  return true;
}

function mintId({ kind, ref, minter, inputs }: MintWrite): string {
  return plainDigest([kindId(kind), ref, minter.name, inputs]);
}

/** Waits for work of an author. When it lasts, the resource shows since when, and another key gets the worker's place. */
async function awaiting<T>(attempt: Attempt, write: ChildWrite, name: string, work: Promise<T>): Promise<T> {
  const { job } = attempt;
  const { state, clock } = job;
  const since = clock.now();
  if (!(await atMost(clock, SHOWN_AFTER_MS, work))) {
    state.waiting ??= `${describe(write.kind, write.ref)}: waiting for ${name} since ${formatTime(since)}`;
    const message = state.waiting;
    const shown = async () => {
      job.report({ reason: 'Waiting', message });
      await statusStep(attempt);
      await Promise.allSettled([work]);
    };
    await (job.parked?.(shown()) ?? shown());
  }
  const ended = () => {
    if (state.waiting === undefined) return;
    state.waiting = undefined;
    job.report(undefined);
  };
  try {
    const result = await work;
    ended();
    return result;
  } catch (error) {
    if (state.waiting === undefined || !isNotMade(error)) ended();
    // It is the same wait from one attempt to the next.
    else if (!state.waiting.includes('; ')) state.waiting += `; ${reasonOf(error)}`;
    throw error;
  }
}

function performanceOf(attempt: Attempt, write: ChildWrite): Performance {
  const { job } = attempt;
  const target = job.targetFor?.(write.kind) ?? job.target;
  const { manager, meetForeign, clock, signal } = job;
  return {
    target,
    manager,
    meetForeign,
    mayWrite: () => job.mayWrite(write),
    cause: job.cause(write),
    clock,
    signal,
    awaiting: (name, work) => awaiting(attempt, write, name, work),
  };
}
