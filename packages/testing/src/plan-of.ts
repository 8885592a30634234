// Pure tests of reconcilers: objects in, plan out. No cluster, no clock that runs, nothing awaited.
import { groupOf, type KubeObject, keyOfObject, kindId } from '@capstan/kube';
import {
  type EvaluateOptions,
  type Evaluation,
  evaluate,
  type KnownFact,
  type KnownSource,
  operator,
  type Plan,
  type Reconciler,
} from '@capstan/reconcile';
import { createVirtualClock } from './virtual-clock.ts';

export interface PlanOfOptions {
  /** The key of the object to plan for, `namespace/name`; by default the first object of the reconciler's kind. */
  key?: string;
  /** Facts that are known; any other one that is read suspends. */
  facts?: readonly KnownFact[];
  /** Sources that are known; any other one that is read suspends. */
  sources?: readonly KnownSource[];
  /** Other clusters by name, for `read.in`. */
  worlds?: EvaluateOptions['worlds'];
  /** Kind ids (`Secret`, `Deployment.apps`) that are not listed yet: reading them suspends. */
  unknown?: readonly string[];
  /** Milliseconds since the epoch, for `read.reached`; default 2026-01-01. */
  now?: number;
}

/** Returns the reconciler's plan if exactly these objects exist. Throws the reconciler's error, and when it waits for an input. */
export function planOf(reconciler: Reconciler, objects: readonly KubeObject[], options: PlanOfOptions = {}): Plan {
  const { plan, key } = evaluationOf(reconciler, objects, options);
  if (plan.state === 'error') throw plan.error;
  if (plan.state === 'suspended')
    throw new Error(`there is no plan for ${key} yet: it waits for ${plan.waitingFor.join(', ')}`);
  return plan.value;
}

/** The same with all details: the remaining writes, the reads, and the inputs that it waits for. */
export function evaluationOf(
  reconciler: Reconciler,
  objects: readonly KubeObject[],
  { key, facts, sources, worlds, unknown, now }: PlanOfOptions = {},
): Evaluation {
  const id = kindId(reconciler.resource);
  const owners = objects.filter(({ apiVersion, kind }) => kindId({ group: groupOf(apiVersion), kind }) === id);
  const wanted = key ?? (owners[0] === undefined ? undefined : keyOfObject(owners[0]));
  const evaluations = evaluate({
    operator: operator({ name: 'test', kinds: [], reconcilers: [reconciler] }),
    objects,
    clock: createVirtualClock(now === undefined ? {} : { start: now }),
    ...(facts ? { facts } : {}),
    ...(sources ? { sources } : {}),
    ...(worlds ? { worlds } : {}),
    ...(unknown ? { unknown } : {}),
  });
  const found = evaluations.find((evaluation) => evaluation.key === wanted);
  if (found === undefined) throw new Error(`there is no ${id} ${wanted ?? ''} among the objects to plan for`);
  return found;
}
