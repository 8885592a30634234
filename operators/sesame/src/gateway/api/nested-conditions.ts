// Conditions inside of lists of a status: their times are kept while they do not change.
import { type ConditionInput, timeOfWrite } from '@capstan/reconcile';
import type { StatusCondition } from './objects.ts';

export function nestedConditions(
  inputs: readonly ConditionInput[],
  existing: readonly StatusCondition[] | undefined,
  generation: number | undefined,
): StatusCondition[] {
  return inputs.map(({ type, status, reason, message }) => {
    const before = existing?.find((each) => each.type === type);
    return {
      type,
      status,
      ...(generation !== undefined && { observedGeneration: generation }),
      lastTransitionTime:
        before?.status === status && before.lastTransitionTime !== undefined
          ? before.lastTransitionTime
          : timeOfWrite(),
      reason,
      message: message.slice(0, 32_768),
    };
  });
}

export function condition(type: string, isTrue: boolean, reason: string, message: string): ConditionInput {
  return { type, status: isTrue ? 'True' : 'False', reason, message };
}
