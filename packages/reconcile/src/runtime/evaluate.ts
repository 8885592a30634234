// One evaluation without a cluster: what would these reconcilers plan for these objects? For pure tests.
import { type Clock, groupOf, type KubeObject, keyOfObject, kindId, silentLogger } from '@capstan/kube';
import type { WriteSet } from '../diff/index.ts';
import type { DigestKey } from '../digest.ts';
import { createEngine, type Settled } from '../engine/index.ts';
import { createFacts, createInstants } from '../facts/index.ts';
import type { Operator } from '../operator.ts';
import type { Plan } from '../plan/index.ts';
import type { FactDefinition, FactState } from '../read/index.ts';
import type { ReadSources } from '../read/world-reader.ts';
import type { Reconciler } from '../reconciler.ts';
import { createStaticWorld, requirementsOf } from '../worlds/index.ts';
import { bindReconciler } from './binding.ts';

export interface Evaluation {
  readonly reconciler: Reconciler;
  readonly key: string;
  readonly plan: Settled<Plan>;
  /** What is left to do until the plan is so. */
  readonly writes: Settled<WriteSet>;
  /** Every read that the plan was made from, for tests of what a reconciler looks at. */
  readonly reads: readonly string[];
}

export interface EvaluateOptions {
  operator: Operator;
  objects: readonly KubeObject[];
  clock: Clock;
  /** Facts that are known; any other one that is read suspends. */
  facts?: readonly KnownFact[];
  /** Kind ids that are not listed yet. */
  unknown?: readonly string[];
  digestKey?: DigestKey;
}

export interface KnownFact {
  readonly fact: FactDefinition<unknown>;
  readonly key: string;
  readonly state: FactState<unknown>;
}

/** Evaluates every reconciler of the operator for every object of its kind. */
export function evaluate(options: EvaluateOptions): Evaluation[] {
  const { operator, clock } = options;
  const engine = createEngine({ clock, freeze: false });
  const requirements = requirementsOf(operator.reconcilers);
  const unknown = options.unknown ?? [];
  const world = createStaticWorld({ name: '', engine, requirements, objects: options.objects, unknown });
  const worldNames = engine.table<true>({ name: 'worlds' });
  worldNames.put('', true);
  worldNames.synced();
  const digestKey = engine.table<DigestKey>({ name: 'digest key', sensitive: true });
  digestKey.put('key', options.digestKey ?? { id: 'test', bytes: new Uint8Array(32) });
  const sources: ReadSources = {
    engine,
    worlds: new Map([['', world]]),
    worldNames,
    facts: createFacts({ engine, clock, random: () => 0.5, logger: silentLogger }),
    instants: createInstants(engine, clock),
    digestKey,
    bound: new Map(),
    digests: new WeakMap(),
    projections: new WeakMap(),
  };
  for (const { fact, key, state } of options.facts ?? []) sources.facts.table(fact).put(key, state);
  const bindings = operator.reconcilers.map((reconciler) =>
    bindReconciler(engine, sources, operator, reconciler, world),
  );
  const roots = bindings.map((binding) => engine.each(binding.table, {}, binding.writes));
  engine.flushSync();
  const evaluations = bindings.flatMap((binding) =>
    options.objects
      .filter(
        (object) =>
          kindId({ group: groupOf(object.apiVersion), kind: object.kind }) === kindId(binding.reconciler.resource),
      )
      .map((object) => {
        const key = keyOfObject(object);
        const { reconciler } = binding;
        const plan = engine.valueOf(binding.plans, key) as Settled<Plan>;
        const writes = engine.valueOf(binding.writes, key) as Settled<WriteSet>;
        const reads = engine.explain(binding.plans, key)?.reads.map(({ source }) => source) ?? [];
        return { reconciler, key, plan, writes, reads };
      }),
  );
  for (const root of roots) root.stop();
  sources.instants.stop();
  void sources.facts.stop();
  return evaluations;
}
