import type { ConditionInput } from '@capstan/reconcile';
import type { Findings, RouteProblem } from '../result.ts';

/** The condition `Valid` of a kind, with every error and warning in it. */
export function validCondition(kind: string, { errors, warnings }: Findings): ConditionInput {
  const details = {
    ...(errors.length > 0 && { errors: errors.map(subCondition) }),
    ...(warnings.length > 0 && { warnings: warnings.map(subCondition) }),
  };
  const message =
    errors.length > 0
      ? 'At least one error present, see Errors for details'
      : warnings.length > 0
        ? `Valid ${kind}, but with warnings, see Warnings for details`
        : `Valid ${kind}`;
  const isValid = errors.length === 0;
  return {
    type: 'Valid',
    status: isValid ? 'True' : 'False',
    reason: isValid ? 'Valid' : 'ErrorPresent',
    message,
    details,
  };
}

function subCondition({ type, reason, message }: RouteProblem) {
  return { type, status: 'True', reason, message };
}
