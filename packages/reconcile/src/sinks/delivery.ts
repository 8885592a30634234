// Delivers what a sink's derivation came to. One `take` at a time; what changes meanwhile is coalesced per key, so that at
// most one entry a key is pending: the oldest `before` that was delivered, and the newest value. Waves never wait for it.
import type { Clock, Logger, Random, Timer } from '@capstan/kube/cluster';
import { equal } from '@capstan/kube/cluster';
import { plainDigest } from '../digest.ts';
import type { Change } from '../engine/index.ts';
import { SinkErrors } from '../errors.ts';
import type { Operator } from '../operator.ts';
import { factError } from '../read/fact.ts';
import { unmarked } from '../read/world-reader.ts';
import { within } from '../within.ts';
import type { BoundSink } from './bound-sink.ts';
import type { KeySets } from './key-sets.ts';
import type { SinkChange, SinkDefinition, SinkResult, SinkSession, SinkState, SinkValue } from './sink.ts';
import { DELIVERED, PENDING, type SinkTables } from './sink-tables.ts';

export interface DeliveryOptions {
  id: string;
  operator: Operator;
  sink: SinkDefinition;
  keys: KeySets;
  tables: SinkTables;
  world: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Whether the lease is held. */
  mayAct(): boolean;
  /** A snapshot was delivered. */
  onSnapshot?(): void;
  /** A change was delivered, for `why`. */
  delivered?(change: SinkChange<unknown>, causes: Change['causes']): void;
}

export interface Delivery extends BoundSink {
  /** A key that is evaluated for the first time in the next wave: the snapshot waits for it. `isByNew`: a new object names it. */
  expect(key: string, isByNew: boolean): void;
  /** It is not evaluated after all. */
  unexpect(key: string): void;
  /** How many keys have a value. */
  readonly size: number;
  /** The newest value of every key, whether or not it has been delivered. */
  current(): ReadonlyMap<string, SinkValue<unknown>>;
}

const TIMEOUT_MS = 30_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/** Keys that are retried together, not before a time. */
interface RetryGroup {
  readonly keys: Set<string>;
  readonly dueAt: number;
}

interface Failure {
  readonly failures: number;
  readonly error: unknown;
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { sink, keys, tables, clock, random } = options;
  const logger = options.logger.with({ sink: options.id });
  const ending = new AbortController();
  /** The newest value of every key. */
  const values = new Map<string, Entry>();
  /** Keys that are not evaluated yet: the first snapshot waits for them. */
  const expected = new Set<string>();
  const suspended = new Map<string, readonly string[]>();
  /** Keys whose newest value is not delivered, each with what was delivered last. */
  const pending = new Map<string, unknown>();
  const causes = new Map<string, Change['causes']>();
  const failures = new Map<string, Failure>();
  /** Keys whose last attempt failed: what is outside may be the old value, the new one, or a part of it. */
  const uncertain = new Set<string>();
  let groups: RetryGroup[] = [];
  let snapshotFailures: Failure | undefined;
  /** Of keys that are being taken now: what was delivered before. */
  let taking: Map<string, unknown> | undefined;
  let under: Promise<void> | undefined;
  let session: Promise<SinkSession<unknown>> | undefined;
  let isOpen = false;
  /** Taking back what we delivered is ours to do after the lease is lost. */
  let isWithdrawing = false;
  /** Stops acting: what was delivered is being withdrawn. Nothing is delivered before that is over. */
  let closing: Promise<void> | undefined;
  /** An object named or dropped keys in the wave that is ending: the next one shows what they come to, and both go out together. */
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
    return needsSnapshot || !values.has(key) || pending.has(key) || taking?.has(key) === true ? PENDING : DELIVERED;
  }

  function take(change: Change): void {
    if (keys.take(change)) return;
    const { key, after } = change;
    expected.delete(key);
    suspended.delete(key);
    if (after?.state === 'suspended') {
      // What is not known changes nothing: the last value stays in force.
      suspended.set(key, after.waitingFor);
      if (!values.has(key)) expected.add(key);
      return;
    }
    if (after?.state === 'error') {
      logger.error('could not evaluate a key; its last value stays in force', { key, error: after.error });
      failures.set(key, { failures: (failures.get(key)?.failures ?? 0) + 1, error: after.error });
      tables.refresh(key);
      return;
    }
    const before = values.get(key)?.value;
    const value = after === undefined ? undefined : unmarked(after.value);
    if (value === undefined) values.delete(key);
    else values.set(key, new Entry(value, sink));
    if (needsSnapshot) {
      tables.refresh(key);
      return;
    }
    if (!pending.has(key)) pending.set(key, before);
    if (before !== undefined && options.delivered !== undefined) causes.set(key, change.causes);
    // What failed before may work now: the newest value is tried at once.
    failures.delete(key);
    for (const group of groups) group.keys.delete(key);
    tables.refresh(key);
  }

  function pump(): void {
    if (!isOpen || under !== undefined || closing !== undefined || ending.signal.aborted) return;
    const batch = nextBatch();
    if (batch === undefined) return;
    under = deliver(batch).finally(() => {
      under = undefined;
      taking = undefined;
      pump();
    });
  }

  /** What goes out now: a snapshot, what is fresh, or a group whose wait is over. */
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
        tables.refresh(key);
        continue;
      }
      before.set(key, was);
      changes.push({ key, before: was, after });
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
    if (failed.size === 0) snapshotFailures = undefined;
    options.onSnapshot?.();
  }

  async function send(
    changes: readonly SinkChange<unknown>[],
    snapshot: boolean,
  ): Promise<ReadonlyMap<string, unknown>> {
    const { timeoutMs = TIMEOUT_MS } = sink;
    const started = clock.now();
    try {
      const result = await within(clock, timeoutMs, acting.signal, async (signal) =>
        (await opened()).take({ changes, snapshot, withdrawal: false, signal }),
      );
      return (result as SinkResult | undefined)?.failed ?? NONE;
    } catch (error) {
      const isLate = clock.now() - started >= timeoutMs && !acting.signal.aborted;
      throw isLate ? SinkErrors.NoReturn(options.id, timeoutMs) : error;
    }
  }

  function opened(): Promise<SinkSession<unknown>> {
    session ??= openSession().catch((error: unknown) => {
      session = undefined;
      throw error;
    });
    return session;
  }

  async function openSession(): Promise<SinkSession<unknown>> {
    return sink.open({
      current: () => values,
      report(key, row) {
        if (ending.signal.aborted) return;
        if (row === undefined) tables.reports.delete(key);
        else tables.reports.put(key, { key, row });
      },
      mayAct: () => (options.mayAct() || isWithdrawing) && !ending.signal.aborted,
      world: options.world,
      signal: ending.signal,
      clock,
      random,
      logger,
    });
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
        // What was delivered last is what counts as before, also if the value moved on meanwhile.
        pending.set(key, before.get(key));
        failures.set(key, { failures: (failures.get(key)?.failures ?? 0) + 1, error: failed.get(key) });
      } else {
        failures.delete(key);
        uncertain.delete(key);
        options.delivered?.(change, causes.get(key) ?? []);
        causes.delete(key);
      }
      tables.refresh(key);
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
    groups.push({ keys: new Set(again), dueAt: clock.now() + backOff(most) });
  }

  function snapshotFailed(error: unknown): ReadonlyMap<string, unknown> {
    needsSnapshot = true;
    snapshotFailures = { failures: (snapshotFailures?.failures ?? 0) + 1, error };
    const wait = backOff(snapshotFailures.failures);
    logger.warn('could not deliver the snapshot; it is tried again', { waitMs: Math.round(wait), error });
    for (const key of values.keys()) tables.refresh(key);
    wakeAt(clock.now() + wait);
    return NONE;
  }

  function backOff(times: number): number {
    return Math.min(FIRST_RETRY_MS * 2 ** (times - 1), MAX_RETRY_MS) * (1 - random() / 4);
  }

  /** The lease was lost while it was being taken: whether it arrived is not known, and the next snapshot finds out. */
  function abandoned(snapshot: boolean, before: ReadonlyMap<string, unknown>): void {
    if (snapshot) needsSnapshot = true;
    for (const [key, was] of before) pending.set(key, was);
  }

  async function withdraw(): Promise<void> {
    const changes = [...values].map(([key, { value }]) => ({ key, before: value, after: undefined }));
    if (sink.onLost !== 'withdraw' || changes.length === 0 || needsSnapshot) return;
    const { timeoutMs = TIMEOUT_MS } = sink;
    isWithdrawing = true;
    try {
      await within(clock, timeoutMs, undefined, async (signal) =>
        (await opened()).take({ changes, snapshot: false, withdrawal: true, signal }),
      );
    } catch (error) {
      logger.error('could not withdraw what was delivered', { error });
    } finally {
      isWithdrawing = false;
    }
  }

  async function stopActing(earlier: Promise<void> | undefined): Promise<void> {
    await earlier;
    await under;
    await withdraw();
    needsSnapshot = true;
    pending.clear();
    uncertain.clear();
    groups = [];
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
      if (drain) while (isOpen && under !== undefined) await under;
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
      const last = session;
      session = undefined;
      try {
        await (await last)?.close?.();
      } catch (error) {
        logger.error('could not close the sink', { error });
      }
      tables.clear();
    },
    get isIdle() {
      if (!isOpen) return true;
      if (under !== undefined || closing !== undefined) return false;
      return needsSnapshot
        ? timer !== undefined || !keys.isComplete || expected.size > 0
        : pending.size === waitingKeys();
    },
    get unsettled() {
      return needsSnapshot ? values.size : pending.size + (taking?.size ?? 0);
    },
    suspended,
  };

  function waitingKeys(): number {
    return groups.reduce((sum, group) => sum + group.keys.size, 0);
  }
}

const NONE: ReadonlyMap<string, unknown> = new Map();

function allFailed(changes: readonly SinkChange<unknown>[], error: unknown): ReadonlyMap<string, unknown> {
  return new Map(changes.map(({ key }) => [key, error]));
}

/** A value with its content version, which is computed when it is first asked for. */
class Entry implements SinkValue<unknown> {
  readonly value: unknown;
  readonly #sink: SinkDefinition;
  #version: string | undefined;

  constructor(value: unknown, sink: SinkDefinition) {
    this.value = value;
    this.#sink = sink;
  }

  get version(): string {
    this.#version ??= this.#sink.version?.(this.value) ?? plainDigest(this.value);
    return this.#version;
  }
}
