// The Reader over worlds: finds the table behind each read and lets the engine record it.
import {
  compileLabelSelector,
  type Kind,
  type KubeObject,
  keyOf,
  kindId,
  type ObjectRef,
  parseLabelSelector,
} from '@capstan/kube';
import { type Digest, type DigestKey, keyedDigest, plainDigest } from '../digest.ts';
import type {
  Derivation,
  Engine,
  Projection as EngineProjection,
  Where as EngineWhere,
  Table,
  Tracker,
} from '../engine/index.ts';
import { ReadErrors } from '../errors.ts';
import type { Facts, Instants } from '../facts/index.ts';
import type { World } from '../worlds/world.ts';
import type { DerivationDefinition } from './derivation.ts';
import type { FactDefinition, FactState } from './fact.ts';
import type { AggregateDefinition } from './fold.ts';
import type { KindIndex } from './kind-index.ts';
import type { Access, Derived, Projection, Reader, Where } from './reader.ts';
import { collectSensitive, isMarked, isSensitive, marked } from './sensitive.ts';

/** Everything that reads may reach, shared by all runs. */
export interface ReadSources {
  readonly engine: Engine;
  readonly worlds: ReadonlyMap<string, World>;
  /** Names of worlds, so that coming and going ones wake their readers. */
  readonly worldNames: Table<true>;
  readonly facts: Facts;
  readonly instants: Instants;
  /** The key for digests of sensitive values, under the one key `key`. */
  readonly digestKey: Table<DigestKey>;
  /** Derivations bound to the engine, per world. */
  readonly bound: Map<string, Map<Derived<unknown>, Derivation<unknown>>>;
  /**
   * The last digest that each object took part in as the first of its values. What is the same object in a later run came
   * from the caches, where nothing is changed in place; what a run made itself is new in each run.
   */
  readonly digests: WeakMap<object, RememberedDigest>;
  /** What each reader reads through: it must be the same in every run. */
  readonly definitions: Map<string, ReaderDefinitions>;
  /** Projections of derivations' values, wrapped once each. */
  readonly projections: WeakMap<object, EngineProjection>;
}

/** Indexes, facts and derivations that one reader has read through. */
interface ReaderDefinitions {
  readonly known: Set<object>;
  /** By sort and name. */
  readonly names: Set<string>;
}

interface RememberedDigest {
  /** Never asked again by the run that made it: a run may change what it made itself. */
  readonly run: object;
  readonly values: readonly unknown[];
  readonly digest: string;
}

/** One run of a reconciler or derivation. */
export interface Run {
  readonly tracker: Tracker;
  readonly sources: ReadSources;
  /** Strings that came from sensitive objects; made on first use. */
  sensitive: Set<string> | undefined;
  /** Kind ids that may be read; undefined: whatever the world caches. */
  readonly declared: ReadonlySet<string> | undefined;
  /** Who reads, for messages. */
  readonly name: string;
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
    this.#defined('index', index, index.keysOf);
    const bound = this.#world.indexOf(index as unknown as KindIndex);
    if (bound === undefined) throw this.#undeclared(index.kind);
    const { tracker } = this.#run;
    const found =
      project === undefined
        ? tracker.by(bound, key)
        : tracker.by(bound, key, project as unknown as EngineProjection<KubeObject, P>);
    if (index.kind.sensitive) this.#mark(found);
    return found as readonly P[];
  }

  fact<V>(fact: FactDefinition<V>, key: string): FactState<V> {
    const { tracker, sources } = this.#run;
    this.#defined('fact', fact, fact);
    // A fact is never absent: it is there or not known yet, and then the read has already suspended.
    return tracker.get(sources.facts.table(fact), key) as FactState<V>;
  }

  derived<R, P = R>(derivation: Derived<R>, key: string, project?: Projection<R, P>): P {
    const { tracker, sources } = this.#run;
    this.#defined('derivation', derivation, derivation);
    const bound = bindDerived(sources, this.#world, derivation);
    const found: unknown =
      project === undefined ? tracker.derived(bound, key) : tracker.derived(bound, key, throughMarks(sources, project));
    if (!isMarked(found)) return found as P;
    this.#run.sensitive ??= new Set();
    for (const text of found.$sensitive) this.#run.sensitive.add(text);
    return found.$value as P;
  }

  in(world: string): Reader | undefined {
    const { tracker, sources } = this.#run;
    if (tracker.get(sources.worldNames, world) === undefined) return undefined;
    const found = sources.worlds.get(world);
    return found === undefined ? undefined : new WorldReader(this.#run, found);
  }

  worlds(): readonly string[] {
    return this.#run.tracker.keys(this.#run.sources.worldNames);
  }

  reached(instant: number | string): boolean {
    return this.#run.sources.instants.reached(this.#run.tracker, instant);
  }

  access(kind: Kind): Access {
    this.#table(kind);
    return this.#run.tracker.get(this.#world.access, kindId(kind)) as Access;
  }

  covers(kind: Kind, namespace: string): boolean {
    this.#table(kind);
    return this.#world.covers(kind, namespace);
  }

  #table(kind: Kind): Table<KubeObject> {
    const table = this.#world.readTable(kind) ?? this.#world.childTable(kind);
    if (table === undefined || this.#run.declared?.has(kindId(kind)) === false) throw this.#undeclared(kind);
    return table;
  }

  /**
   * Indexes, facts and derivations are known by identity and kept: one that is created inside a reconciler would be another in
   * every run, and each run would leave one behind.
   */
  #defined(sort: string, named: { name: string; kind?: Kind }, definition: object): void {
    const { sources, name: reader } = this.#run;
    let read = sources.definitions.get(reader);
    if (read?.known.has(definition)) return;
    if (read === undefined) {
      read = { known: new Set(), names: new Set() };
      sources.definitions.set(reader, read);
    }
    const name = named.kind === undefined ? named.name : `${named.name} of ${kindId(named.kind)}`;
    const id = `${sort} ${name}`;
    if (read.names.has(id)) throw ReadErrors.DefinedTwice(reader, sort, name);
    read.names.add(id);
    read.known.add(definition);
  }

  /** Absent always means that the server said so: of a namespace that nobody watches it says nothing. */
  #waitUnlessCovered(kind: Kind, namespace: string | undefined, key: string): void {
    if (this.#world.covers(kind, namespace)) return;
    this.#run.tracker.get(this.#world.beyond, `${kindId(kind)} ${key}`);
  }

  #undeclared(kind: Kind): Error {
    return ReadErrors.Undeclared(this.#run.name, kindId(kind));
  }

  #mark(found: unknown): void {
    if (found === undefined) return;
    this.#run.sensitive ??= new Set();
    collectSensitive(found, this.#run.sensitive);
  }
}

/** The digest function of one run: strings that the run got from sensitive objects are keyed. */
export function digestOf(run: Run): Digest {
  const key = () => run.tracker.get(run.sources.digestKey, 'key') as DigestKey;
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

function areSame(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length === after.length && before.every((value, at) => value === after[at]);
}

/** The engine's derivation for a definition in one world; made on first use. */
function bindDerived<R>(sources: ReadSources, world: World, definition: Derived<R>): Derivation<unknown> {
  let bound = sources.bound.get(world.name);
  if (bound === undefined) {
    bound = new Map();
    sources.bound.set(world.name, bound);
  }
  const existing = bound.get(definition);
  if (existing !== undefined) return existing;
  const made =
    'aggregate' in definition ? bindAggregate(sources, world, definition) : bindDerivation(sources, world, definition);
  bound.set(definition, made);
  return made;
}

function nameIn(world: World, { name }: { name: string }): string {
  return world.name === '' ? name : `${name}@${world.name}`;
}

function bindDerivation<R>(sources: ReadSources, world: World, definition: DerivationDefinition<R>) {
  return sources.engine.derive<unknown>({
    name: nameIn(world, definition),
    compute(key, tracker, before) {
      const sensitive = isMarked(before) ? new Set(before.$sensitive) : undefined;
      const run: Run = { tracker, sources, sensitive, declared: undefined, name: definition.name };
      const previous = unmarked(before);
      const value = definition.compute({ key, read: new WorldReader(run, world), digest: digestOf(run), previous });
      return marked(value, run.sensitive);
    },
    ...(definition.equals
      ? { equals: (before, after) => definition.equals?.(unmarked(before) as R, unmarked(after) as R) ?? false }
      : {}),
    ...(definition.onCycle ? { onCycle: (members) => definition.onCycle?.(members) } : {}),
  });
}

/** Parts of sensitive objects come without their marks: digest them where they are read. */
function bindAggregate<R>(sources: ReadSources, world: World, aggregated: AggregateDefinition<R>): Derivation<unknown> {
  const { engine } = sources;
  const { how, definition } = aggregated.aggregate;
  const table = world.readTable(definition.kind);
  if (table === undefined) throw ReadErrors.Undeclared(aggregated.name, kindId(definition.kind));
  const { part } = definition;
  const bound = typeof part === 'function' ? part : bindDerived(sources, world, part);
  if (how === 'chunked') {
    return engine.chunked<KubeObject, unknown, unknown, R>({
      name: nameIn(world, aggregated),
      table,
      where: toEngine(definition.where ?? {}),
      part: bound,
      ...(definition.chunks === undefined ? {} : { chunks: definition.chunks }),
      chunk: (parts) => definition.chunk(parts.map(({ key, part: value }) => ({ key, part: unmarked(value) }))),
      join: (chunks) => definition.join(chunks),
    });
  }
  return engine.fold<unknown, unknown, R, KubeObject>({
    name: nameIn(world, aggregated),
    over: (key) => ({ table, where: toEngine(definition.where?.(key) ?? {}) }),
    part: bound,
    empty: () => definition.empty(),
    put: (state, member, value, previous) => definition.put(state, member, unmarked(value), unmarked(previous)),
    remove: (state, member, value) => definition.remove(state, member, unmarked(value)),
    result: (state) => definition.result(state),
    ...(definition.clone ? { clone: (state) => definition.clone?.(state) } : {}),
  });
}

function unmarked(value: unknown): unknown {
  return isMarked(value) ? value.$value : value;
}

/** A projection that sees the derivation's value and keeps the marks around its result; one per projection, so that edges stay cheap. */
function throughMarks<R, P>({ projections }: ReadSources, project: Projection<R, P>): EngineProjection {
  let wrapper = projections.get(project);
  if (wrapper === undefined) {
    wrapper = (value) =>
      isMarked(value) ? marked(project(value.$value as R), new Set(value.$sensitive)) : project(value as R);
    projections.set(project, wrapper);
  }
  return wrapper;
}

function toEngine(where: Where): EngineWhere<KubeObject> {
  return {
    ...(where.namespace === undefined ? {} : { namespace: where.namespace }),
    ...(where.labels === undefined ? {} : { selector: selectorOf(where.labels) }),
    ...(where.where === undefined ? {} : { where: where.where }),
  };
}

function selectorOf(labels: NonNullable<Where['labels']>) {
  return typeof labels === 'string' ? parseLabelSelector(labels) : compileLabelSelector(labels);
}
