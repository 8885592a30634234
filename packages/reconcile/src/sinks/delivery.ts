// Delivers the results of a sink's derivation. One `take` runs at a time; changes meanwhile are coalesced per key, so that at most one
// entry a key is pending: the oldest delivered `before`, and the newest value. Waves never wait for it.
import type { Timer } from '@capstan/kube/cluster';
import { backOff, equal } from '@capstan/kube/cluster';
import type { Change } from '../engine/index.ts';
import { asError } from '../guard.ts';
import { unmarked } from '../read/engine-projections.ts';
import { factError } from '../read/fact.ts';
import { atMost } from '../within.ts';
import {
  allFailed,
  type Delivery,
  type DeliveryOptions,
  Entry,
  type Failure,
  NONE,
  type RetryGroup,
} from './delivery-entry.ts';
import { createSessions, isTimeout } from './sessions.ts';
import type { SinkChange, SinkState } from './sink.ts';
import { DELIVERED, PENDING } from './sink-tables.ts';

/** The time for running work to finish when the program ends. */
const DRAIN_MS = 10_000;

const BACK_OFF = { firstMs: 500, longestMs: 60_000 };

export function createDelivery(options: DeliveryOptions): Delivery {
  const { sink, keys, tables, clock, random } = options;
  const logger = options.logger.with({ sink: options.id });
  const ending = new AbortController();
  /** The newest value of every key. */
  const values = new Map<string, Entry>();
  /** Keys that are not evaluated yet: the first snapshot waits for them. */
  const expected = new Set<string>();
  const suspended = new Map<string, readonly string[]>();
  /** Keys whose newest value is not delivered, each with its last delivered value. */
  const pending = new Map<string, unknown>();
  const causes = new Map<string, Change['causes']>();
  const failures = new Map<string, Failure>();
  /** Keys whose last attempt failed: the outside may have the old value, the new one, or a part of it. */
  const uncertain = new Set<string>();
  let groups: RetryGroup[] = [];
  let snapshotFailures: Failure | undefined;
  /** The last delivered values of keys that are being taken now. */
  let taking: Map<string, unknown> | undefined;
  let under: Promise<void> | undefined;
  const sessions = createSessions({
    ...options,
    logger,
    current: () => values,
    report(key, row) {
      if (row === undefined) tables.reports.delete(key);
      else tables.reports.put(key, { key, row });
    },
    mayAct: () => options.mayAct() || isWithdrawing,
    signal: ending.signal,
    late() {
      for (const key of pending.keys()) refresh(key);
    },
    free: (isAbandoned) => {
      // The effects of an abandoned session outside are not known: the next one gets everything.
      if (isAbandoned) startOver();
      pump();
    },
  });
  /** Keys whose problem is shown on their object. */
  const shown = new Set<string>();
  let isOpen = false;
  /** Withdrawing our deliveries is our duty after the lease is lost. */
  let isWithdrawing = false;
  /** Stops acting: the delivered values are being withdrawn. Nothing is delivered before that is over. */
  let closing: Promise<void> | undefined;
  /** An object named or dropped keys in the wave that is ending. The next wave evaluates them, and both go out together. */
  let isMoving = false;
  /** The last wave was waited with: objects that move all the time hold up nothing for longer than that. */
  let hasWaited = false;
  let needsSnapshot = true;
  let timer: Timer | undefined;
  let acting = new AbortController();

  tables.stateOf = stateOf;

  function stateOf(key: string): SinkState {
    const failure = failures.get(key) ?? (needsSnapshot ? snapshotFailures : undefined);
    if (failure !== undefined) return { state: 'failed', error: factError(failure.error), failures: failure.failures };
    const isPending = needsSnapshot || !values.has(key) || pending.has(key) || taking?.has(key) === true;
    const late = isPending ? sessions.waiting() : undefined;
    if (late !== undefined) return { ...PENDING, error: factError(late) };
    return isPending ? PENDING : DELIVERED;
  }

  /** Shows the delivery of a key to its readers, and its lasting problem on its object. */
  function refresh(key: string): void {
    tables.refresh(key);
    if (options.problem === undefined) return;
    const failure = failures.get(key) ?? (needsSnapshot ? snapshotFailures : undefined);
    const late = failure === undefined && pending.has(key) ? sessions.waiting() : undefined;
    const isLasting = failure !== undefined && (failure.failures > 1 || failure.isLasting || isTimeout(failure.error));
    if (late !== undefined || isLasting) {
      shown.add(key);
      options.problem(key, late ?? asError(failure?.error));
    } else if (failure === undefined && shown.delete(key)) options.problem(key, undefined);
  }

  function startOver(): void {
    needsSnapshot = true;
    pending.clear();
    uncertain.clear();
    groups = [];
  }

  function take(change: Change): void {
    if (keys.take(change)) return;
    const { key, after } = change;
    expected.delete(key);
    suspended.delete(key);
    if (after?.state === 'suspended') {
      // An unknown value changes nothing: the last value stays in force.
      suspended.set(key, after.waitingFor);
      if (!values.has(key)) expected.add(key);
      return;
    }
    if (after?.state === 'error') {
      options.note?.(`the derivation ${sink.of.name} of the sink ${sink.name}`, key, after.error);
      // It is not tried again before something that it reads changes: it is shown at once.
      failures.set(key, { failures: (failures.get(key)?.failures ?? 0) + 1, error: after.error, isLasting: true });
      refresh(key);
      return;
    }
    const before = values.get(key)?.value;
    const value = after === undefined ? undefined : unmarked(after.value);
    if (value === undefined) values.delete(key);
    else values.set(key, new Entry(value, sink, options));
    if (needsSnapshot) {
      failures.delete(key);
      refresh(key);
      return;
    }
    if (!pending.has(key)) pending.set(key, before);
    if (before !== undefined && options.delivered !== undefined) causes.set(key, change.causes);
    // A failed key may succeed now: try the newest value at once.
    failures.delete(key);
    for (const group of groups) group.keys.delete(key);
    refresh(key);
  }

  function pump(): void {
    if (!isOpen || under !== undefined || sessions.isBusy || closing !== undefined || ending.signal.aborted) return;
    const batch = nextBatch();
    if (batch === undefined) return;
    under = deliver(batch)
      .catch((error: unknown) => logger.error('a delivery ended by an error; this is a bug', { error }))
      .finally(() => {
        under = undefined;
        taking = undefined;
        pump();
      });
  }

  /** Returns the next batch: a snapshot, fresh keys, or a group whose wait is over. */
  function nextBatch(): { keys: readonly string[]; snapshot: boolean } | undefined {
    if (needsSnapshot) {
      const isDue = snapshotFailures === undefined || timer === undefined;
      const isKnown = keys.isComplete && expected.size === 0;
      return isKnown && isDue ? { keys: [...values.keys()], snapshot: true } : undefined;
    }
    const waiting = new Set(groups.flatMap((group) => [...group.keys]));
    const fresh = [...pending.keys()].filter((key) => !waiting.has(key));
    if (fresh.length > 0) return { keys: fresh, snapshot: false };
    groups = groups.filter((group) => group.keys.size > 0);
    const due = groups.find(({ dueAt }) => dueAt <= clock.now());
    if (due !== undefined) {
      groups = groups.filter((group) => group !== due);
      return { keys: [...due.keys], snapshot: false };
    }
    wakeAt(Math.min(...groups.map(({ dueAt }) => dueAt)));
    return undefined;
  }

  function wakeAt(instant: number): void {
    timer?.cancel();
    timer = undefined;
    if (!Number.isFinite(instant)) return;
    timer = clock.after(Math.max(0, instant - clock.now()), () => {
      timer = undefined;
      pump();
    });
  }

  async function deliver(batch: { keys: readonly string[]; snapshot: boolean }): Promise<void> {
    const before = new Map<string, unknown>();
    const changes: SinkChange<unknown>[] = [];
    for (const key of batch.keys) {
      const was = batch.snapshot ? undefined : pending.get(key);
      const after = values.get(key)?.value;
      pending.delete(key);
      // Changed and changed back: the outside has it already.
      if (!batch.snapshot && !uncertain.has(key) && equal(was, after)) {
        refresh(key);
        continue;
      }
      before.set(key, was);
      changes.push(Object.freeze({ key, before: was, after }));
    }
    if (batch.snapshot) {
      needsSnapshot = false;
      pending.clear();
    } else if (changes.length === 0) return;
    taking = before;
    const { signal } = acting;
    let failed: ReadonlyMap<string, unknown>;
    try {
      failed = await send(changes, batch.snapshot);
    } catch (error) {
      if (signal.aborted) return abandoned(batch.snapshot, before);
      failed = batch.snapshot ? snapshotFailed(error) : allFailed(changes, error);
    }
    taking = undefined;
    settle(changes, failed, before);
    if (!batch.snapshot || needsSnapshot) return;
    if (failed.size === 0) {
      snapshotFailures = undefined;
      for (const key of shown) refresh(key);
    }
    options.onSnapshot?.();
  }

  async function send(
    changes: readonly SinkChange<unknown>[],
    snapshot: boolean,
  ): Promise<ReadonlyMap<string, unknown>> {
    return (await sessions.take({ changes: Object.freeze(changes), snapshot, withdrawal: false }, acting.signal))
      .failed;
  }

  function settle(
    changes: readonly SinkChange<unknown>[],
    failed: ReadonlyMap<string, unknown>,
    before: ReadonlyMap<string, unknown>,
  ): void {
    const again: string[] = [];
    for (const change of changes) {
      const { key } = change;
      if (failed.has(key)) {
        again.push(key);
        uncertain.add(key);
        // The last delivered value counts as before, also if the value has changed meanwhile.
        pending.set(key, before.get(key));
        failures.set(key, { failures: (failures.get(key)?.failures ?? 0) + 1, error: failed.get(key) });
      } else {
        failures.delete(key);
        uncertain.delete(key);
        options.delivered?.(change, causes.get(key) ?? []);
        causes.delete(key);
      }
      refresh(key);
    }
    if (again.length === 0) return;
    logger.warn('could not deliver some keys; they are tried again', {
      keys: again.slice(0, 5),
      more: Math.max(0, again.length - 5),
      error: failed.get(again[0] ?? ''),
    });
    // A single key that cannot be delivered must not hold up those that were sent with it: halves find it.
    const isWhole = again.length === changes.length && again.length > 1;
    const half = Math.ceil(again.length / 2);
    for (const part of isWhole ? [again.slice(0, half), again.slice(half)] : [again]) retryLater(part);
  }

  function retryLater(again: readonly string[]): void {
    const most = Math.max(...again.map((key) => failures.get(key)?.failures ?? 1));
    groups.push({ keys: new Set(again), dueAt: clock.now() + backOff(most, BACK_OFF, random) });
  }

  function snapshotFailed(error: unknown): ReadonlyMap<string, unknown> {
    needsSnapshot = true;
    snapshotFailures = { failures: (snapshotFailures?.failures ?? 0) + 1, error };
    const wait = backOff(snapshotFailures.failures, BACK_OFF, random);
    logger.warn('could not deliver the snapshot; it is tried again', { waitMs: Math.round(wait), error });
    for (const key of values.keys()) refresh(key);
    wakeAt(clock.now() + wait);
    return NONE;
  }

  /** The lease was lost while it was being taken: whether it arrived is not known, and the next snapshot finds out. */
  function abandoned(snapshot: boolean, before: ReadonlyMap<string, unknown>): void {
    if (snapshot) needsSnapshot = true;
    for (const [key, was] of before) pending.set(key, was);
  }

  async function withdraw(): Promise<void> {
    const changes = [...values].map(([key, { value }]) => ({ key, before: value, after: undefined }));
    if (sink.onLost !== 'withdraw' || changes.length === 0 || needsSnapshot) return;
    isWithdrawing = true;
    try {
      await sessions.take({ changes, snapshot: false, withdrawal: true }, undefined);
    } catch (error) {
      logger.error('could not withdraw what was delivered', { error });
    } finally {
      isWithdrawing = false;
    }
  }

  async function stopActing(earlier: Promise<void> | undefined): Promise<void> {
    await earlier;
    await under;
    await sessions.rest();
    await withdraw();
    startOver();
  }

  return {
    id: options.id,
    operator: options.operator,
    lease: sink.lease,
    take,
    waveEnded() {
      hasWaited = isMoving && !hasWaited;
      isMoving = false;
      if (!hasWaited) pump();
    },
    expect(key, isByNew) {
      if (!isByNew) isMoving = true;
      if (needsSnapshot && !values.has(key)) expected.add(key);
    },
    unexpect(key) {
      isMoving = true;
      expected.delete(key);
    },
    get size() {
      return values.size;
    },
    current: () => values,
    open() {
      if (isOpen) return;
      isOpen = true;
      acting = new AbortController();
      needsSnapshot = true;
      snapshotFailures = undefined;
      groups = [];
      pump();
    },
    async close({ drain }) {
      if (drain) await atMost(clock, DRAIN_MS, drained());
      if (!isOpen) return closing;
      isOpen = false;
      timer?.cancel();
      timer = undefined;
      acting.abort();
      const stopped = stopActing(closing).finally(() => {
        if (closing === stopped) closing = undefined;
        pump();
      });
      closing = stopped;
      return stopped;
    },
    async end() {
      ending.abort();
      keys.stop();
      await sessions.close();
      for (const key of shown) options.problem?.(key, undefined);
      tables.clear();
    },
    get isIdle() {
      if (!isOpen) return true;
      if (under !== undefined || closing !== undefined) return false;
      if (sessions.isBusy) return true;
      return needsSnapshot
        ? timer !== undefined || !keys.isComplete || expected.size > 0
        : pending.size === waitingKeys();
    },
    get unsettled() {
      return needsSnapshot ? values.size : pending.size + (taking?.size ?? 0);
    },
    suspended,
  };

  async function drained(): Promise<void> {
    while (isOpen && under !== undefined) await under;
  }

  function waitingKeys(): number {
    return groups.reduce((sum, group) => sum + group.keys.size, 0);
  }
}
