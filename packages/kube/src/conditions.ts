import type { Condition } from './builtin/index.ts';
import { formatTime } from './timestamps.ts';

/** A condition as it is set: the transition time is found out, the message may be left out. */
export type ConditionInput = Omit<Condition, 'lastTransitionTime' | 'message'> &
  Partial<Pick<Condition, 'lastTransitionTime' | 'message'>>;

/**
 * The list with this condition in it, in its old place or at the end. lastTransitionTime moves only when the status does;
 * when nothing would change, the very same list is returned. `now` is in milliseconds, as a Clock gives it.
 */
export function setCondition(list: Condition[] | undefined, condition: ConditionInput, now: number): Condition[] {
  const old = findCondition(list, condition.type);
  const moved = old?.status !== condition.status;
  const lastTransitionTime = moved ? (condition.lastTransitionTime ?? formatTime(now)) : old.lastTransitionTime;
  const next: Condition = { ...condition, message: condition.message ?? '', lastTransitionTime };
  // An undefined member and none are the same on the wire, and must be the same here.
  if (next.observedGeneration === undefined) delete next.observedGeneration;
  if (list === undefined || old === undefined) return [...(list ?? []), next];
  if (sameCondition(old, next)) return list;
  return list.map((one) => (one === old ? next : one));
}

/** The list without that condition; the very same list when it was not there. */
export function removeCondition(list: Condition[], type: string): Condition[] {
  return findCondition(list, type) === undefined ? list : list.filter((one) => one.type !== type);
}

export function findCondition(list: readonly Condition[] | undefined, type: string): Condition | undefined {
  return list?.find((one) => one.type === type);
}

/** With a generation, what was true of an older one does not count. A condition without observedGeneration always does. */
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
