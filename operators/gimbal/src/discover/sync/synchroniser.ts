// Brings what a source has into this cluster and keeps it so. Every change, there or here, marks its key; a marked key is
// compared (difference.ts) and, where something is to be done, queued; a worker does it. So events cost one comparison,
// nothing is written that is already so, and a restart on a settled cluster writes nothing.
//
// - While the source is not live nothing is written: what was discovered stays, and two discoverers of one backend (credentials
//   are being changed) cannot fight, because the one whose picture is old is silent.
// - Only the holder of the backend's lease removes; every discoverer creates and changes. The holder removes what it found
//   when it got the lease and what its source has had since: anything else is of its successor, which may see more.
// - Removals of a large share are held by the guard.
// - What does not succeed is tried again for ever, at most five minutes apart, and at once when its namespace appears.
import { type Clock, type KubeObject, type Logger, type Random, refOfKey, sleep } from '@capstan/kube/cluster';
import type { Leadership } from '@capstan/reconcile/leadership';
import {
  type Bucket,
  createQueue,
  done,
  FRESH,
  type Outcome,
  RESYNC,
  retry,
  runWorkers,
} from '@capstan/reconcile/queue';
import type { Problem } from '../mirror/problem.ts';
import { managedDigest } from '../mirror/projection.ts';
import type { Census } from '../report/census.ts';
import type { ProblemLog } from '../report/problem-log.ts';
import type { DeletionGuard } from './deletion-guard.ts';
import { type Difference, difference } from './difference.ts';
import type { LocalCluster } from './local-cluster.ts';
import { createObjectWriter, type WriteObserver } from './object-writer.ts';
import type { Source } from './source.ts';

export interface SynchroniserOptions {
  backend: string;
  source: Source;
  local: LocalCluster;
  leadership: Pick<Leadership, 'holds' | 'onChange'>;
  guard: DeletionGuard;
  problems: ProblemLog;
  census: Census;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Keys at a time. */
  threads: number;
  /** Of writes. */
  bucket: Bucket;
  /** Everything is compared again so often. */
  resyncMs: number;
  /** Whether a missing namespace is created. */
  createNamespaces: boolean;
  observe?: WriteObserver;
}

export interface Synchroniser {
  /** The first full comparison is done, and what it found has been tried. */
  readonly isReady: boolean;
  /** When everything was last compared, or the source, which is watched, was last known to be live; undefined before. */
  readonly lastSync: number | undefined;
  /** Keys that wait or are worked on. */
  readonly queued: number;
  run(signal: AbortSignal): Promise<void>;
}

export function createSynchroniser(options: SynchroniserOptions): Synchroniser {
  const { source, local, leadership, guard, problems, census, clock, logger } = options;
  const queue = createQueue<string>({ clock, name: options.backend, limits: RETRIES });
  const digests = new WeakMap<KubeObject, string>();
  /** Keys that this one may remove. */
  const known = new Set<string>();
  /** Keys that could not be worked on because the source was not live. */
  const deferred = new Set<string>();
  /** Keys whose namespace is missing, by namespace. */
  const homeless = new Map<string, Set<string>>();
  /** Keys whose name is another's: what ends the watch for its end. */
  const taken = new Map<string, () => void>();
  /** Keys of the first comparison that have not been tried yet; undefined before it. */
  let untried: Set<string> | undefined;
  let isReady = false;
  let lastSync: number | undefined;

  const writer = createObjectWriter({ ...options, pace });

  function digestOf(wanted: KubeObject): string {
    const known = digests.get(wanted);
    if (known !== undefined) return known;
    const digest = managedDigest(wanted);
    digests.set(wanted, digest);
    return digest;
  }

  const isOpen = () => source.isSynced && source.isLive && local.isSynced;

  /** Compares one key and shows what is to be done; counts, problems and the guard learn of it. */
  function examine(key: string): Difference {
    const finding = source.find(key);
    const unit = local.unit(key);
    census.take(key, finding, unit);
    const all = difference(finding, unit, digestOf);
    if (finding.state !== 'absent') known.add(key);
    else if (all.removals.length === 0) known.delete(key);
    const diff = known.has(key) ? all : { ...all, removals: [] };
    guard.propose(key, diff.removals.length);
    return diff;
  }

  function mark(keys: Iterable<string>, priority: number): void {
    // All of them are checked before the first is worked on: the guard must see how many would go.
    const busy: string[] = [];
    for (const key of keys) {
      const { writes, removals } = examine(key);
      if (writes.length > 0 || removals.length > 0) busy.push(key);
      else settle(key);
    }
    for (const key of busy) queue.add(key, priority);
    showHeld();
  }

  /** Nothing is left to do for a key. */
  function settle(key: string): void {
    const finding = source.find(key);
    problems.set(key, finding.state === 'absent' ? [] : finding.problems);
    taken.get(key)?.();
    taken.delete(key);
    for (const [namespace, keys] of homeless) {
      if (keys.delete(key) && keys.size === 0) homeless.delete(namespace);
    }
    tried(key);
  }

  function compareAll(hasGainedLease = false): void {
    if (!isOpen()) return;
    const keys = new Set([...source.keys(), ...local.keys()]);
    const isFirst = untried === undefined;
    if (isFirst || hasGainedLease) for (const key of keys) known.add(key);
    untried ??= new Set(keys);
    mark(keys, RESYNC);
    lastSync = clock.now();
    problems.set('source', source.problems());
    if (isFirst) {
      logger.info('compared everything for the first time', { keys: keys.size, queued: queued() });
      tried();
    }
  }

  function tried(key?: string): void {
    if (untried === undefined || isReady) return;
    if (key !== undefined) untried.delete(key);
    if (untried.size > 0) return;
    isReady = true;
    logger.info('the first synchronisation is complete', { ...census.counts });
  }

  function changed(keys: ReadonlySet<string>): void {
    if (untried === undefined) return;
    if (isOpen()) mark(keys, FRESH);
    else for (const key of keys) deferred.add(key);
  }

  function stateChanged(): void {
    problems.set('remote', source.failure === undefined ? [] : [source.failure]);
    if (!isOpen()) return;
    if (untried === undefined) return compareAll();
    const keys = [...deferred];
    deferred.clear();
    mark(keys, FRESH);
  }

  function cycled(): void {
    if (source.isLive) lastSync = clock.now();
    problems.set('source', source.problems());
    for (const key of guard.cycle()) queue.add(key);
    showHeld();
  }

  function showHeld(): void {
    const problem: Problem = {
      type: 'MassDeletionHeld',
      message: `the remote side no longer has most of what was discovered: ${guard.held} objects are kept until two further cycles confirm it; check that it is the right cluster and that the rights there are still complete`,
    };
    problems.set('guard', guard.held > 0 ? [problem] : []);
  }

  /** What goes wrong with an object is on the status already; only a bug is worth a line a time. */
  async function workSafely(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      return await work(key, signal);
    } catch (error) {
      if (!signal.aborted)
        logger.error('the work on a service threw: this is a bug; it is tried again', { key, error });
      return retry(error);
    }
  }

  async function work(key: string, signal: AbortSignal): Promise<Outcome> {
    if (!isOpen()) {
      deferred.add(key);
      return done;
    }
    const diff = examine(key);
    const mayRemove = leadership.holds && guard.allows(key);
    const outcome = await writer.carryOut(key, { ...diff, removals: mayRemove ? diff.removals : [] }, signal);
    if (signal.aborted) return done;
    // Counted again: what was done is in the copy of this cluster already.
    examine(key);
    showHeld();
    tried(key);
    if (outcome.problem === undefined) {
      settle(key);
      return done;
    }
    const finding = source.find(key);
    const found = finding.state === 'absent' ? [] : finding.problems;
    problems.set(key, [...found, outcome.problem], outcome.happened);
    if (outcome.waitsFor !== undefined) waitFor(outcome.waitsFor, key);
    if (outcome.taken !== undefined && !taken.has(key) && taken.size < MOST_WATCHED) {
      const { namespace = '', name } = refOfKey(key);
      const stop = local.whenFree(outcome.taken, { namespace, name }, () => {
        queue.forget(key);
        queue.add(key);
      });
      taken.set(key, stop);
    }
    return outcome.next;
  }

  function waitFor(namespace: string, key: string): void {
    const keys = homeless.get(namespace) ?? new Set();
    homeless.set(namespace, keys.add(key));
  }

  /** Waits until this write may go out. */
  async function pace(signal: AbortSignal): Promise<void> {
    const ms = options.bucket.reserve();
    if (ms > 0) await sleep(clock, ms, signal);
  }

  function queued(): number {
    const { ready, delayed, processing, held } = queue.state();
    return [...ready.values()].reduce((sum, count) => sum + count, 0) + delayed + processing + held;
  }

  return {
    get isReady() {
      return isReady;
    },
    get lastSync() {
      return lastSync;
    },
    get queued() {
      return queued();
    },
    async run(signal) {
      const ends = [
        source.subscribe({ changed, state: stateChanged, cycle: cycled }),
        local.subscribe({
          changed,
          synced: stateChanged,
          namespaceAppeared(namespace) {
            const keys = homeless.get(namespace);
            homeless.delete(namespace);
            for (const key of keys ?? []) {
              // What failed for want of the namespace has not failed any more.
              queue.forget(key);
              queue.add(key);
            }
          },
        }),
        leadership.onChange((holds) => {
          if (holds) compareAll(true);
        }),
      ];
      const workers = runWorkers({ queue, clock, signal, concurrency: options.threads, handle: workSafely });
      const resyncs = repeat(clock, options.resyncMs, signal, () => compareAll());
      stateChanged();
      await Promise.all([workers, resyncs]);
      for (const stop of taken.values()) stop();
      for (const end of ends) end();
    },
  };
}

/** Names that are watched one by one; more of them are tried again after a while. */
const MOST_WATCHED = 50;

/** Never given up, at most five minutes apart; and when everything fails at once, not all of it at once again. */
const RETRIES = { baseMs: 50, maxMs: 300_000, perSecond: 50, burst: 200 };

async function repeat(clock: Clock, ms: number, signal: AbortSignal, call: () => void): Promise<void> {
  try {
    for (;;) {
      await sleep(clock, ms, signal);
      call();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
