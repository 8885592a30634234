// The sink of a reconciler: takes the writes that waves publish, and carries them out key by key while the lease is held. Losing the lease
// stops it at once; gaining it sends the pending writes as they are.
import { formatTime, type Kind, type KubeObject, keyOf, kindId, type ObjectRef, refOf } from '@capstan/kube/cluster';
import { carryOut, createKeyState, failedAgain, type KeyState, type Target } from '../../apply/index.ts';
import { type ChildWrite, identity, isSettled, NOTHING, reportedIn, type WriteSet } from '../../diff/index.ts';
import type { Cause, Change, Inputs, Settled } from '../../engine/index.ts';
import { RuntimeErrors } from '../../errors.ts';
import { inventoryOf } from '../../inventory.ts';
import { INVENTORY_LABEL } from '../../marks.ts';
import { placeOf, type StatusInput } from '../../plan/index.ts';
import {
  createQueue,
  done,
  FRESH,
  type Outcome,
  type Park,
  type Queue,
  RESYNC,
  retry,
  retryAfter,
  runWorkers,
} from '../../queue/index.ts';
import { DEFAULT_CONCURRENCY } from '../../reconciler.ts';
import type { BoundSink } from '../../sinks/index.ts';
import { type CauseRecord, causeRecord, formatCause, keepInputs } from '../../why/index.ts';
import { atMost } from '../../within.ts';
import { type ApiWriterOptions } from './api-writer-options.ts';
import { createCauses } from './causes.ts';
import { causesSinceRestart, childId, isResumed, netCauses, restOf } from './causes-since-restart.ts';
import { createWaiting, waitingText } from './waiting.ts';

/** Destructive work needs caches that the server has confirmed within this time. */
export const PRUNE_FRESH_MS = 120_000;

/**
 * An object that stands in the way of a child is checked again, soon at first: who reads of it removes it then. The wait is a quarter of
 * the time that it has been in the way, within these bounds.
 */
const FIRST_FOREIGN_MS = 2000;

const FOREIGN_MS = 60_000;

/** The time for running work to finish when the program ends, and after its signal was aborted. */
const DRAIN_MS = 10_000;

const STOP_MS = 5_000;

/** An object in the way of a child. */
interface Foreign {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly since: number;
}

export function createApiWriter(options: ApiWriterOptions): BoundSink {
  const { binding, engine, clock, logger, history } = options;
  const { reconciler, world, operator } = binding;
  const log = logger.with({ operator: operator.name, reconciler: reconciler.name });
  const own = world.targetFor(operator.name);
  const states = new Map<string, KeyState>();
  const causes = createCauses();
  const unsettled = new Set<string>();
  /** Foreign objects that stand in the way of a key's children. */
  const met = new Map<string, Map<string, Foreign>>();
  const suspended = new Map<string, readonly string[]>();
  const waiting = createWaiting(clock, (keys) => {
    for (const key of keys) open?.queue.add(key, RESYNC);
  });
  /** Whether the wave with the first list of the resource is over: objects that appear from then on have just been created. */
  let isListed = false;
  /** Keys whose writes follow from the first evaluation by this process, or after a pause: only the children show the inputs before it. */
  const compared = new Set<string>();
  /** The cause of each write, for the history. */
  const recorded = new WeakMap<object, CauseRecord>();
  /** The inputs of the last key that was asked for: all writes of an attempt share them. */
  let known: { key: string; planned: unknown; inputs: Inputs } | undefined;
  let open: { queue: Queue<string>; abort: AbortController; ended: Promise<void> } | undefined;

  function take(change: Change): void {
    const { key, after, before } = change;
    if (after === undefined) {
      forget(key);
      return;
    }
    suspended.delete(key);
    if (before === undefined || isResumed(valueOf(before as Settled<WriteSet>), valueOf(after as Settled<WriteSet>)))
      compared.add(key);
    if (after.state === 'suspended') {
      suspended.set(key, after.waitingFor);
      waiting.begin(key);
      unsettled.delete(key);
      // The event that led to the unknown read is the cause of the effects, not its becoming known.
      if (before !== undefined) causes.add(key, change.causes);
      return;
    }
    waiting.end(key);
    showConflict(key, after);
    if (!needsWork(after)) {
      unsettled.delete(key);
      causes.delete(key);
      compared.delete(key);
      // The refused writes are not wanted any more: no later attempt would clear the report.
      binding.report(key, undefined);
      return;
    }
    // A process that does not write knows refusals from the report of the writing one.
    if (open === undefined && after.state === 'value')
      binding.report(key, reportedIn(statusOf(key), `${operator.name}.${reconciler.name}`));
    // The cause of a status that remains after the children is known already.
    if (!causes.has(key) || changesChildren(after)) causes.add(key, change.causes, valueOf(after as Settled<WriteSet>));
    unsettled.add(key);
    // The first evaluation of everything must not delay fresh changes.
    open?.queue.add(key, before === undefined && !isListed ? RESYNC : FRESH);
  }

  function showConflict(key: string, after: Settled<unknown>): void {
    const notes = valueOf(after as Settled<WriteSet>)?.notes ?? [];
    const conflict = notes.find(({ about }) => about === 'conflict');
    if (conflict !== undefined) binding.conflicts.put(key, { reason: 'Conflict', message: conflict.message });
    else if (binding.conflicts.peek(key) !== undefined) binding.conflicts.delete(key);
  }

  function taken(): void {
    isListed ||= world.access.peek(kindId(reconciler.resource)) === 'served';
  }

  /** Nothing is kept of a key whose object is gone: work on it that is under way must not leave anything behind. */
  const isAlive = (key: string) => engine.valueOf(binding.writes, key) !== undefined;

  function forget(key: string): void {
    waiting.end(key);
    unsettled.delete(key);
    suspended.delete(key);
    causes.delete(key);
    states.delete(key);
    compared.delete(key);
    if (known?.key === key) known = undefined;
    for (const id of met.get(key)?.keys() ?? []) binding.foreign.delete(id);
    met.delete(key);
    binding.report(key, undefined);
    binding.conflicts.delete(key);
  }

  /** A foreign object is not watched: while one stands in the way, it is re-checked from time to time. */
  async function recheck(key: string, signal: AbortSignal): Promise<void> {
    for (const [id, { kind, ref }] of met.get(key) ?? []) {
      const existing = await targetFor(kind).client.find(kind, ref, { signal });
      if (!isAlive(key)) return;
      if (existing !== undefined && inventoryOf(existing) === undefined) binding.foreign.put(id, existing);
      else {
        binding.foreign.delete(id);
        met.get(key)?.delete(id);
      }
    }
    if (met.get(key)?.size === 0) met.delete(key);
    await options.settle();
  }

  /** Until foreign objects are re-checked. */
  function recheckMs(key: string): number {
    const newest = Math.max(...[...(met.get(key)?.values() ?? [])].map(({ since }) => since));
    return Math.min(Math.max((clock.now() - newest) / 4, FIRST_FOREIGN_MS), FOREIGN_MS);
  }

  function targetFor(kind: Kind): Target {
    const found = binding.worldFor(kind);
    if (found === undefined) throw RuntimeErrors.WorldGone(placeOf(kind) ?? '');
    return found === world ? own : found.targetFor(operator.name);
  }

  /**
   * Whether the cache of an object to remove is fresh, in its world; without a kind that of the owner, whose absence from a plan removes
   * everything.
   */
  function isFresh(kind: Kind | undefined): boolean {
    if (kind !== undefined) return binding.worldFor(kind)?.isFresh([kind], PRUNE_FRESH_MS) ?? false;
    return world.isFresh([reconciler.resource], PRUNE_FRESH_MS);
  }

  /** Returns the remaining writes; for a key that has waited for long, those that show the wait. */
  function writesOf(key: string): WriteSet | undefined {
    const settled = engine.valueOf(binding.writes, key);
    if (settled?.state !== 'suspended') return valueOf(settled);
    const since = waiting.since(key);
    if (since === undefined) return undefined;
    return binding.waiting(key, { reason: 'Waiting', message: waitingText(settled.waitingFor, since, statusOf(key)) });
  }

  function statusOf(key: string): StatusInput | undefined {
    return (binding.table.peek(key) as { status?: StatusInput } | undefined)?.status;
  }

  async function handle(key: string, signal: AbortSignal, park: Park): Promise<Outcome> {
    const attributes = {
      operator: operator.name,
      reconciler: reconciler.name,
      object: `${kindId(reconciler.resource)} ${key}`,
    };
    const span = options.tracer.startSpan('reconcile', attributes);
    try {
      const outcome = await work(key, signal, park);
      if (outcome.type === 'retry' || outcome.type === 'terminal') span.recordError(outcome.error);
      return outcome;
    } finally {
      span.end();
    }
  }

  async function work(key: string, signal: AbortSignal, park: Park): Promise<Outcome> {
    await options.caughtUp();
    if (met.has(key)) await recheck(key, signal);
    if (!isAlive(key)) return done;
    const state = states.get(key) ?? createKeyState();
    states.set(key, state);
    const isTriedAgain = state.failed !== undefined && state.failed.until <= clock.now();
    if (isTriedAgain && errorOf(key) !== undefined) {
      // A pure function that threw will throw again, unless it is not pure or was fixed: one more run before giving up again.
      engine.invalidate(binding.plans, key);
      engine.invalidate(binding.writes, key);
      await options.settle();
    }
    const threw = errorOf(key);
    const isNews = threw !== undefined && (state.failed === undefined || isTriedAgain);
    if (isNews) state.failed = failedAgain(state, '', clock);
    const performed = await carryOut({
      writes: () => writesOf(key),
      parked: park,
      owner() {
        const object = binding.table.peek(key);
        return object === undefined ? undefined : binding.ownership(object);
      },
      wave: options.settle,
      isFresh,
      report(failure) {
        if (isAlive(key)) binding.report(key, failure);
      },
      notify(event) {
        const object = binding.table.peek(key);
        if (object !== undefined) options.notify(object, event);
      },
      written(write) {
        const kind = 'kind' in write ? write.kind : reconciler.resource;
        options.observe?.wrote?.(write.verb, kind);
        const object = 'kind' in write ? `${kindId(kind)} ${keyOf(write.ref)}` : `${kindId(kind)} ${key}`;
        const {
          inputs: _inputs,
          lists: _lists,
          rest: _rest,
          ...cause
        } = recorded.get(write) ?? record(key, causes.of(key));
        history.record(object, { verb: write.verb, cause });
        log.debug('wrote', { verb: write.verb, object });
      },
      mayWrite: options.mayWrite,
      isAwaited: () => open !== undefined && [...open.queue.state().ready.values()].some((count) => count > 0),
      meetForeign(kind, object) {
        if (inventoryOf(object) !== undefined || !isAlive(key)) return;
        const id = identity(kind, object.metadata);
        const known = met.get(key) ?? new Map<string, Foreign>();
        const since = known.get(id)?.since ?? clock.now();
        met.set(key, known.set(id, { kind, ref: refOf(object), since }));
        binding.foreign.put(id, object);
      },
      state,
      target: own,
      targetFor,
      manager: binding.manager,
      finalizer: binding.finalizer,
      clock,
      cause(write) {
        const cause = recordFor(key, write);
        recorded.set(write, cause);
        return formatCause(cause);
      },
      inTurn: (task) => options.turns(`${world.name} ${kindId(reconciler.resource)} ${key}`, task),
      signal,
    });
    if (threw !== undefined && (performed.type === 'done' || performed.type === 'retryAfter')) {
      if (isNews) return retry(threw);
      const left = Math.max(1, (state.failed?.until ?? 0) - clock.now());
      const ms = performed.type === 'retryAfter' ? Math.min(left, performed.ms) : left;
      return retryAfter(ms, { keepsFailures: true });
    }
    return performed.type === 'done' && met.has(key) ? retryAfter(recheckMs(key)) : performed;
  }

  /** The error of the reconciler, or of the computation of its writes. */
  function errorOf(key: string): Error | undefined {
    const planned = engine.valueOf(binding.plans, key);
    if (planned?.state === 'error') return planned.error;
    const written = engine.valueOf(binding.writes, key);
    if (written?.state === 'error') return written.error;
    const threw = valueOf(written)?.threw;
    return threw === undefined ? undefined : new Error(threw);
  }

  function record(key: string, why: readonly Cause[]): CauseRecord {
    const by = `${operator.name}.${reconciler.name}`;
    return causeRecord(formatTime(clock.now()), by, `${kindId(reconciler.resource)} ${key}`, why);
  }

  /** With all inputs, so that the next process knows which of them differ; and compared with those that this one has found. */
  function recordFor(key: string, write: ChildWrite): CauseRecord {
    const inputs = inputsFor(key);
    const seen = causes.of(key, childId(write.kind, write.ref));
    const written = { binding, engine, key, write, inputs, seen };
    const why = compared.has(key) ? causesSinceRestart(written) : netCauses(written);
    const rest = restOf(valueOf(engine.valueOf(binding.writes, key)) ?? NOTHING, write);
    return { ...record(key, why), ...keepInputs(inputs), ...(rest === '' ? {} : { rest }) };
  }

  /** The inputs of the plan, except for our own children: they follow from it. */
  function inputsFor(key: string): Inputs {
    const planned = engine.valueOf(binding.plans, key);
    if (known?.key !== key || known.planned !== planned) {
      const all = engine.inputs(binding.plans, key);
      known = { key, planned, inputs: { ...all, values: all.values.filter(({ value }) => !isOurs(value)) } };
    }
    return known.inputs;
  }

  return {
    id: binding.id,
    operator,
    lease: 'operator',
    take,
    waveEnded: taken,
    open() {
      if (open !== undefined) return;
      const abort = new AbortController();
      const queue = createQueue<string>({
        clock,
        name: binding.id,
        ...(options.observe?.queue ? { observe: options.observe.queue } : {}),
      });
      const ended = runWorkers({
        queue,
        clock,
        concurrency: reconciler.concurrency ?? DEFAULT_CONCURRENCY,
        handle,
        signal: abort.signal,
        logger: log,
        describe: (key) => `${reconciler.resource.kind} ${key}`,
        ...(options.observe?.workers ? { observe: options.observe.workers } : {}),
      });
      open = { queue, abort, ended };
      // An object that stands in the way of a child is not watched: it is re-checked now, and from then on from time to time.
      for (const key of new Set([...unsettled, ...met.keys(), ...waiting.overdue()])) queue.add(key, RESYNC);
    },
    async close({ drain }) {
      const closing = open;
      if (closing === undefined) return;
      open = undefined;
      // Finish running work where that does not take long; then abort its signals.
      if (drain) await atMost(clock, DRAIN_MS, closing.queue.shutDownWithDrain());
      closing.abort.abort();
      closing.queue.shutDown();
      await atMost(clock, STOP_MS, closing.ended);
    },
    get isIdle() {
      if (open === undefined) return true;
      const { ready, processing, held } = open.queue.state();
      return processing === 0 && held === 0 && [...ready.values()].every((count) => count === 0);
    },
    get unsettled() {
      return unsettled.size;
    },
    suspended,
  };
}

function isOurs(value: unknown): boolean {
  return (value as KubeObject | undefined)?.metadata?.labels?.[INVENTORY_LABEL] !== undefined;
}

function needsWork(after: Exclude<Settled<unknown>, { state: 'suspended' }>): boolean {
  if (after.state === 'error') return true;
  const writes = after.value as WriteSet;
  return writes.threw !== undefined || !isSettled(writes);
}

function changesChildren(after: Exclude<Settled<unknown>, { state: 'suspended' }>): boolean {
  if (after.state === 'error') return true;
  const { groups, prune, finalizer } = after.value as WriteSet;
  return finalizer !== undefined || prune.length > 0 || groups.some(({ writes }) => writes.length > 0);
}

function valueOf(settled: Settled<WriteSet> | undefined): WriteSet | undefined {
  return settled?.state === 'value' ? settled.value : undefined;
}
