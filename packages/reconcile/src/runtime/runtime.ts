// One runtime carries any number of operators in any number of worlds: one engine, one set of facts, one clock.
import { keyOfObject, untilAborted } from '@capstan/kube/cluster';
import { causeDigest, type DigestKey } from '../digest.ts';
import { createEngine, type Engine, type Wave } from '../engine/index.ts';
import { RuntimeErrors } from '../errors.ts';
import { createPurity } from '../read/purity.ts';
import type { ReadSources } from '../read/read-sources.ts';
import { LOCAL, roleOf, writesElsewhere } from '../reconciler.ts';
import { createSinkRegistry } from '../sinks/index.ts';
import { createFacts, createInstants, createKnownFacts, createKnownSources, createSources } from '../sources/index.ts';
import { noopTracer } from '../tracing/index.ts';
import { createHistory } from '../why/index.ts';
import {
  createWorld,
  createWorldSet,
  type KindRequirement,
  requirementsOf,
  rolesOf,
  type World,
} from '../worlds/index.ts';
import { createBlame } from './blame.ts';
import { readIdentity } from './cluster-identity.ts';
import { createLeases } from './leases.ts';
import { createParts } from './parts.ts';
import { type Runtime, type RuntimeOptions, type WorldInput } from './runtime-types.ts';
import { createWaves } from './waves.ts';

/** The effects of a change (a first read of an instant, a fact that is known at once) take a wave or two more. */
const MAX_WAVES = 10;

/** A kind that cannot be listed must not keep everything else from being evaluated. */
const GATHER_LIMIT_MS = 5000;

export function createRuntime(options: RuntimeOptions): Runtime {
  const { random, logger, operators } = options;
  const purity = options.checkPurity ? createPurity(options.clock) : undefined;
  const clock = purity?.clock ?? options.clock;
  const { serveFirst = false, freeze = true } = options;
  const gatherUntil = clock.now() + GATHER_LIMIT_MS;
  let isGathering = serveFirst;
  const waves = createWaves({
    clock,
    logger,
    engine: () => engine,
    onWave,
    isGathering() {
      isGathering &&= !isSynced() && clock.now() < gatherUntil;
      return isGathering;
    },
  });
  const engine: Engine = createEngine({
    clock,
    ...(options.replay ? { replay: options.replay.engine } : { onPending: () => waves.pending() }),
    ...(options.record && { recorder: options.record.engine }),
    onTime: (now) => instants.at(now),
    onWarning: (message) => logger.warn(message),
    onFault: (fault) => blame.fault(fault),
    // Causes show that a Secret changed, and never its content: without the key no reader can guess it from the digest.
    sensitiveDigest(value, seen, owner) {
      const key = owner === undefined ? undefined : digestKey.peek(owner);
      return key === undefined ? '' : causeDigest(value, key, seen);
    },
    freeze,
  });
  const declarations = operators.flatMap(({ reconcilers, sinks = [] }) => [...reconcilers, ...sinks]);
  const worlds = createWorldSet(engine, rolesOf(declarations));
  const blame = createBlame({
    worlds,
    operators,
    logger,
    notify: (...event) => options.notify?.(...event),
    count: (what) => options.observe?.failed?.(what),
  });
  const digestKey = engine.table<DigestKey>({ name: 'digest key', sensitive: true });
  const common = { engine, clock, random, logger, note: blame.note };
  const isReplayed = options.replay !== undefined;
  const facts = isReplayed
    ? createKnownFacts(engine, [])
    : createFacts({ ...common, performed: options.facts ?? 'all' });
  const outside = isReplayed ? createKnownSources(engine, []) : createSources(common);
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
    ...(purity ? { purely: purity.run } : {}),
    projections: new WeakMap(),
  };
  const history = createHistory();
  const leases = createLeases(options);
  const parts = createParts({
    engine,
    sources,
    worlds,
    clock,
    random,
    logger,
    history,
    deliveryHistory: options.deliveryHistory ?? true,
    serveFirst,
    ...(options.isServing && { isServing: options.isServing }),
    isReplayed,
    onPlans(name) {
      options.record?.plans(name);
      options.replay?.plans(name);
    },
    ...(options.record && { onServed: () => options.record?.served() }),
    leases,
    blame,
    tracer: options.tracer ?? noopTracer,
    settle: () => waves.settle(),
    caughtUp: () => waves.caughtUp(),
    notify: (...event) => options.notify?.(...event),
    observe: (binding) => options.observe?.sink?.(binding),
  });
  const leavings = new Map<string, AbortController>();
  const waveListeners = new Set<(wave: Wave) => void>();

  function onWave(wave: Wave): void {
    facts.afterWave();
    parts.take(wave);
    options.observe?.wave?.(wave);
    for (const listener of waveListeners) listener(wave);
  }

  function isSynced(): boolean {
    return [...worlds.all.values()].every((world) => world.isSynced);
  }

  function leaving(name: string): AbortController {
    const controller = leavings.get(name) ?? new AbortController();
    leavings.set(name, controller);
    return controller;
  }

  async function identify(world: World, signal: AbortSignal): Promise<void> {
    const identity = await readIdentity(world, { clock, random, logger, signal });
    if (identity !== undefined) sources.identities.put(world.name, identity);
  }

  /** Objects that were written in a removed world stay there: their owners are released without them. */
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

  options.replay?.begin({
    engine,
    wave() {
      onWave(engine.flushSync());
      engine.forgetWave();
    },
    served: () => parts.served(),
  });

  return {
    engine,
    worlds: worlds.all,
    history,
    instants,
    get facts() {
      return facts.opened();
    },
    performedFacts: options.facts ?? 'all',
    get bindings() {
      return [...parts.all].flatMap(({ binding }) => binding ?? []);
    },
    get sinks() {
      return [...parts.all].flatMap(({ delivers }) => delivers ?? []);
    },
    addWorld(input) {
      const { name, role = LOCAL } = input;
      if (worlds.get(name) !== undefined) throw RuntimeErrors.WorldExists(name);
      const observe = options.observe?.informer;
      const needed = requirementsOf(declarations, role);
      options.record?.worldAdded(recordedWorld(input));
      const created = createWorld({
        ...input,
        engine,
        clock,
        random,
        logger: name === '' ? logger : logger.with({ world: name }),
        requirements: options.whole ? whole(needed) : needed,
        guard: options.checkFields ?? false,
        freeze,
        ...(options.watchSeconds === undefined ? {} : { watchSeconds: options.watchSeconds }),
        onView(kind, object, error) {
          const place = worlds.get(name);
          const key = keyOfObject(object);
          if (error !== undefined) blame.note(`normalise of ${kind.kind}`, key, error);
          if (place === undefined) return;
          if (error === undefined) blame.clear(place, kind, key, 'normalise');
          else blame.show(place, kind, key, 'normalise', error);
        },
        ...(observe ? { observe: (kind) => observe(name, kind) } : {}),
      });
      const world = options.replay?.world(created) ?? created;
      worlds.add(world, role);
      if (declarations.some((one) => 'writes' in one && roleOf(one) === role && writesElsewhere(one)))
        void identify(world, leaving(name).signal);
      for (const operator of operators)
        if (input.operators?.includes(operator.name) ?? true) parts.bind(world, operator);
      return world;
    },
    async removeWorld(name) {
      const world = worlds.get(name);
      if (world === undefined) return;
      options.record?.worldRemoved(name);
      logOrphans(world);
      worlds.remove(name);
      leavings.get(name)?.abort();
      leavings.delete(name);
      sources.identities.forget(name);
      await parts.unbind(world);
      const bound = [...(sources.bound.get(name)?.values() ?? [])].flatMap((definitions) => [...definitions.values()]);
      engine.retire(...bound);
      sources.bound.delete(name);
      await world.stop();
    },
    completeWorlds: (role) => worlds.complete(role),
    setDigestKey(key, operator) {
      for (const { name } of operators) if (operator === undefined || operator === name) digestKey.put(name, key);
    },
    onWave(listener) {
      waveListeners.add(listener);
      return () => waveListeners.delete(listener);
    },
    async run(signal) {
      parts.isOpen = true;
      const stopElections = new AbortController();
      for (const part of parts.all) leases.of(part.operator, part.sink.lease);
      const elections = leases.start(stopElections.signal, (leadership, holds) => {
        for (const operator of operators)
          if (leases.of(operator, 'operator') === leadership) options.record?.lease(operator.name, holds);
        // The server answers: after an outage watches need not wait for the end of their pauses.
        if (holds) for (const world of worlds.all.values()) world.poke();
        for (const { operator, sink } of parts.all) {
          if (leases.of(operator, sink.lease) !== leadership) continue;
          if (holds && !signal.aborted) sink.open();
          else if (!holds) void sink.close({ drain: false });
        }
      });
      await untilAborted(signal);
      // In order: send nothing new and finish running work, then stop its inputs and the caches, and give the leases back last.
      await Promise.all([...parts.all].map(({ sink }) => sink.close({ drain: true })));
      parts.isOpen = false;
      await Promise.all([...parts.all].map(async ({ sink }) => sink.end?.()));
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
      return waves.isIdle && [...parts.all].every(({ sink }) => sink.isIdle);
    },
    get isSynced() {
      return isSynced();
    },
    get isCurrent() {
      return [...worlds.all.values()].every((world) => world.isCurrent);
    },
    get suspended() {
      return [...parts.all].reduce((sum, { sink }) => sum + sink.suspended.size, 0);
    },
    get unsettled() {
      return [...parts.all].reduce((sum, { sink }) => sum + sink.unsettled, 0);
    },
    status: () => ({
      worlds: [...worlds.all.values()].map((world) => ({
        name: world.name,
        role: worlds.roleOf(world.name),
        isSynced: world.isSynced,
        waitingFor: world.waitingFor(),
      })),
      undecided: parts.undecided,
      reconcilers: [...parts.all].map(({ sink, objects }) => ({
        id: sink.id,
        objects: objects(),
        unsettled: sink.unsettled,
        suspended: [...sink.suspended].map(([key, waitingFor]) => ({ key, waitingFor })),
      })),
    }),
  };
}

function recordedWorld({ name, role = LOCAL, watchNamespaces, namespace, operators }: WorldInput) {
  return {
    name,
    role,
    ...(watchNamespaces && { watchNamespaces }),
    ...(namespace !== undefined && { namespace }),
    ...(operators && { operators }),
  };
}

function whole(needed: ReadonlyMap<string, KindRequirement>): ReadonlyMap<string, KindRequirement> {
  return new Map([...needed].map(([id, one]) => [id, { ...one, fields: undefined }]));
}
