import { AuthorErrors, asError, settledResult } from '../../guard.ts';
import type { Derivation, Index, Presence, Projection, Settled, Table, Tracker } from '../engine-types.ts';
import { EngineErrors, Suspended } from '../graph/errors.ts';
import { faultOf, isMisuse } from '../graph/fault.ts';
import {
  type DerivationState,
  HAS_ERROR,
  HAS_VALUE,
  IS_SUSPENDED,
  type Node,
  nodeName,
  type Outcome,
  type TableState,
  UNKNOWN,
} from '../graph/model.ts';
import { predicateId, waitingForWhere } from '../graph/query.ts';
import { settledOf } from '../graph/settled.ts';
import { tableState } from '../graph/table.ts';
import { canonicalWhere, type Where } from '../graph/where.ts';
import { presenceName, projectionName } from '../wave/run.ts';
import {
  closeForkCycle,
  type Evaluation,
  forkNode,
  GIVEN_UP,
  isIncompleteIn,
  isRunning,
  outcomeOf,
  type Shadow,
} from './evaluation.ts';
import { runFoldInFork } from './fork-fold.ts';
import { isListUnknown, lacksMembers, type Seen, viewList, viewPresence, viewValue } from './overlay.ts';

/** Runs a node in a fork: the same computation, with a reader that looks through the overlay. */
export function runInFork(evaluation: Evaluation, shadow: Shadow): Outcome {
  const { node } = shadow;
  const outer = evaluation.active;
  try {
    if (node.derivation.fold !== undefined) return runFoldInFork(evaluation, shadow);
    const run = new ForkRun(evaluation, shadow);
    evaluation.active = run;
    let outcome: Outcome;
    try {
      const value = node.derivation.compute(node.key, run, previousIn(shadow));
      outcome = { state: HAS_VALUE, value: settledResult(nodeName(node), value) };
    } catch (error) {
      if (error === GIVEN_UP) throw error;
      outcome = { state: HAS_ERROR, value: asError(error) };
    }
    return run.waiting === undefined ? outcome : { state: IS_SUSPENDED, value: run.waiting };
  } finally {
    evaluation.active = outer;
  }
}

/** A preview goes on from where the main graph is. */
function previousIn({ node, isNew }: Shadow): unknown {
  return !isNew && node.state === HAS_VALUE ? node.value : undefined;
}

class ForkRun implements Tracker {
  waiting: readonly string[] | undefined = undefined;
  private readonly evaluation: Evaluation;
  private readonly shadow: Shadow;

  constructor(evaluation: Evaluation, shadow: Shadow) {
    this.evaluation = evaluation;
    this.shadow = shadow;
  }

  get<V, P>(table: Table<V>, key: string, project?: Projection<V, P>): V | P | undefined {
    this.check();
    const state = tableState(table);
    if (this.evaluation.noting.has(state)) note(this.shadow, state, key);
    const value = viewValue(this.evaluation.view, state, key) as V | undefined;
    if (value === undefined) {
      if (viewPresence(this.evaluation.view, state, key) === UNKNOWN) this.suspend([`${state.name}/${key}`]);
      return undefined;
    }
    if (project === undefined) return value;
    try {
      return this.project(project, value, key);
    } catch (error) {
      throw isMisuse(error) ? error : faultOf({ table: state, key }, projectionName(project), error);
    }
  }

  list<V, P>(table: Table<V>, where: Where<V> = {}, project?: Projection<V, P>): readonly (V | P)[] {
    const members = this.members(tableState(table), where as unknown as Where);
    if (project === undefined) return members.map(({ value }) => value as V);
    const found: P[] = [];
    for (const { key, value } of members) {
      try {
        found.push(this.project(project, value as V, key));
      } catch (error) {
        if (isMisuse(error)) throw error;
        this.shadow.incomplete = true;
      }
    }
    return found;
  }

  keys<V>(table: Table<V>, where: Where<V> = {}): readonly string[] {
    return this.members(tableState(table), where as unknown as Where).map(({ key }) => key);
  }

  by<V, P>(index: Index<V>, value: string, project?: Projection<V, P>): readonly (V | P)[] {
    return this.list(index.table, { index: [index, value] }, project);
  }

  derived<R, P>(derivation: Derivation<R>, key: string, project?: Projection<R, P>): R | P {
    const outcome = this.meet(derivation, key);
    if (outcome.state === HAS_ERROR) throw outcome.value as Error;
    if (outcome.state === IS_SUSPENDED) this.suspend(outcome.value as string[]);
    if (project === undefined) return outcome.value as R;
    try {
      return this.project(project, outcome.value as R, key);
    } catch (error) {
      if (isMisuse(error)) throw error;
      throw AuthorErrors.Threw(`${projectionName(project)} on ${derivation.name}(${key})`, error);
    }
  }

  settled<R>(derivation: Derivation<R>, key: string): Settled<R> {
    return settledOf(this.meet(derivation, key)) as Settled<R>;
  }

  get incomplete(): boolean {
    return this.shadow.incomplete;
  }

  /** A preview is not recorded. */
  remembers(): void {}

  state<V>(table: Table<V>, key: string): Presence {
    this.check();
    return presenceName(viewPresence(this.evaluation.view, tableState(table), key));
  }

  private members(table: TableState, where: Where): readonly Seen[] {
    this.check();
    if (isListUnknown(this.evaluation.view, table, where)) this.suspend([waitingForWhere(table, where)]);
    const canonical = canonicalWhere(where, (predicate) => predicateId(this.evaluation.graph, predicate));
    if (lacksMembers(this.evaluation, table, where)) this.shadow.incomplete = true;
    return viewList(this.evaluation.view, table, where, canonical);
  }

  private meet(derivation: Derivation<unknown>, key: string): Outcome {
    this.check();
    return meetInFork(this.evaluation, this.shadow, derivation as unknown as DerivationState, key);
  }

  private project<V, P>(project: Projection<V, P>, value: V, key: string): P {
    this.evaluation.active = undefined;
    try {
      return settledResult('the projection', project(value, key));
    } finally {
      this.evaluation.active = this;
    }
  }

  private suspend(waitingFor: readonly string[]): never {
    this.waiting = this.waiting === undefined ? waitingFor : [...new Set([...this.waiting, ...waitingFor])].sort();
    throw new Suspended(waitingFor);
  }

  private check(): void {
    if (this.evaluation.active !== this) throw EngineErrors.outsideRun(nodeName(this.shadow.node));
    if (this.evaluation.first !== undefined) throw GIVEN_UP;
    if (this.shadow.cycled !== undefined) throw this.shadow.cycled.error;
  }
}

function note(shadow: Shadow, table: TableState, key: string): void {
  shadow.noted ??= new Map();
  const keys = shadow.noted.get(table);
  if (keys === undefined) shadow.noted.set(table, new Set([key]));
  else keys.add(key);
}

/** Reads another node on behalf of a shadow. */
export function meetInFork(evaluation: Evaluation, shadow: Shadow, derivation: DerivationState, key: string): Outcome {
  const child: Node = forkNode(evaluation, derivation, key);
  shadow.reads.add(child);
  if (isRunning(evaluation, child)) throw closeForkCycle(evaluation, child).error;
  const outcome = outcomeOf(evaluation, child);
  if (isIncompleteIn(evaluation, child)) shadow.incomplete = true;
  if (shadow.cycled !== undefined) throw shadow.cycled.error;
  return outcome;
}
