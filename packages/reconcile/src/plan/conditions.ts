// Conditions as a plan gives them: without times. The runtime sets observedGeneration, and lastTransitionTime only when
// the status of the condition changes. Each condition type has one owning reconciler; others' types are kept.
import { equal } from '@capstan/kube/cluster';
import type { StatusInput } from './status.ts';

export interface ConditionInput {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** One CamelCase word from a closed set. */
  readonly reason: string;
  /** The state, and the remedy. */
  readonly message: string;
  /** Further fields of the condition, for kinds whose conditions have them. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Condition extends ConditionInput {
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

/** A condition type with its reasons, so that a typo in a reason does not compile. */
export function conditionType<R extends string>(type: string) {
  const of =
    (status: ConditionInput['status']) =>
    (reason: R, message = ''): ConditionInput => ({ type, status, reason, message });
  return { type, isTrue: of('True'), isFalse: of('False'), isUnknown: of('Unknown') };
}

/** In a plan's conditions: the condition of this type should not be there. */
export function noCondition(type: string): ConditionInput {
  return { type, status: 'Unknown', reason: REMOVED, message: '' };
}

const REMOVED = '';

export function isRemoved(condition: ConditionInput): boolean {
  return condition.reason === REMOVED;
}

/**
 * The conditions after a plan; of several inputs of one type the last counts. Times are left out of the comparison:
 * `changed` is false when nothing but a time would differ. `now` is called only for transitions.
 */
export function mergeConditions(
  current: readonly Condition[],
  inputs: readonly ConditionInput[],
  generation: number | undefined,
  now: () => string,
): { conditions: readonly Condition[]; changed: boolean } {
  let next: Condition[] | undefined;
  for (const input of new Map(inputs.map((input) => [input.type, input])).values()) {
    const list = next ?? current;
    const at = list.findIndex((condition) => condition.type === input.type);
    const existing = list[at];
    if (isRemoved(input)) {
      if (existing !== undefined) next = list.filter((condition) => condition !== existing);
      continue;
    }
    if (
      existing !== undefined &&
      existing.status === input.status &&
      existing.reason === input.reason &&
      existing.message === input.message &&
      hasDetails(existing, input) &&
      (generation === undefined || existing.observedGeneration === generation)
    ) {
      continue;
    }
    const condition: Condition = {
      type: input.type,
      status: input.status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: existing?.status === input.status ? existing.lastTransitionTime : now(),
      reason: input.reason,
      message: input.message,
      ...input.details,
    };
    next = existing === undefined ? [...list, condition] : list.with(at, condition);
  }
  return next === undefined ? { conditions: current, changed: false } : { conditions: next, changed: true };
}

const USUAL = new Set(['type', 'status', 'observedGeneration', 'lastTransitionTime', 'reason', 'message']);

function hasDetails(existing: Condition, { details = {} }: ConditionInput): boolean {
  const found = Object.entries(existing).filter(([name]) => !USUAL.has(name));
  return equal(Object.fromEntries(found), details);
}

export function conditionsOf(status: StatusInput | undefined): readonly Condition[] {
  const conditions = status?.['conditions'];
  return Array.isArray(conditions) ? (conditions as Condition[]) : [];
}
