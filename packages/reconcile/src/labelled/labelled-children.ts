// Keeps children known by label in a cluster equal to the deliveries of a sink. Every change, there or here, marks its unit. A marked unit
// is compared (difference.ts) and, if it differs, queued for the writer of the runtime. So an event costs one comparison, values in place
// are never written, and a restart on a settled cluster writes nothing.
//
// - While the source is not live nothing is written: the existing children stay, and two processes (credentials are being changed) cannot
//   fight, because the one whose picture is old is silent.
// - Only the process that may remove does; every one creates and changes. It removes the children that it found when it was first allowed
// to, and those of its source since: any other child belongs to its successor, which may see more.
// - Removals of a large share are held by the guard.
// - A failed write is tried again for ever, and at once when its namespace appears or its name becomes free.
import {
  isAlreadyExists,
  isForbidden,
  isNotFound,
  type KubeObject,
  Namespace,
  refOfKey,
  sleep,
} from '@capstan/kube/cluster';
import { carryOut, createKeyState, type KeyState } from '../apply/index.ts';
import type { ChildWrite } from '../diff/index.ts';
import { createQueue, done, FRESH, type Outcome, RESYNC, retry, retryAfter, runWorkers } from '../queue/index.ts';
import type { SinkBatch, SinkContext } from '../sinks/index.ts';
import type { LabelledChild, LabelledChildren, LabelledChildrenOptions, Obstacle } from './definition.ts';
import { difference, writeSet } from './difference.ts';
import { actionOf, type Compared, isRemoval, repeat, type Work } from './labelled-work.ts';
import { createLocalCopy } from './local-copy.ts';
import { createRemovalGuard } from './removal-guard.ts';
import { createUnitKeys } from './unit-keys.ts';
import { createWaitingUnits } from './waiting-units.ts';

/** How long a process that may not remove waits for the one that may. */
const STAND_IN_MS = 1000;

/** Should the watch on a name that is taken miss that it has become free. */
const TAKEN_MS = 300_000;

/** Never given up, at most five minutes apart; and when everything fails at once, not all of it at once again. */
const RETRIES = { baseMs: 50, maxMs: 300_000, perSecond: 50, burst: 200 };

export function createLabelledChildren<V, F, D>(options: LabelledChildrenOptions<V, F, D>): LabelledChildren<V> {
  const { definition, clock, logger, removing, observe } = options;
  const queue = createQueue<string>({ clock, name: definition.name, limits: RETRIES });
  const digests = new WeakMap<KubeObject, string>();
  const keys = createUnitKeys();
  /** Units that this one may remove. */
  const known = new Set<string>();
  /** Units of which nothing is left there or here, since the last confirmation and since the one before. */
  let departed = { lately: new Set<string>(), before: new Set<string>() };
  /** Units that could not be worked on because the source was not live. */
  const deferred = new Set<string>();
  /** Objects that have the name of a child and that the copy does not hold, by unit. */
  const met = new Map<string, LabelledChild<D>[]>();
  /** The states of units whose last attempt failed. */
  const states = new Map<string, KeyState>();
  const working = new Map<string, Work<F>>();
  /** Units of the first comparison that have not been tried yet; undefined before it. */
  let untried: Set<string> | undefined;
  let current: SinkContext<V, never>['current'] = () => new Map();
  let isDelivered = false;
  let isReady = false;
  let lastSync: number | undefined;

  const local = createLocalCopy<D>({
    ...options,
    listener: {
      synced: stateChanged,
      // The process that may remove answers changes here at once. Another one waits a moment: its own picture may be behind.
      changed: (units) => changed(units, removing.holds ? 0 : STAND_IN_MS),
      namespaceChanged(namespace) {
        for (const work of working.values()) work.compared = undefined;
        waiting.namespaceChanged(namespace);
      },
    },
  });
  const waiting = createWaitingUnits(local.whenFree, tryAgain);
  const guard = createRemovalGuard({ clock, owned: () => local.size });

  const isOpen = () => isDelivered && options.isLive() && local.isSynced;

  function digestOf(wanted: KubeObject): string {
    const found = digests.get(wanted) ?? definition.digestOf(wanted);
    digests.set(wanted, found);
    return found;
  }

  function find(unit: string): F {
    const values = keys.of(unit).flatMap((key): (readonly [string, V])[] => {
      const found = current().get(key);
      return found === undefined ? [] : [[key, found.value]];
    });
    return definition.find(unit, values);
  }

  /** Compares one unit; counts and the guard learn of it. */
  function compare(unit: string): Compared<F> {
    const finding = find(unit);
    const children = local.childrenOf(unit);
    const wanted = definition.wantedOf(finding);
    observe?.compared?.(unit, finding, children);
    const { namespace = '' } = refOfKey(unit);
    const all = difference<D>(definition, {
      unit,
      wanted,
      children,
      met: (kind, name) => met.get(unit)?.find((each) => each.kind === kind.kind && each.metadata.name === name),
      digestOf,
      namespace: local.namespace(namespace),
      createsNamespaces: options.createsNamespaces,
    });
    const going = all.removals.reduce((sum, { writes }) => sum + writes.length, 0);
    if (wanted.state !== 'absent') known.add(unit);
    else if (going === 0 && known.has(unit)) departed.lately.add(unit);
    const isKnown = known.has(unit);
    guard.propose(unit, isKnown ? going : 0);
    const mayRemove = going > 0 && isKnown && removing.holds;
    return { finding, writes: writeSet(all, mayRemove, children.length), obstacle: all.obstacle };
  }

  /** Compares a unit before work on it: removals that the guard holds are not among its writes. */
  function compareForWork(unit: string): Compared<F> {
    const compared = compare(unit);
    const { groups } = compared.writes;
    if (!groups.some(isRemoval) || guard.allows(unit)) return compared;
    return { ...compared, writes: { ...compared.writes, groups: groups.filter((group) => !isRemoval(group)) } };
  }

  function mark(units: Iterable<string>, priority: number, delayMs = 0): void {
    // All of them are checked before the first is worked on: the guard must see how many would go.
    const busy: string[] = [];
    for (const unit of units) {
      const work = working.get(unit);
      // The work that is under way compares again, or the unit is queued at its end.
      if (work !== undefined) {
        work.compared = undefined;
        continue;
      }
      const compared = compare(unit);
      if (compared.writes.groups.length > 0 || compared.obstacle !== undefined) busy.push(unit);
      else settle(unit, compared);
    }
    for (const unit of busy) queue.addAfter(unit, delayMs, priority);
    observe?.held?.(guard.held);
  }

  /** Nothing is left to do for a unit. */
  function settle(unit: string, { finding }: Compared<F>): void {
    observe?.settled?.(unit, finding, undefined);
    waiting.settled(unit);
    met.delete(unit);
    tried(unit);
  }

  function compareAll(mayRemoveNow = false): void {
    if (!isOpen()) return;
    const units = new Set([...keys.units(), ...local.units()]);
    const isFirst = untried === undefined;
    if (isFirst || mayRemoveNow) for (const unit of units) known.add(unit);
    untried ??= new Set(units);
    mark(units, RESYNC);
    lastSync = clock.now();
    if (isFirst) {
      logger.info('compared everything for the first time', { units: units.size, queued: queued() });
      tried();
    }
  }

  function tried(unit?: string): void {
    if (untried === undefined || isReady) return;
    if (unit !== undefined) untried.delete(unit);
    if (untried.size > 0) return;
    isReady = true;
    observe?.ready?.();
    logger.info('the first synchronisation is complete', { units: keys.size, children: local.size });
  }

  function changed(units: ReadonlySet<string>, delayMs = 0): void {
    if (untried === undefined) return;
    if (isOpen()) mark(units, FRESH, delayMs);
    else for (const unit of units) deferred.add(unit);
  }

  function stateChanged(): void {
    if (!isOpen()) return;
    if (untried === undefined) return compareAll();
    const units = [...deferred];
    deferred.clear();
    if (units.length > 0) mark(units, FRESH);
  }

  /** Tries a unit at once and forgets its failures, because its obstacle is gone. */
  function tryAgain(unit: string): void {
    states.delete(unit);
    queue.forget(unit);
    queue.add(unit);
  }

  async function workSafely(unit: string, signal: AbortSignal): Promise<Outcome> {
    const work: Work<F> = { compared: undefined, refusal: undefined };
    working.set(unit, work);
    try {
      return await carryOutUnit(unit, work, signal);
    } catch (error) {
      // A problem with an object is an obstacle; only a bug is worth a line a time.
      if (!signal.aborted) logger.error('the work on a unit threw: this is a bug; it is tried again', { unit, error });
      return retry(error);
    } finally {
      working.delete(unit);
      if (work.compared === undefined && !signal.aborted) queue.add(unit);
    }
  }

  async function carryOutUnit(unit: string, work: Work<F>, signal: AbortSignal): Promise<Outcome> {
    const read = () => (work.compared ??= compareForWork(unit));
    if (!isOpen()) {
      read();
      deferred.add(unit);
      return done;
    }
    const state = states.get(unit) ?? createKeyState();
    const outcome = await carryOut({
      writes: () => read().writes,
      wave: () => Promise.resolve(),
      isFresh: () => true,
      report() {},
      notify() {},
      cause: () => undefined,
      inTurn: (task) => task(false),
      isAwaited: () => false,
      written: (write) => written(unit, write),
      refused(write, error) {
        work.refusal ??= refusalOf(unit, write, error);
      },
      meetForeign(_kind, object) {
        meet(unit, object);
        work.compared = undefined;
      },
      mayWrite: (write) => isOpen() && (write?.verb !== 'delete' || removing.holds),
      pace,
      retries: RETRIES,
      state,
      target: local.target,
      manager: definition.fieldManager,
      finalizer: '',
      clock,
      signal,
    });
    if (signal.aborted) return done;
    if (state.failed === undefined) states.delete(unit);
    else states.set(unit, state);
    const compared = read();
    observe?.held?.(guard.held);
    if (!isOpen()) {
      deferred.add(unit);
      return done;
    }
    tried(unit);
    const obstacle = work.refusal ?? compared.obstacle;
    if (obstacle === undefined) {
      if (outcome.type === 'done') settle(unit, compared);
      return outcome;
    }
    observe?.settled?.(unit, compared.finding, obstacle);
    return waitFor(unit, obstacle, outcome);
  }

  function written(unit: string, write: ChildWrite | { verb: 'status' | 'finalizer' }): void {
    if (!('kind' in write) || write.kind === Namespace) return;
    if (write.verb === 'delete') guard.removed(unit, 1);
    observe?.wrote?.(write.kind, actionOf(write), unit);
  }

  function refusalOf(unit: string, write: ChildWrite, error: unknown): Obstacle | undefined {
    const { kind } = write;
    const action = actionOf(write);
    // A user was faster: the event of the present object is on its way to us.
    if (kind === Namespace && isAlreadyExists(error)) return undefined;
    if (kind !== Namespace) observe?.failed?.(kind, action, unit);
    const { namespace = '' } = refOfKey(unit);
    const isTerminating = isForbidden(error) && /terminat/i.test(error.message);
    if (action === 'add' && kind !== Namespace && (isNotFound(error) || isTerminating))
      return { what: 'namespace', namespace, happened: true };
    return { what: 'refused', kind, action, error };
  }

  /** The name of a child is taken. By an older self: then it is ours. By another: it is left alone. */
  function meet(unit: string, object: KubeObject): void {
    const wanted = definition.wantedOf(find(unit));
    const child =
      wanted.state === 'present'
        ? wanted.children.find(
            (each) => each.kind.kind === object.kind && each.object.metadata.name === object.metadata.name,
          )
        : undefined;
    if (child === undefined) return;
    const judged = local.judge(object, child.object);
    const others = (met.get(unit) ?? []).filter(
      (each) => each.kind !== object.kind || each.metadata.name !== object.metadata.name,
    );
    met.set(unit, [...others, judged]);
    if (judged.claim !== undefined) observe?.failed?.(child.kind, 'add', unit);
    else logger.info('took over an object of an earlier program', { kind: object.kind, unit });
  }

  function waitFor(unit: string, obstacle: Obstacle, outcome: Outcome): Outcome {
    if (obstacle.what === 'namespace') {
      waiting.forNamespace(obstacle.namespace, unit);
      return outcome;
    }
    if (obstacle.what === 'refused') return outcome;
    // The next attempt judges the object again.
    const { kind } = obstacle;
    const name = met.get(unit)?.find((each) => each.claim !== undefined)?.metadata.name ?? refOfKey(unit).name;
    met.delete(unit);
    waiting.forName(unit, kind, { namespace: refOfKey(unit).namespace ?? '', name });
    return retryAfter(TAKEN_MS);
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

  function take({ changes, snapshot }: Pick<SinkBatch<V>, 'changes' | 'snapshot'>): void {
    const units = new Set<string>();
    for (const { key, after } of changes) {
      const unit = definition.unitOfKey(key);
      if (after === undefined) keys.delete(unit, key);
      else keys.add(unit, key);
      units.add(unit);
    }
    isDelivered = true;
    changed(units);
    if (snapshot) stateChanged();
  }

  /** A unit that came back for a moment, because another process was behind, is still ours to remove. */
  function forgetDeparted(): void {
    for (const unit of departed.before) if (!keys.has(unit) && local.childrenOf(unit).length === 0) known.delete(unit);
    departed = { lately: new Set(), before: departed.lately };
  }

  return {
    open(context) {
      current = context.current;
      return { take };
    },
    stateChanged,
    confirmed() {
      if (options.isLive()) lastSync = clock.now();
      forgetDeparted();
      for (const unit of guard.cycle()) queue.add(unit);
      observe?.held?.(guard.held);
    },
    get isDelivered() {
      return isDelivered;
    },
    get isReady() {
      return isReady;
    },
    get lastSync() {
      return lastSync;
    },
    get queued() {
      return queued();
    },
    get held() {
      return guard.held;
    },
    async run(signal) {
      removing.onChange((holds) => {
        for (const work of working.values()) work.compared = undefined;
        if (holds) compareAll(true);
      });
      const workers = runWorkers({ queue, clock, signal, concurrency: options.threads, handle: workSafely });
      const resyncs = repeat(clock, options.resyncMs, signal, () => compareAll());
      stateChanged();
      const copied = local.run(signal);
      await Promise.all([workers, resyncs]);
      waiting.stop();
      await copied;
    },
  };
}
