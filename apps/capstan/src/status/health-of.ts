// Whether an object is as it should be, from its status alone.
import type { KubeObject } from '@capstan/kube';
import { type Condition, conditionsOf, PAUSED_ANNOTATION, type StatusInput } from '@capstan/reconcile';

export type State = 'Ready' | 'NotReady' | 'Pending' | 'Paused' | 'Deleting' | 'Error';

export interface Health {
  readonly state: State;
  /** Of the condition that says so, `type: reason`. */
  readonly reason: string;
  readonly message: string;
}

/** Conditions that tell of trouble when they are true; of all others it is trouble when they are not. */
const NEGATIVE = new Set([
  'ReconcileError',
  'RolledBack',
  'Stalled',
  'Degraded',
  'Paused',
  'ConfigWarning',
  'DependenciesUnresolved',
  'PermissionsRefused',
]);
/** These are no trouble either way. */
const NEUTRAL = new Set(['Progressing', 'Reconciling', 'Simulated', 'capstan.dev/Simulated', 'RotationPending']);
/** Reasons for which a condition is not true, and should not be: a backend that nobody has drained takes requests. */
const CALM: Readonly<Record<string, ReadonlySet<string>>> = {
  Drained: new Set(['Enabled', 'Draining', 'PartialDrain', 'Restoring']),
};

/** `isSilent`: nobody writes conditions on objects of this kind as long as there is nothing to complain about. */
export function healthOf(object: KubeObject, isSilent = false): Health {
  const { metadata } = object;
  const status = (object as { status?: StatusInput }).status;
  const conditions = conditionsOf(status);
  const error = conditions.find(({ type, status: is }) => type === 'ReconcileError' && is === 'True');
  if (error !== undefined) return from('Error', error);
  if (metadata.annotations?.[PAUSED_ANNOTATION] === 'true') {
    return {
      state: 'Paused',
      reason: 'Paused',
      message: `resumes when the annotation ${PAUSED_ANNOTATION} is removed`,
    };
  }
  if (metadata.deletionTimestamp !== undefined) {
    const holders = metadata.finalizers?.join(', ') ?? '';
    const message = holders === '' ? '' : `held by ${holders}`;
    return { state: 'Deleting', reason: `since ${metadata.deletionTimestamp}`, message };
  }
  const bad = conditions.find(isTrouble);
  if (bad !== undefined) return from('NotReady', bad);
  const observed = status?.['observedGeneration'];
  if (isSilent) return { state: 'Ready', reason: '', message: '' };
  if (status === undefined || conditions.length === 0) return pending('no condition has been written yet');
  if (typeof observed === 'number' && metadata.generation !== undefined && observed < metadata.generation) {
    return pending(`generation ${metadata.generation} has not been looked at yet; the status is of ${observed}`);
  }
  return { state: 'Ready', reason: '', message: '' };
}

function isTrouble({ type, status, reason }: Condition): boolean {
  if (NEUTRAL.has(type) || CALM[type]?.has(reason)) return false;
  return NEGATIVE.has(type) ? status === 'True' : status !== 'True';
}

function from(state: State, { type, reason, message }: Condition): Health {
  return { state, reason: reason === type ? reason : `${type}: ${reason}`, message };
}

function pending(message: string): Health {
  return { state: 'Pending', reason: '', message };
}
