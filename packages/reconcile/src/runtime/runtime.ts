// One runtime carries any number of operators in any number of worlds: one engine, one set of facts, one clock.
import {
  type Client,
  type Clock,
  formatTime,
  type InformerObserver,
  type Kind,
  type KubeObject,
  keyOfObject,
  type Logger,
  Namespace,
  type Random,
  sleep,
  untilAborted,
} from '@capstan/kube';
import { createTurns } from '../apply/index.ts';
import { causeDigest, type DigestKey } from '../digest.ts';
import { type Change, createEngine, type Derivation, type Engine, type Wave } from '../engine/index.ts';
import { RuntimeErrors } from '../errors.ts';
import type { Leadership } from '../leadership/index.ts';
import type { Operator } from '../operator.ts';
import type { EventInput } from '../plan/index.ts';
import { IDENTITY_NAMESPACE } from '../rbac/index.ts';
import { bindDerived, type ReadSources, unmarked } from '../read/world-reader.ts';
import { LOCAL, type Reconciler, type Role, roleOf, writesElsewhere } from '../reconciler.ts';
import {
  type BoundSink,
  createDelivery,
  createKeySets,
  createSinkRegistry,
  type Delivery,
  type KeySets,
  type Sink,
  type SinkLease,
} from '../sinks/index.ts';
import { createFacts, createInstants, createSources, type FactStore } from '../sources/index.ts';
import { noopTracer, type Tracer } from '../tracing/index.ts';
import { causeRecord, createHistory, type History } from '../why/index.ts';
import {
  createWorld,
  createWorldSet,
  type KindRequirement,
  requirementsOf,
  rolesOf,
  type World,
} from '../worlds/index.ts';
import { type ApiWriterObserver, createApiWriter } from './api-writer.ts';
import { type Binding, bindReconciler } from './binding.ts';
import { createLeases } from './leases.ts';
import { createWaves } from './waves.ts';

export interface RuntimeOptions {
  operators: readonly Operator[];
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Who may write, per operator; always us by default. */
  leadership?: (operator: Operator) => Leadership;
  /** Who may deliver to sinks with a lease of their own; always us by default. Asked once for each lease. */
  sinkLeadership?: (operator: Operator, lease: SinkLease) => Leadership;
  /** Where durable facts are kept; without it they are fetched again after a restart. */
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
  sink?(binding: Binding): ApiWriterObserver;
  informer?(world: string, kind: Kind): InformerObserver;
}

export interface WorldInput {
  /** Unique. Empty for the local one; the only world of another role has the role's name. */
  name: string;
  /** What the cluster is to the operators: it decides what is cached and which reconcilers and sinks run. `local` by default. */
  role?: Role;
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
  /** Sinks that operators define, where they are bound. */
  readonly sinks: readonly SinkBinding[];
  readonly history: History;
  /** Adds a cluster, while running too; its informers start at once. */
  addWorld(input: WorldInput): World;
  removeWorld(name: string): Promise<void>;
  /** All worlds of a role have been added: from now on a world that is not there is absent, not unknown. */
  completeWorlds(role: Role): void;
  /** The key for digests of secret data, of one operator or of all; reads that need it wait until it is here. */
  setDigestKey(key: DigestKey, operator?: string): void;
  /** Writes while leading, until the signal is aborted; then stops in order: sinks, facts, informers. */
  run(signal: AbortSignal): Promise<void>;
  /** Takes in everything pending and evaluates, with what follows from it; a cluster that never rests is not waited for. */
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
  readonly worlds: readonly { name: string; role: Role; isSynced: boolean; waitingFor: readonly string[] }[];
  /** Reconcilers, and sinks of operators. */
  readonly reconcilers: readonly { id: string; objects: number; unsettled: number; suspended: readonly Waiting[] }[];
}

/** A sink of an operator in a world. */
export interface SinkBinding {
  readonly id: string;
  readonly operator: Operator;
  readonly sink: Sink;
  readonly world: World;
  /** What it delivers. */
  readonly derivation: Derivation<unknown>;
  readonly keys: KeySets;
}

export interface Waiting {
  readonly key: string;
  readonly waitingFor: readonly string[];
}

interface Switch {
  readonly world: World;
  take(change: Change): void;
  stop(): void;
}

/** Between two tries to read the identity of a cluster. */
const MAX_IDENTIFY_MS = 60_000;

/** A reconciler's writer or an operator's sink, as long as it is bound. */
interface Part {
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

/** What follows from a change (a first read of an instant, a fact that is known at once) takes a wave or two more. */
const MAX_WAVES = 10;

export function createRuntime(options: RuntimeOptions): Runtime {
  const { clock, random, logger, operators } = options;
  const waves = createWaves({ clock, logger, engine: () => engine, onWave });
  const engine: Engine = createEngine({
    clock,
    onPending: () => waves.pending(),
    onWarning: (message) => logger.warn(message),
    // Causes show that a Secret changed, and never what it holds: without the key no reader can guess back from the digest.
    sensitiveDigest(value) {
      const key = operators.map(({ name }) => digestKey.peek(name)).find((found) => found !== undefined);
      return key === undefined ? '' : causeDigest(value, key);
    },
    ...(options.freeze ? { freeze: true } : {}),
  });
  const declarations = operators.flatMap(({ reconcilers, sinks = [] }) => [...reconcilers, ...sinks]);
  const worlds = createWorldSet(engine, rolesOf(declarations));
  const digestKey = engine.table<DigestKey>({ name: 'digest key', sensitive: true });
  const common = { engine, clock, random, logger };
  const facts = createFacts({ ...common, ...(options.factStore ? { store: options.factStore } : {}) });
  const outside = createSources(common);
  const instants = createInstants(engine, clock);
  const sources: ReadSources = {
    engine,
    worlds,
    facts,
    outside,
    sinks: createSinkRegistry(engine),
    problems: new Map(),
    identities: engine.table<string>({ name: 'identities of clusters' }),
    instants,
    digestKey,
    bound: new Map(),
    delivered: new Set(operators.flatMap(({ sinks = [] }) => sinks.map(({ of }) => of))),
    digests: new WeakMap(),
    definitions: new Map(),
    projections: new WeakMap(),
  };
  const history = createHistory();
  const leases = createLeases(options);
  const parts = new Set<Part>();
  const takers = new Map<unknown, Set<BoundSink>>();
  /** What switches parts on and off. */
  const switches = new Map<unknown, Switch>();
  const turns = createTurns();
  const leavings = new Map<string, AbortController>();
  let isRunning = false;

  function onWave(wave: Wave): void {
    facts.afterWave();
    for (const change of wave.changes) {
      switches.get(change.derivation)?.take(change);
      for (const sink of takers.get(change.derivation) ?? []) sink.take(change);
    }
    for (const { sink } of parts) sink.waveEnded?.();
    options.observe?.wave?.(wave);
  }

  function bind(world: World, operator: Operator): void {
    const role = worlds.roleOf(world.name);
    for (const reconciler of operator.reconcilers)
      if (roleOf(reconciler) === role)
        bindPart(world, operator, reconciler, () =>
          writerOf(bindReconciler(engine, sources, operator, reconciler, world)),
        );
    for (const sink of operator.sinks ?? [])
      if (roleOf(sink) === role) bindPart(world, operator, sink, () => deliveryOf(world, operator, sink));
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
      // What is not known leaves it as it is.
      take: (change) => change.after?.state === 'value' && turn(change.after.value === true),
      stop() {
        root.stop();
        engine.retire(derivation);
      },
    });
  }

  function writerOf(binding: Binding): Part {
    const { operator, world } = binding;
    const observe = options.observe?.sink?.(binding);
    const sink = createApiWriter({
      binding,
      engine,
      clock,
      random,
      logger,
      history,
      settle: () => waves.settle(),
      mayWrite: () => leases.of(operator, 'operator').holds,
      turns,
      tracer: options.tracer ?? noopTracer,
      tell: (owner, event) => options.tell?.(world, operator, owner, event),
      ...(observe ? { observe } : {}),
    });
    const root = engine.each(binding.table, {}, binding.writes);
    return {
      operator,
      world,
      sink,
      binding,
      derivations: [binding.writes],
      objects: () => binding.table.size,
      unbind() {
        root.stop();
        binding.troubles.drop('absent');
        binding.strangers.drop('absent');
        sources.problems.delete(`${binding.operator.name}.${binding.reconciler.name}@${world.name}`);
        engine.retire(binding.plans, binding.writes, binding.troubles, binding.strangers);
      },
    };
  }

  function deliveryOf(world: World, operator: Operator, sink: Sink): Part {
    const id = world.name === '' ? `${operator.name}.${sink.name}` : `${operator.name}.${sink.name}@${world.name}`;
    const derivation = bindDerived(sources, world, operator.name, sink.of);
    const keys = createKeySets({
      engine,
      sources,
      world,
      operator: operator.name,
      id,
      sink,
      delivered: derivation,
      onNamed: (key) => delivery.expect(key),
      onDropped: (key) => delivery.unexpect(key),
    });
    const delivery: Delivery = createDelivery({
      id,
      operator,
      sink,
      keys,
      tables: sources.sinks.of(world.name, sink),
      world: world.name,
      clock,
      random,
      logger: logger.with({ operator: operator.name }),
      mayAct: () => leases.of(operator, sink.lease).holds,
      delivered({ key }, causes) {
        const cause = causeRecord(formatTime(clock.now()), id, `${sink.name} ${key}`, causes);
        history.record(`${sink.name} ${key}`, { verb: 'deliver', cause });
      },
    });
    return {
      operator,
      world,
      sink: delivery,
      delivers: { id, operator, sink, world, derivation, keys },
      derivations: [derivation, ...keys.derivations],
      objects: () => delivery.size,
      unbind() {},
    };
  }

  function start(part: Part): void {
    parts.add(part);
    for (const derivation of part.derivations)
      takers.set(derivation, (takers.get(derivation) ?? new Set()).add(part.sink));
    if (isRunning && leases.of(part.operator, part.sink.lease).holds) part.sink.open();
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

  function leaving(name: string): AbortController {
    const controller = leavings.get(name) ?? new AbortController();
    leavings.set(name, controller);
    return controller;
  }

  /** Children elsewhere carry the identity of this cluster: nothing is written there before it is known. */
  async function identify(world: World, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const { metadata } = await world.client.get(Namespace, { name: IDENTITY_NAMESPACE }, { signal });
        sources.identities.put(world.name, metadata.uid ?? '');
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('could not read the identity of the cluster; it is tried again', { world: world.name, error });
        await sleep(clock, Math.min(1000 * 2 ** failures, MAX_IDENTIFY_MS), signal).catch(() => {});
      }
    }
  }

  /** What was written in a world that goes stays there: its owners are released without it. */
  function logOrphans(world: World): void {
    const left = worlds.roleOf(world.name) === LOCAL ? [] : world.children();
    if (left.length === 0) return;
    const objects = left.slice(0, 20).map(({ kind, object }) => `${kind.kind} ${keyOfObject(object)}`);
    logger.warn('the cluster was removed; these objects of ours are left in it', {
      world: world.name,
      objects,
      more: Math.max(0, left.length - objects.length),
    });
  }

  return {
    engine,
    worlds: worlds.all,
    history,
    get bindings() {
      return [...parts].flatMap(({ binding }) => binding ?? []);
    },
    get sinks() {
      return [...parts].flatMap(({ delivers }) => delivers ?? []);
    },
    addWorld(input) {
      const { name, role = LOCAL } = input;
      if (worlds.get(name) !== undefined) throw RuntimeErrors.WorldExists(name);
      const observe = options.observe?.informer;
      const needed = requirementsOf(declarations, role);
      const world = createWorld({
        ...input,
        engine,
        clock,
        random,
        logger: name === '' ? logger : logger.with({ world: name }),
        requirements: options.whole ? whole(needed) : needed,
        ...(observe ? { observe: (kind) => observe(name, kind) } : {}),
      });
      worlds.add(world, role);
      if (declarations.some((one) => 'writes' in one && roleOf(one) === role && writesElsewhere(one)))
        void identify(world, leaving(name).signal);
      for (const operator of operators) if (input.operators?.includes(operator.name) ?? true) bind(world, operator);
      return world;
    },
    async removeWorld(name) {
      const world = worlds.get(name);
      if (world === undefined) return;
      logOrphans(world);
      worlds.remove(name);
      leavings.get(name)?.abort();
      leavings.delete(name);
      sources.identities.forget(name);
      for (const [derivation, one] of switches) {
        if (one.world !== world) continue;
        switches.delete(derivation);
        one.stop();
      }
      await Promise.all([...parts].filter((part) => part.world === world).map(stop));
      const bound = [...(sources.bound.get(name)?.values() ?? [])].flatMap((definitions) => [...definitions.values()]);
      engine.retire(...bound);
      sources.bound.delete(name);
      await world.stop();
    },
    completeWorlds: (role) => worlds.complete(role),
    setDigestKey(key, operator) {
      for (const { name } of operators) if (operator === undefined || operator === name) digestKey.put(name, key);
    },
    async run(signal) {
      isRunning = true;
      const stopElections = new AbortController();
      for (const part of parts) leases.of(part.operator, part.sink.lease);
      const elections = leases.start(stopElections.signal, (leadership, holds) => {
        for (const { operator, sink } of parts) {
          if (leases.of(operator, sink.lease) !== leadership) continue;
          if (holds && !signal.aborted) sink.open();
          else if (!holds) void sink.close({ drain: false });
        }
      });
      await untilAborted(signal);
      // In order: nothing new is sent and what is under way finished, then what feeds them, caches, and the leases given back last.
      await Promise.all([...parts].map(({ sink }) => sink.close({ drain: true })));
      isRunning = false;
      await Promise.all([...parts].map(async ({ sink }) => sink.end?.()));
      await facts.stop();
      await outside.stop();
      instants.stop();
      for (const controller of leavings.values()) controller.abort();
      await Promise.all([...worlds.all.values()].map((world) => world.stop()));
      await waves.stop();
      stopElections.abort();
      await elections;
    },
    async settle() {
      for (let wave = 0; wave < MAX_WAVES && !waves.isIdle; wave++) await waves.settle();
    },
    get isIdle() {
      return waves.isIdle && [...parts].every(({ sink }) => sink.isIdle);
    },
    get isSynced() {
      return [...worlds.all.values()].every((world) => world.isSynced);
    },
    get isCurrent() {
      return [...worlds.all.values()].every((world) => world.isCurrent);
    },
    get suspended() {
      return [...parts].reduce((sum, { sink }) => sum + sink.suspended.size, 0);
    },
    get unsettled() {
      return [...parts].reduce((sum, { sink }) => sum + sink.unsettled, 0);
    },
    status: () => ({
      worlds: [...worlds.all.values()].map((world) => ({
        name: world.name,
        role: worlds.roleOf(world.name),
        isSynced: world.isSynced,
        waitingFor: world.waitingFor(),
      })),
      reconcilers: [...parts].map(({ sink, objects }) => ({
        id: sink.id,
        objects: objects(),
        unsettled: sink.unsettled,
        suspended: [...sink.suspended].map(([key, waitingFor]) => ({ key, waitingFor })),
      })),
    }),
  };
}

function whole(needed: ReadonlyMap<string, KindRequirement>): ReadonlyMap<string, KindRequirement> {
  return new Map([...needed].map(([id, one]) => [id, { ...one, trim: undefined }]));
}
