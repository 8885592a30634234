// The health of an object as the console shows it.
import type { ConsoleHealth } from '@capstan/console';
import { type Kind, type KubeObject, kindId } from '@capstan/kube';
import { isPrimary, type Operator } from '@capstan/reconcile';
import { healthOf, isInProgress } from '../status/health-of.ts';
import { statusOperator } from '../status/status-operators.ts';

/** Returns the health of objects, with the kinds of these operators that report none. */
export function healthIn(operators: readonly Operator[]): (object: KubeObject, kind: Kind) => ConsoleHealth {
  const silent = new Set(
    operators.flatMap((one) =>
      statusOperator(one, isPrimary).kinds.flatMap(({ kind, isSilent }) => (isSilent ? [kindId(kind)] : [])),
    ),
  );
  return (object, kind) => {
    const health = healthOf(object, silent.has(kindId(kind)));
    const { state, reason, message, since } = health;
    const shown = { reason, message, ...(since !== undefined && { since }) };
    if (state === 'Ready') return { state: 'ready', ...shown };
    if (state === 'Paused') return { state: 'paused', ...shown };
    return { state: isInProgress(health) ? 'progress' : 'broken', ...shown };
  };
}
