// The Reader over worlds: finds the table behind each read and lets the engine record it.
import { type Kind, type KubeObject, keyOf, kindId, type ObjectRef } from '@capstan/kube/cluster';
import { type Digest, type DigestKey, keyedDigest, keyFor, plainDigest } from '../digest.ts';
import type { Derivation, Projection as EngineProjection, Table } from '../engine/index.ts';
import { ReadErrors } from '../errors.ts';
import { checkPlain, isPromise, refusePromise } from '../guard.ts';
import { LOCAL, type Role } from '../reconciler.ts';
import type { SinkDefinition, SinkReader } from '../sinks/sink.ts';
import type { SinkReport } from '../sinks/sink-tables.ts';
import type { World } from '../worlds/world.ts';
import { explainingChanges } from './changed-value.ts';
import type { DerivationDefinition } from './derivation.ts';
import { ofRow, throughMarks, toEngine, unmarked } from './engine-projections.ts';
import type { FactDefinition, FactState } from './fact.ts';
import type { AggregateDefinition } from './fold.ts';
import type { KindIndex } from './kind-index.ts';
import { type BoundDerivations, type ReadSources, type Run } from './read-sources.ts';
import type { Access, Derived, Projection, Reader, WatchProblem, Where, WriteProblem } from './reader.ts';
import { collectSensitive, isMarked, isSensitive, marked } from './sensitive.ts';
import type { SourceDefinition, SourceReader, SourceState } from './source.ts';

/** A kind in a role, as `declared` names it. */
export function declaredIn(role: Role, kind: Kind): string {
  return `${role} ${kindId(kind)}`;
}

export class WorldReader implements Reader {
  readonly #run: Run;
  readonly #world: World;

  constructor(run: Run, world: World) {
    this.#run = run;
    this.#world = world;
  }

  get<T extends KubeObject, P = T>(kind: Kind<T>, ref: ObjectRef, project?: Projection<T, P>): P | undefined {
    const table = this.#table(kind);
    const { tracker } = this.#run;
    if (kind.scope === 'Namespaced' && !ref.namespace)
      throw ReadErrors.NoNamespace(this.#run.name, kindId(kind), ref.name);
    const names = this.#world.readsOnly(kind);
    if (names?.includes(ref.name) === false)
      throw ReadErrors.UndeclaredName(this.#run.name, kindId(kind), ref.name, names);
    const key = keyOf(kind.scope === 'Cluster' ? { name: ref.name } : ref);
    this.#waitUnlessCovered(kind, ref.namespace, key);
    const found =
      project === undefined
        ? tracker.get(table, key)
        : tracker.get(table, key, project as unknown as EngineProjection<KubeObject, P>);
    if (kind.sensitive) this.#mark(found);
    return found as P | undefined;
  }

  list<T extends KubeObject, P = T>(kind: Kind<T>, where: Where = {}, project?: Projection<T, P>): readonly P[] {
    const table = this.#table(kind);
    const { tracker } = this.#run;
    this.#refuseNames(kind);
    this.#waitUnlessCovered(kind, where.namespace, where.namespace ?? '');
    const found =
      project === undefined
        ? tracker.list(table, toEngine(where))
        : tracker.list(table, toEngine(where), project as unknown as EngineProjection<KubeObject, P>);
    if (kind.sensitive) this.#mark(found);
    return found as readonly P[];
  }

  by<T extends KubeObject, P = T>(index: KindIndex<T>, key: string, project?: Projection<T, P>): readonly P[] {
    this.#table(index.kind);
    this.#refuseNames(index.kind);
    this.#defined('index', index, index.keysOf);
    const bound = this.#world.indexOf(index);
    if (bound === undefined) throw this.#undeclared(index.kind);
    const { tracker } = this.#run;
    const found =
      project === undefined
        ? tracker.by(bound, key)
        : tracker.by(bound, key, project as unknown as EngineProjection<KubeObject, P>);
    if (index.kind.sensitive) this.#mark(found);
    return found as readonly P[];
  }

  fact<V, I, E>(fact: FactDefinition<V, I, E>, input: I): FactState<V, E> {
    const { tracker, sources } = this.#run;
    const key = this.#factKey(fact, input);
    this.#defined('fact', fact, fact);
    // A fact is never absent: it is there or not known yet, and then the read has already suspended.
    const state = tracker.get(sources.facts.table(fact, key, input), key) as FactState<V, E>;
    if (fact.sensitive) this.#mark(state.value);
    return state;
  }

  source<V>(source: SourceDefinition<V>): SourceReader<V> {
    const { tracker, sources } = this.#run;
    const { rows, state, completions } = sources.outside.of(source);
    const seen = <P>(found: P): P => {
      if (source.sensitive) this.#mark(found);
      return found;
    };
    return {
      get: <P>(key: string, project?: (row: V) => P) =>
        seen(
          project === undefined ? tracker.get(rows, key)?.row : tracker.get(rows, key, ofRow(sources, project)),
        ) as P & V,
      rows: () => seen(tracker.list(rows)),
      keys: () => tracker.keys(rows),
      state: () => tracker.get(state, '') as SourceState,
      // Never absent: it is there or not known yet, and then the read has already suspended.
      completedAt: () => tracker.get(completions, '') as number,
    };
  }

  sink<R, S>(sink: SinkDefinition<R, S>): SinkReader<S> {
    const { tracker, sources } = this.#run;
    const { reports, states } = sources.sinks.of(this.#world.name, sink);
    return {
      report: <P>(key: string, project?: (row: S) => P) =>
        (project === undefined
          ? tracker.get(reports, key)?.row
          : tracker.get(reports, key, ofRow(sources, project))) as P & S,
      reports: () => tracker.list(reports) as readonly (SinkReport & { row: S })[],
      // Never absent: states are there or asked for, and then the read has already suspended.
      state: (key) => tracker.get(states, key) as ReturnType<SinkReader<S>['state']>,
    };
  }

  derived<R, P = R>(derivation: Derived<R>, key: string, project?: Projection<R, P>): P {
    const { tracker, sources } = this.#run;
    this.#defined('derivation', derivation, derivation);
    const bound = bindDerived(sources, this.#world, this.#run.operator, derivation);
    const found: unknown =
      project === undefined ? tracker.derived(bound, key) : tracker.derived(bound, key, throughMarks(sources, project));
    if (!isMarked(found)) return found as P;
    this.#run.sensitive ??= new Set();
    for (const text of found.$sensitive) this.#run.sensitive.add(text);
    return found.$value as P;
  }

  writeProblem(reconciler: string, key: string): WriteProblem | undefined {
    const { tracker, sources, operator, name } = this.#run;
    const problems = sources.problems.get(`${operator}.${reconciler}@${this.#world.name}`);
    if (problems === undefined) throw ReadErrors.NoReconciler(name, reconciler);
    const { tables, plans } = problems;
    // While it waits for a cache, it is not known whether anything stands in its way. Its own plan does not wait for itself.
    if (plans.name !== name && tracker.settled(plans, key).state === 'suspended') tracker.derived(plans, key);
    return tables.map((table) => tracker.get(table, key)).find((problem) => problem !== undefined);
  }

  in(world: string): Reader | undefined {
    const { tracker, sources } = this.#run;
    const found = sources.worlds.find(tracker, world);
    return found === undefined ? undefined : new WorldReader(this.#run, found);
  }

  worlds(role?: Role): readonly string[] {
    return this.#run.sources.worlds.names(this.#run.tracker, role);
  }

  reached(instant: number | string): boolean {
    return this.#run.sources.instants.reached(this.#run.tracker, instant);
  }

  access(kind: Kind): Access {
    this.#table(kind);
    return this.#run.tracker.get(this.#world.access, kindId(kind)) as Access;
  }

  watchProblem(kind: Kind): WatchProblem | undefined {
    this.#table(kind);
    return this.#run.tracker.get(this.#world.watchProblems, kindId(kind));
  }

  covers(kind: Kind, namespace: string): boolean {
    this.#table(kind);
    return this.#world.covers(kind, namespace);
  }

  #table(kind: Kind): Table<KubeObject> {
    const table = this.#world.readTable(kind) ?? this.#world.childTable(kind);
    const role = this.#run.sources.worlds.roleOf(this.#world.name);
    if (table === undefined || this.#run.declared?.has(declaredIn(role, kind)) === false) throw this.#undeclared(kind);
    return table;
  }

  #factKey<V, I, E>(fact: FactDefinition<V, I, E>, input: I): string {
    const label = fact.label?.(input) ?? (typeof input === 'string' ? input : '');
    if (typeof input === 'string' && label === input && !isSensitive(input, this.#run.sensitive)) return input;
    return `${label} ${digestOf(this.#run)(input)}`.trimStart();
  }

  /**
   * Indexes, facts and derivations are known by identity and kept: one that is created inside a reconciler would be another in
   * every run, and each run would leave one behind.
   */
  #defined(sort: string, named: { name: string; kind?: Kind }, definition: object): void {
    const { sources, operator, name: reader } = this.#run;
    // Two operators may be made of the same parts, each with definitions of its own.
    const place = `${operator} ${reader}`;
    let read = sources.definitions.get(place);
    if (read?.known.has(definition)) return;
    if (read === undefined) {
      read = { known: new Set(), names: new Set() };
      sources.definitions.set(place, read);
    }
    const name = named.kind === undefined ? named.name : `${named.name} of ${kindId(named.kind)}`;
    const id = `${sort} ${name}`;
    if (read.names.has(id)) throw ReadErrors.DefinedTwice(reader, sort, name);
    read.names.add(id);
    read.known.add(definition);
  }

  /** A list of single names would leave out every other object without a sign. */
  #refuseNames(kind: Kind): void {
    const names = this.#world.readsOnly(kind);
    if (names !== undefined) throw ReadErrors.NamesOnly(this.#run.name, kindId(kind), names);
  }

  /** Absent always means that the server confirmed it: the server confirms nothing about a namespace that is not watched. */
  #waitUnlessCovered(kind: Kind, namespace: string | undefined, key: string): void {
    if (this.#world.covers(kind, namespace)) return;
    this.#run.tracker.get(this.#world.beyond, `${kindId(kind)} ${key}`);
  }

  #undeclared(kind: Kind): Error {
    const role = this.#run.sources.worlds.roleOf(this.#world.name);
    if (role === LOCAL) return ReadErrors.Undeclared(this.#run.name, kindId(kind));
    return ReadErrors.UndeclaredIn(this.#run.name, kindId(kind), role);
  }

  #mark(found: unknown): void {
    if (found === undefined) return;
    this.#run.sensitive ??= new Set();
    collectSensitive(found, this.#run.sensitive);
  }
}

/** The digest function of one run: strings that the run got from sensitive objects are keyed. */
export function digestOf(run: Run): Digest {
  const key = () =>
    keyFor(run.tracker.get(run.sources.digestKey, run.operator) as DigestKey, namespaceOf(run.key), 'inputs');
  return (...values) => {
    const { sensitive, sources } = run;
    if (sensitive !== undefined) return keyedDigest(values, (text) => isSensitive(text, sensitive), key);
    const place = values.find((value) => typeof value === 'object' && value !== null);
    const last = place === undefined ? undefined : sources.digests.get(place);
    if (last !== undefined && last.run !== run && areSame(last.values, values)) return last.digest;
    const digest = plainDigest(...values);
    if (place !== undefined) sources.digests.set(place, { run, values, digest });
    return digest;
  };
}

/** As in the engine's tables: the key up to its first slash. */
function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

function areSame(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length === after.length && before.every((value, at) => value === after[at]);
}

/** The engine's derivation for a definition in one world and for one operator, created on first use. */
export function bindDerived<R>(
  sources: ReadSources,
  world: World,
  operator: string,
  definition: Derived<R>,
): Derivation<unknown> {
  const perOperator = sources.bound.get(world.name) ?? new Map<string, BoundDerivations>();
  sources.bound.set(world.name, perOperator);
  const bound: BoundDerivations = perOperator.get(operator) ?? new Map();
  perOperator.set(operator, bound);
  const existing = bound.get(definition);
  if (existing !== undefined) return existing;
  const place = { sources, world, operator };
  const created = 'aggregate' in definition ? bindAggregate(place, definition) : bindDerivation(place, definition);
  bound.set(definition, created);
  return created;
}

interface BindingPlace {
  readonly sources: ReadSources;
  readonly world: World;
  readonly operator: string;
}

function nameIn(world: World, { name }: { name: string }): string {
  return world.name === '' ? name : `${name}@${world.name}`;
}

function bindDerivation<R>({ sources, world, operator }: BindingPlace, definition: DerivationDefinition<R>) {
  const isSame =
    definition.equals === undefined
      ? undefined
      : (before: unknown, after: unknown) => definition.equals?.(unmarked(before) as R, unmarked(after) as R) ?? false;
  return sources.engine.derive<unknown>({
    name: nameIn(world, definition),
    compute(key, tracker, before) {
      const compute = () => {
        const sensitive = isMarked(before) ? new Set(before.$sensitive) : undefined;
        const run: Run = { tracker, sources, sensitive, declared: undefined, name: definition.name, operator, key };
        const value = definition.compute({
          key,
          read: new WorldReader(run, world),
          digest: digestOf(run),
          get previous() {
            tracker.remembers();
            return unmarked(before);
          },
        });
        if (isPromise(value)) refusePromise(`the derivation ${definition.name}`, value);
        // From the second result on, the comparison finds circular values.
        if (before === undefined) checkPlain(`the result of ${definition.name}`, value);
        return marked(value, run.sensitive);
      };
      const name = `the derivation ${definition.name}`;
      const explained = () => explainingChanges(name, compute);
      return sources.purely === undefined ? explained() : sources.purely(name, explained, isSame);
    },
    ...(isSame === undefined ? {} : { equals: isSame }),
    ...(definition.onCycle ? { onCycle: (members) => definition.onCycle?.(members) } : {}),
    sink: sources.delivered.has(definition),
    owner: operator,
  });
}

/** Parts of sensitive objects come without their marks: digest them where they are read. */
function bindAggregate<R>(
  { sources, world, operator }: BindingPlace,
  aggregated: AggregateDefinition<R>,
): Derivation<unknown> {
  const sink = sources.delivered.has(aggregated);
  const { engine } = sources;
  const definition = aggregated.aggregate;
  const table = world.readTable(definition.kind);
  if (table === undefined) throw ReadErrors.Undeclared(aggregated.name, kindId(definition.kind));
  const names = world.readsOnly(definition.kind);
  if (names !== undefined) throw ReadErrors.NamesOnly(aggregated.name, kindId(definition.kind), names);
  const { part } = definition;
  const bound = typeof part === 'function' ? part : bindDerived(sources, world, operator, part);
  return engine.fold<unknown, unknown, R, KubeObject>({
    name: nameIn(world, aggregated),
    over: (key) => ({ table, where: toEngine(definition.where?.(key) ?? {}) }),
    part: bound,
    sink,
    owner: operator,
    empty: () => definition.empty(),
    put: (state, member, value, previous) => definition.put(state, member, unmarked(value), unmarked(previous)),
    remove: (state, member, value) => definition.remove(state, member, unmarked(value)),
    result: (state) => definition.result(state),
    ...(definition.clone ? { clone: (state) => definition.clone?.(state) } : {}),
  });
}
