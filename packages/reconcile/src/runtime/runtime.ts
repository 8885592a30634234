// One runtime carries any number of operators in any number of worlds: one engine, one set of facts, one clock.
import {
  type Client,
  type Clock,
  type InformerObserver,
  type Kind,
  type KubeObject,
  type Logger,
  type Random,
  untilAborted,
} from '@capstan/kube';
import { createTurns } from '../apply/index.ts';
import { causeDigest, type DigestKey } from '../digest.ts';
import { createEngine, type Engine, type Root, type Wave } from '../engine/index.ts';
import { createFacts, createInstants, type FactStore } from '../facts/index.ts';
import { alwaysLeader, type Leadership } from '../leadership/index.ts';
import type { Operator } from '../operator.ts';
import type { EventInput } from '../plan/index.ts';
import type { ReadSources } from '../read/world-reader.ts';
import { noopTracer, type Tracer } from '../tracing/index.ts';
import { createHistory, type History } from '../why/index.ts';
import { createWorld, requirementsOf, type World } from '../worlds/index.ts';
import { type Binding, bindReconciler } from './binding.ts';
import { createSink, type Sink, type SinkObserver } from './sink.ts';
import { createWaves } from './waves.ts';

export interface RuntimeOptions {
  operators: readonly Operator[];
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Who may write, per operator; always us by default. */
  leadership?: (operator: Operator) => Leadership;
  /** Where durable facts are kept; without it they are fetched anew after a restart. */
  factStore?: FactStore;
  /** Writes an Event about an object; none by default. */
  tell?: (world: World, operator: Operator, owner: KubeObject, event: EventInput) => void;
  observe?: RuntimeObserver;
  /** Gets a span for every key that is worked on; none by default. */
  tracer?: Tracer;
  /** Freezes what the engine holds, so that tests find who changes it in place. */
  freeze?: boolean;
  /** Caches keep objects whole, whatever their readers declare: a preview tells by them what would change. */
  whole?: boolean;
}

export interface RuntimeObserver {
  wave?(wave: Wave): void;
  sink?(binding: Binding): SinkObserver;
  informer?(world: string, kind: Kind): InformerObserver;
}

export interface WorldInput {
  /** Unique and stable: it is part of the identity of children. Empty for the only one. */
  name: string;
  client: Client;
  /** Restrict namespaced kinds to these namespaces. */
  watchNamespaces?: readonly string[];
  /** The operators' own namespace in this world. */
  namespace?: string;
  /** Which operators reconcile in this world; all by default, none for worlds that are only read. */
  operators?: readonly string[];
}

export interface Runtime {
  readonly engine: Engine;
  readonly worlds: ReadonlyMap<string, World>;
  readonly bindings: readonly Binding[];
  readonly history: History;
  /** Adds a cluster, while running too; its informers start at once. */
  addWorld(input: WorldInput): World;
  removeWorld(name: string): Promise<void>;
  /** The key for digests of secret data; reads that need it wait until it is here. */
  setDigestKey(key: DigestKey): void;
  /** Writes while leading, until the signal is aborted; then stops in order: sinks, facts, informers. */
  run(signal: AbortSignal): Promise<void>;
  /** Takes in everything pending and evaluates. */
  settle(): Promise<void>;
  /** No wave and no write is waiting or under way. */
  readonly isIdle: boolean;
  /** Whether every world has been listed. */
  readonly isSynced: boolean;
  /** Whether every informer has an open watch: what happened until now is known, or on its way. */
  readonly isCurrent: boolean;
  /** Keys that cannot be planned yet, because something that they read is not known. */
  readonly suspended: number;
  /** Keys whose writes are not finished: waiting for a quiet period, a retry or the lease. */
  readonly unsettled: number;
  status(): RuntimeStatus;
}

export interface RuntimeStatus {
  readonly worlds: readonly { name: string; isSynced: boolean; waitingFor: readonly string[] }[];
  readonly reconcilers: readonly { id: string; objects: number; unsettled: number; suspended: readonly Waiting[] }[];
}

export interface Waiting {
  readonly key: string;
  readonly waitingFor: readonly string[];
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const { clock, random, logger, operators } = options;
  const waves = createWaves({ clock, logger, engine: () => engine, onWave });
  const engine: Engine = createEngine({
    clock,
    onPending: () => waves.pending(),
    onWarning: (message) => logger.warn(message),
    // Causes show that a Secret changed, and never what it holds: without the key nobody can guess back from the digest.
    sensitiveDigest(value) {
      const key = digestKey.peek('key');
      return key === undefined ? '' : causeDigest(value, key);
    },
    ...(options.freeze ? { freeze: true } : {}),
  });
  const worlds = new Map<string, World>();
  const worldNames = engine.table<true>({ name: 'worlds' });
  worldNames.synced();
  const digestKey = engine.table<DigestKey>({ name: 'digest key', sensitive: true });
  const facts = createFacts({
    engine,
    clock,
    random,
    logger,
    ...(options.factStore ? { store: options.factStore } : {}),
  });
  const instants = createInstants(engine, clock);
  const sources: ReadSources = {
    engine,
    worlds,
    worldNames,
    facts,
    instants,
    digestKey,
    bound: new Map(),
    digests: new WeakMap(),
    projections: new WeakMap(),
  };
  const history = createHistory();
  const needed = requirementsOf(operators.flatMap(({ reconcilers }) => reconcilers));
  const requirements = options.whole
    ? new Map([...needed].map(([id, one]) => [id, { ...one, trim: undefined }]))
    : needed;
  const leaderships = new Map(operators.map((operator) => [operator, options.leadership?.(operator) ?? alwaysLeader]));
  const bound = new Map<Binding, { sink: Sink; root: Root }>();
  const sinkOf = new Map<unknown, Sink>();
  const turns = createTurns();
  let isRunning = false;

  function onWave(wave: Wave): void {
    for (const change of wave.changes) sinkOf.get(change.derivation)?.take(change);
    options.observe?.wave?.(wave);
  }

  function bind(world: World, operator: Operator): void {
    for (const reconciler of operator.reconcilers) {
      const binding = bindReconciler(engine, sources, operator, reconciler, world);
      const observe = options.observe?.sink?.(binding);
      const sink = createSink({
        binding,
        engine,
        clock,
        random,
        logger,
        history,
        settle: () => waves.settle(),
        mayWrite: () => leaderships.get(operator)?.holds ?? false,
        turns,
        tracer: options.tracer ?? noopTracer,
        tell: (owner, event) => options.tell?.(world, operator, owner, event),
        ...(observe ? { observe } : {}),
      });
      sinkOf.set(binding.writes, sink);
      bound.set(binding, { sink, root: engine.each(binding.table, {}, binding.writes) });
      if (isRunning && leaderships.get(operator)?.holds) sink.open();
    }
  }

  async function unbind(binding: Binding): Promise<void> {
    const found = bound.get(binding);
    if (found === undefined) return;
    bound.delete(binding);
    found.root.stop();
    await found.sink.close({ drain: false });
    sinkOf.delete(binding.writes);
    binding.troubles.drop('absent');
    binding.strangers.drop('absent');
    engine.retire(binding.plans, binding.writes, binding.troubles, binding.strangers);
  }

  async function closeSinks(operator: Operator | undefined, drain: boolean): Promise<void> {
    const sinks = [...bound].filter(([binding]) => operator === undefined || binding.operator === operator);
    await Promise.all(sinks.map(([, { sink }]) => sink.close({ drain })));
  }

  return {
    engine,
    worlds,
    history,
    get bindings() {
      return [...bound.keys()];
    },
    addWorld(input) {
      const { name } = input;
      if (worlds.has(name)) throw new TypeError(`there is a world named ${JSON.stringify(name)} already`);
      const observe = options.observe?.informer;
      const world = createWorld({
        ...input,
        engine,
        clock,
        random,
        logger: name === '' ? logger : logger.with({ world: name }),
        requirements,
        ...(observe ? { observe: (kind) => observe(name, kind) } : {}),
      });
      worlds.set(name, world);
      worldNames.put(name, true);
      for (const operator of operators) if (input.operators?.includes(operator.name) ?? true) bind(world, operator);
      return world;
    },
    async removeWorld(name) {
      const world = worlds.get(name);
      if (world === undefined) return;
      worlds.delete(name);
      worldNames.delete(name);
      await Promise.all([...bound.keys()].filter((binding) => binding.world === world).map(unbind));
      engine.retire(...(sources.bound.get(name)?.values() ?? []));
      sources.bound.delete(name);
      await world.stop();
    },
    setDigestKey: (key) => digestKey.put('key', key),
    async run(signal) {
      isRunning = true;
      const stopElections = new AbortController();
      const elections = [...leaderships].map(([operator, leadership]) => {
        const follow = (holds: boolean) => {
          for (const [binding, { sink }] of bound) {
            if (binding.operator !== operator) continue;
            if (holds && !signal.aborted) sink.open();
            else if (!holds) void sink.close({ drain: false });
          }
        };
        leadership.onChange(follow);
        if (leadership.holds) follow(true);
        return leadership.run(stopElections.signal);
      });
      await untilAborted(signal);
      // In order: no new writes and those under way finished, then facts, caches, and the lease given back last.
      await closeSinks(undefined, true);
      isRunning = false;
      await facts.stop();
      instants.stop();
      await Promise.all([...worlds.values()].map((world) => world.stop()));
      await waves.stop();
      stopElections.abort();
      await Promise.all(elections);
    },
    settle: () => waves.settle(),
    get isIdle() {
      return waves.isIdle && [...bound.values()].every(({ sink }) => sink.isIdle);
    },
    get isSynced() {
      return [...worlds.values()].every((world) => world.isSynced);
    },
    get isCurrent() {
      return [...worlds.values()].every((world) => world.isCurrent);
    },
    get suspended() {
      return [...bound.values()].reduce((sum, { sink }) => sum + sink.suspended.size, 0);
    },
    get unsettled() {
      return [...bound.values()].reduce((sum, { sink }) => sum + sink.unsettled, 0);
    },
    status: () => ({
      worlds: [...worlds.values()].map((world) => ({
        name: world.name,
        isSynced: world.isSynced,
        waitingFor: world.waitingFor(),
      })),
      reconcilers: [...bound].map(([binding, { sink }]) => ({
        id: binding.id,
        objects: binding.table.size,
        unsettled: sink.unsettled,
        suspended: [...sink.suspended].map(([key, waitingFor]) => ({ key, waitingFor })),
      })),
    }),
  };
}
