import type { KubeObject } from '@capstan/kube';
import { type ConditionInput, conditionType, noCondition } from '@capstan/reconcile';
import { PAUSED_ANNOTATION } from '../kinds/index.ts';

const synced = conditionType<'ReconcilePaused'>('Synced');

export function isPaused({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}

/** Returns the condition that reports the pause. */
export function pausedCondition(paused: boolean): ConditionInput {
  return paused
    ? synced.isFalse(
        'ReconcilePaused',
        `reconciliation is paused by the annotation ${PAUSED_ANNOTATION}; remove it to go on`,
      )
    : noCondition(synced.type);
}
