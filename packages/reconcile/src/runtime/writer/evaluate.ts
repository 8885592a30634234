// One evaluation without a cluster: returns the plans of reconcilers for given objects, for pure tests. Nothing is fetched or awaited, and
// the objects are frozen, so that a reconciler that changes its input in place is found.
import {
  type Clock,
  groupOf,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  type ObjectKey,
} from '@capstan/kube/cluster';
import type { WriteSet } from '../../diff/index.ts';
import type { DigestKey } from '../../digest.ts';
import { createEngine, type Derivation, type Engine, type Settled } from '../../engine/index.ts';
import type { Operator } from '../../operator.ts';
import type { Plan } from '../../plan/index.ts';
import type { Access } from '../../read/index.ts';
import { createPurity, type Purity } from '../../read/purity.ts';
import type { ReadSources } from '../../read/read-sources.ts';
import { LOCAL, type Reconciler, type Role, roleOf } from '../../reconciler.ts';
import { createSinkRegistry } from '../../sinks/index.ts';
import {
  createInstants,
  createKnownFacts,
  createKnownSources,
  type KnownFact,
  type KnownSource,
} from '../../sources/index.ts';
import { createStaticWorld, createWorldSet, requirementsOf, rolesOf } from '../../worlds/index.ts';
import { writtenKinds } from '../../worlds/views.ts';
import { bindReconciler } from './binding.ts';

export interface Evaluation {
  readonly reconciler: Reconciler;
  readonly key: string;
  readonly plan: Settled<Plan>;
  /** The remaining writes. */
  readonly writes: Settled<WriteSet>;
  /** Every read of the plan, for tests of a reconciler's reads. */
  readonly reads: readonly string[];
  /** Every derivation that the plan was built from, directly or through others, with its reads. */
  readonly derived: readonly DerivedReads[];
}

export interface DerivedReads {
  /** `name(key)` */
  readonly node: string;
  readonly reads: readonly string[];
}

/** The known state of one cluster. */
export interface EvaluatedWorld {
  objects: readonly KubeObject[];
  /** Kind ids that are not listed yet. */
  unknown?: readonly string[];
  /** The role of the cluster for the operator; `local` by default. */
  role?: Role;
  /** By kind id: the server's answer about kinds that it does not serve or show. */
  access?: Readonly<Record<string, Access>>;
}

export interface EvaluateOptions extends EvaluatedWorld {
  operator: Operator;
  clock: Clock;
  /** Facts that are known; any other one that is read suspends. */
  facts?: readonly KnownFact[];
  /** Sources that are known; any other one that is read suspends. */
  sources?: readonly KnownSource[];
  /** Other clusters, by name, that reconcilers may read in. */
  worlds?: Readonly<Record<string, EvaluatedWorld>>;
  /** Default: one for tests. */
  digestKey?: DigestKey;
}

/** Evaluates every reconciler of the operator for every object of its kind. */
export function evaluate(options: EvaluateOptions): Evaluation[] {
  const { operator } = options;
  const purity = createPurity(options.clock);
  const engine = createEngine({ clock: purity.clock });
  const sources = sourcesOf(engine, options, purity);
  const world = sources.worlds.get('');
  if (world === undefined) throw new TypeError('there is always a world without a name');
  const bindings = operator.reconcilers
    .filter((reconciler) => roleOf(reconciler) === LOCAL)
    .map((reconciler) => bindReconciler(engine, sources, operator, reconciler, world));
  const roots = bindings.map((binding) => engine.each(binding.table, {}, binding.writes));
  engine.flushSync();
  const evaluations = bindings.flatMap(({ reconciler, plans, writes }) =>
    keysOf(options.objects, reconciler.resource).map((key) => {
      const reads = readsOf(engine, plans, key);
      return {
        reconciler,
        key,
        plan: engine.valueOf(plans, key) as Settled<Plan>,
        writes: engine.valueOf(writes, key) as Settled<WriteSet>,
        reads,
        derived: derivedReads(engine, sources, reads),
      };
    }),
  );
  for (const root of roots) root.stop();
  sources.instants.stop();
  return evaluations;
}

/** Each once: every computation runs twice here. */
function readsOf(engine: Engine, derivation: Derivation<unknown>, key: string): readonly string[] {
  return [...new Set(engine.explain(derivation, key)?.reads.map(({ source }) => source))];
}

function derivedReads(engine: Engine, { bound }: ReadSources, from: readonly string[]): DerivedReads[] {
  const local = [...(bound.get('')?.values() ?? [])].flatMap((definitions) => [...definitions]);
  const nodes = new Map(local.map(([{ name }, derivation]) => [name, derivation]));
  const found = new Map<string, DerivedReads>();
  const waiting = [...from];
  for (const source of waiting) {
    const [, name = '', key = ''] = /^(.*?)\((.*)\)$/.exec(source) ?? [];
    const derivation = nodes.get(name);
    if (derivation === undefined || found.has(source)) continue;
    const reads = readsOf(engine, derivation, key);
    found.set(source, { node: source, reads });
    waiting.push(...reads);
  }
  return [...found.values()];
}

function sourcesOf(engine: Engine, options: EvaluateOptions, purity: Purity): ReadSources {
  const { operator, objects, unknown = [], access = {}, digestKey: given = TEST_KEY } = options;
  const declaring = [...operator.reconcilers, ...(operator.sinks ?? [])];
  const known: Record<string, EvaluatedWorld> = { ...options.worlds, '': { objects, unknown, access } };
  const worlds = createWorldSet(engine, rolesOf(declaring));
  for (const [name, { role = LOCAL, ...world }] of Object.entries(known))
    worlds.add(createStaticWorld({ name, engine, requirements: requirementsOf(declaring, role), ...world }), role);
  for (const role of rolesOf(declaring)) worlds.complete(role);
  const digestKey = engine.table<DigestKey>({ name: 'digest key', sensitive: true });
  digestKey.put(operator.name, given);
  return {
    engine,
    worlds,
    facts: createKnownFacts(engine, options.facts ?? []),
    outside: createKnownSources(engine, options.sources ?? []),
    sinks: createSinkRegistry(engine),
    problems: new Map(),
    identities: engine.table<string>({ name: 'identities of clusters' }),
    instants: createInstants(engine, purity.clock),
    digestKey,
    bound: new Map(),
    delivered: new Set((operator.sinks ?? []).map(({ of }) => of)),
    digests: new WeakMap(),
    definitions: new Map(),
    purely: purity.run,
    projections: new WeakMap(),
  };
}

const TEST_KEY: DigestKey = { id: 'test', bytes: new Uint8Array(32) };

/** The objects of a kind, under whatever name they were written; aliases of one name are one object. */
function keysOf(objects: readonly KubeObject[], resource: Kind): readonly ObjectKey[] {
  const ids = new Set(writtenKinds(resource).map(kindId));
  const isOne = ({ apiVersion, kind }: KubeObject) => ids.has(kindId({ group: groupOf(apiVersion), kind }));
  return [...new Set(objects.filter(isOne).map(keyOfObject))];
}
