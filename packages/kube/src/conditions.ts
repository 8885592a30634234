import type { Condition } from './builtin/index.ts';
import { formatTime } from './timestamps.ts';

/** A condition that a caller sets. lastTransitionTime defaults to the computed time, and the message to an empty text. */
export type ConditionInput = Omit<Condition, 'lastTransitionTime' | 'message'> &
  Partial<Pick<Condition, 'lastTransitionTime' | 'message'>>;

/**
 * Returns the list with this condition, in its old place or at the end. lastTransitionTime changes only with the status. If nothing would
 * change, the same list is returned. `now` is in milliseconds, as a Clock returns it.
 */
export function setCondition(list: Condition[] | undefined, condition: ConditionInput, now: number): Condition[] {
  const old = findCondition(list, condition.type);
  const moved = old?.status !== condition.status;
  const lastTransitionTime = moved ? (condition.lastTransitionTime ?? formatTime(now)) : old.lastTransitionTime;
  const next: Condition = { ...condition, message: condition.message ?? '', lastTransitionTime };
  // An undefined member and an absent one are the same on the wire, and must be the same here.
  if (next.observedGeneration === undefined) delete next.observedGeneration;
  if (list === undefined || old === undefined) return [...(list ?? []), next];
  if (sameCondition(old, next)) return list;
  return list.map((one) => (one === old ? next : one));
}

/** Returns the list without that condition, or the same list if it has none. */
export function removeCondition(list: Condition[], type: string): Condition[] {
  return findCondition(list, type) === undefined ? list : list.filter((one) => one.type !== type);
}

export function findCondition(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((one) => one.type === type);
}

/**
 * Reports whether the condition is True. If `generation` is given, a condition of an older generation does not count. A condition without
 * observedGeneration always counts.
 */
export function isConditionTrue(list: readonly Condition[] | undefined, type: string, generation = 0): boolean {
  const found = findCondition(list, type);
  return found?.status === 'True' && (found.observedGeneration ?? generation) >= generation;
}

function sameCondition(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}
