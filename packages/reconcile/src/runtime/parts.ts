// The parts of operators in the worlds that are there: a writer for each reconciler and a delivery for each sink, started and
// stopped with their world, or by the derivation that switches them on and off.
import {
  type Clock,
  formatTime,
  type Kind,
  type KubeObject,
  type Logger,
  type Random,
  reasonOf,
} from '@capstan/kube/cluster';
import { createTurns } from '../apply/index.ts';
import type { Change, Derivation, Engine, Table, Wave } from '../engine/index.ts';
import type { Operator } from '../operator.ts';
import type { EventInput } from '../plan/index.ts';
import { unmarked } from '../read/engine-projections.ts';
import { type ReadSources } from '../read/read-sources.ts';
import { bindDerived } from '../read/world-reader.ts';
import { type Reconciler, roleOf } from '../reconciler.ts';
import {
  type BoundSink,
  createDelivery,
  createKeySets,
  type Delivery,
  type KeySet,
  type KeySets,
  type Sink,
  type SinkState,
} from '../sinks/index.ts';
import type { Tracer } from '../tracing/index.ts';
import { causeRecord, type History } from '../why/index.ts';
import { requirementsOf, type World, type WorldSet } from '../worlds/index.ts';
import type { Blame } from './blame.ts';
import type { Leases } from './leases.ts';
import { createServingFirst } from './serving-first.ts';
import { createApiWriter } from './writer/api-writer.ts';
import { type ApiWriterObserver } from './writer/api-writer-options.ts';
import { type Binding, bindReconciler } from './writer/binding.ts';

export interface PartsOptions {
  engine: Engine;
  sources: ReadSources;
  worlds: WorldSet;
  clock: Clock;
  random: Random;
  logger: Logger;
  history: History;
  /** Whether deliveries enter the history. */
  deliveryHistory: boolean;
  /** Reconcilers are evaluated when sinks without a lease have had their first snapshot. */
  serveFirst: boolean;
  isServing?: () => boolean;
  /** Writers do not get the changes of waves: nothing may be written. */
  isReplayed?: boolean;
  /** Called with the name of each derivation whose results are plans. */
  onPlans?: (name: string) => void;
  /** Called when that is so. */
  onServed?: () => void;
  leases: Leases;
  /** Shows errors of authors' functions on the objects that they failed on. */
  blame: Blame;
  tracer: Tracer;
  /** Takes in pending changes, and evaluates. */
  settle(): Promise<void>;
  /** Resolves when new objects have been evaluated, or after a while. */
  caughtUp(): Promise<void>;
  /** Writes an Event about an object. */
  notify(world: World, operator: Operator, owner: KubeObject, event: EventInput): void;
  observe(binding: Binding): ApiWriterObserver | undefined;
}

export interface Parts {
  readonly all: ReadonlySet<Part>;
  /** Parts that can be switched on and off, while it is not known which of the two is wanted. */
  readonly undecided: readonly Switched[];
  /** Starts the parts of an operator for the role of a world. */
  bind(world: World, operator: Operator): void;
  /** Stops everything in a world. */
  unbind(world: World): Promise<void>;
  /** Hands over the changes of a wave. */
  take(wave: Wave): void;
  /** Reconcilers wait for no sink any more. */
  served(): void;
  /** Opens parts that are started from now on, while their lease is held. */
  isOpen: boolean;
}

/** A reconciler's writer or an operator's sink, as long as it is bound. */
export interface Part {
  readonly operator: Operator;
  readonly world: World;
  readonly sink: BoundSink;
  /** Whose changes it takes. */
  readonly derivations: readonly Derivation<unknown>[];
  readonly binding?: Binding;
  readonly delivers?: SinkBinding;
  objects(): number;
  unbind(): void;
}

/** A sink of an operator in a world. */
export interface SinkBinding {
  readonly id: string;
  readonly operator: Operator;
  readonly sink: Sink;
  readonly world: World;
  /** The derivation that it delivers. */
  readonly derivation: Derivation<unknown>;
  /** The model of its values. */
  readonly model: Derivation<unknown> | undefined;
  readonly keys: KeySets;
  /** Its reports, by key. */
  readonly reports: Table<unknown>;
  /** The newest value of every key. */
  current(): ReturnType<Delivery['current']>;
  /** How far the delivery of a key by this process is. */
  stateOf(key: string): SinkState;
}

/** A part that can be switched on and off, and why that is not known now. */
export interface Switched {
  readonly id: string;
  readonly waitingFor: readonly string[];
}

interface Switch {
  readonly world: World;
  take(change: Change): void;
  stop(): void;
}

export function createParts(options: PartsOptions): Parts {
  const { engine, sources, worlds, clock, random, logger, history, deliveryHistory, leases, blame } = options;
  const parts = new Set<Part>();
  const writers = new WeakSet<BoundSink>();
  const takers = new Map<unknown, Set<BoundSink>>();
  /** The switches that turn parts on and off. */
  const switches = new Map<unknown, Switch>();
  const problems = new Map<unknown, Switched>();
  const turns = createTurns();
  const serving = createServingFirst(clock, options.serveFirst, options.onServed, options.isServing);
  let isOpen = false;

  function bind(world: World, operator: Operator): void {
    const role = worlds.roleOf(world.name);
    for (const reconciler of operator.reconcilers)
      if (roleOf(reconciler) === role)
        bindPart(world, operator, reconciler, () =>
          writerOf(bindReconciler(engine, sources, operator, reconciler, world)),
        );
    for (const sink of operator.sinks ?? [])
      if (roleOf(sink) === role) bindPart(world, operator, sink, () => deliveryOf(world, operator, sink));
    serving.begin();
  }

  /** Starts a part, or lets a derivation switch it on and off. */
  function bindPart(world: World, operator: Operator, declared: Reconciler | Sink, create: () => Part): void {
    if (declared.enabled === undefined) {
      start(create());
      return;
    }
    const kinds = [...requirementsOf([declared], roleOf(declared)).keys()];
    const on = bindDerived(sources, world, operator.name, declared.enabled);
    const derivation = engine.derive<boolean>({
      name: `${operator.name}.${declared.name} is enabled`,
      sink: true,
      compute: (_key, tracker) => unmarked(tracker.derived(on, '')) === true,
    });
    let running: { part: Part; unuse: () => void } | undefined;
    const turn = (isOn: boolean) => {
      if (isOn && running === undefined) {
        const unuse = world.use(kinds);
        running = { part: create(), unuse };
        start(running.part);
      } else if (!isOn && running !== undefined) {
        const { part, unuse } = running;
        running = undefined;
        void stop(part).finally(unuse);
      }
    };
    const root = engine.hold(derivation, '');
    switches.set(derivation, {
      world,
      // An unknown value leaves it as it is.
      take(change) {
        if (change.after?.state === 'value') turn(change.after.value === true);
        else if (change.after?.state === 'error')
          blame.note(`enabled of ${operator.name}.${declared.name}`, '', change.after.error);
        problems.set(derivation, {
          id: `${operator.name}.${declared.name}`,
          waitingFor:
            change.after?.state === 'suspended'
              ? change.after.waitingFor
              : change.after?.state === 'error'
                ? [`whether it is enabled, which cannot be computed: ${reasonOf(change.after.error)}`]
                : [],
        });
      },
      stop() {
        root.stop();
        problems.delete(derivation);
        engine.retire(derivation);
      },
    });
  }

  function writerOf(binding: Binding): Part {
    const { operator, world } = binding;
    options.onPlans?.(binding.plans.name);
    const observe = options.observe(binding);
    blame.bound(binding);
    const sink = createApiWriter({
      binding,
      engine,
      clock,
      logger,
      history,
      settle: options.settle,
      caughtUp: options.caughtUp,
      mayWrite: () => leases.of(operator, 'operator').holds,
      turns,
      tracer: options.tracer,
      notify: (owner, event) => options.notify(world, operator, owner, event),
      ...(observe ? { observe } : {}),
    });
    writers.add(sink);
    const root = serving.afterwards(() => engine.each(binding.table, {}, binding.writes));
    return {
      operator,
      world,
      sink,
      binding,
      derivations: [binding.writes],
      objects: () => binding.table.size,
      unbind() {
        root.stop();
        blame.unbound(binding);
        binding.failures.drop('absent');
        binding.conflicts.drop('absent');
        binding.foreign.drop('absent');
        sources.problems.delete(`${binding.operator.name}.${binding.reconciler.name}@${world.name}`);
        engine.retire(binding.plans, binding.writes, binding.failures, binding.conflicts, binding.foreign);
      },
    };
  }

  function deliveryOf(world: World, operator: Operator, sink: Sink): Part {
    const id = world.name === '' ? `${operator.name}.${sink.name}` : `${operator.name}.${sink.name}@${world.name}`;
    const derivation = bindDerived(sources, world, operator.name, sink.of);
    const model = sink.model && bindDerived(sources, world, operator.name, sink.model);
    const objects = kindOfKeys(sink);
    const keys = createKeySets({
      engine,
      sources,
      world,
      operator: operator.name,
      id,
      sink,
      delivered: derivation,
      onNamed: (key, isByNew) => delivery.expect(key, isByNew),
      onDropped: (key) => delivery.unexpect(key),
    });
    const tables = sources.sinks.of(world.name, sink);
    const delivery: Delivery = createDelivery({
      id,
      operator,
      sink,
      keys,
      tables,
      world: world.name,
      clock,
      random,
      logger: logger.with({ operator: operator.name }),
      mayAct: () => leases.of(operator, sink.lease).holds,
      note: blame.note,
      problem(key, error) {
        if (objects === undefined) return;
        if (error === undefined) blame.clear(world, objects, key, `the sink ${sink.name}`);
        else blame.show(world, objects, key, `the sink ${sink.name}`, error);
      },
      ...(sink.lease === 'none' && { onSnapshot: serving.expect(id) }),
      ...(deliveryHistory && {
        delivered({ key }, causes) {
          const cause = causeRecord(formatTime(clock.now()), id, `${sink.name} ${key}`, causes);
          history.record(`${sink.name} ${key}`, { verb: 'deliver', cause });
        },
      }),
    });
    return {
      operator,
      world,
      sink: delivery,
      delivers: {
        id,
        operator,
        sink,
        world,
        derivation,
        model,
        keys,
        reports: tables.reports,
        current: () => delivery.current(),
        stateOf: (key) => tables.stateOf(key),
      },
      derivations: [derivation, ...keys.derivations],
      objects: () => delivery.size,
      unbind() {},
    };
  }

  function start(part: Part): void {
    parts.add(part);
    for (const derivation of part.derivations)
      takers.set(derivation, (takers.get(derivation) ?? new Set()).add(part.sink));
    if (isOpen && leases.of(part.operator, part.sink.lease).holds) part.sink.open();
  }

  async function stop(part: Part): Promise<void> {
    parts.delete(part);
    part.unbind();
    await part.sink.close({ drain: false });
    await part.sink.end?.();
    for (const derivation of part.derivations) {
      const sinks = takers.get(derivation);
      sinks?.delete(part.sink);
      if (sinks?.size === 0) takers.delete(derivation);
    }
  }

  return {
    all: parts,
    get undecided() {
      return [...problems.values()].filter(({ waitingFor }) => waitingFor.length > 0);
    },
    bind,
    served: () => serving.end(),
    async unbind(world) {
      for (const [derivation, one] of switches) {
        if (one.world !== world) continue;
        switches.delete(derivation);
        one.stop();
      }
      await Promise.all([...parts].filter((part) => part.world === world).map(stop));
    },
    take(wave) {
      for (const change of wave.changes) {
        switches.get(change.derivation)?.take(change);
        for (const sink of takers.get(change.derivation) ?? [])
          if (options.isReplayed !== true || !writers.has(sink)) sink.take(change);
      }
      for (const { sink } of parts) sink.waveEnded?.();
    },
    get isOpen() {
      return isOpen;
    },
    set isOpen(value) {
      isOpen = value;
    },
  };
}

/** The kind whose objects are the keys of a sink, if there is one: the problem of a key is shown on its object. */
function kindOfKeys({ keys }: Sink): Kind | undefined {
  const sets = Array.isArray(keys) ? (keys as readonly KeySet[]) : [keys as KeySet];
  return sets.find((set): set is Kind => 'plural' in set);
}
