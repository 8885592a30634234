import type { Condition, CustomResourceDefinition, UnknownObject } from '@capstan/kube';

const conditionsOf = (object: UnknownObject) =>
  (object['status'] as { conditions?: Condition[] | null } | undefined)?.conditions ?? [];

export function hasCondition(crd: CustomResourceDefinition, type: string): boolean {
  return conditionsOf(crd as unknown as UnknownObject).some((one) => one.type === type && one.status === 'True');
}

/** The definition with the condition, which keeps its time while its status stays. */
export function withCondition(
  object: UnknownObject,
  type: string,
  status: 'True' | 'False',
  reason: string,
  message: string,
  now: string,
): UnknownObject {
  const conditions = conditionsOf(object);
  const before = conditions.find((one) => one.type === type);
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now;
  const made: Condition = { type, status, lastTransitionTime, reason, message };
  const next = before ? conditions.map((one) => (one === before ? made : one)) : [...conditions, made];
  return { ...object, status: { ...(object['status'] as object | undefined), conditions: next } };
}
