// Whether an object is healthy, from its status alone.
import type { KubeObject } from '@capstan/kube';
import { type Condition, conditionsOf, PAUSED_ANNOTATION, type StatusInput } from '@capstan/reconcile/status';

export type State = 'Ready' | 'NotReady' | 'Pending' | 'Paused' | 'Deleting' | 'Error' | 'Stopped' | 'Absent';

export interface Health {
  readonly state: State;
  /** The condition that reports the problem, as `type: reason`. */
  readonly reason: string;
  readonly message: string;
  /** When that condition last changed. */
  readonly since?: string;
}

/** Conditions that report a problem when they are true; all others report one when they are not. */
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
/** These report no problem either way. */
const NEUTRAL = new Set(['Progressing', 'Reconciling', 'Simulated', 'capstan.dev/Simulated', 'RotationPending']);
/** Reasons for which a condition is not true, and should not be: a backend that is not drained takes requests. */
const CALM: Readonly<Record<string, ReadonlySet<string>>> = {
  Drained: new Set(['Enabled', 'Draining', 'PartialDrain', 'Restoring']),
};

/** Reasons of a change that ends by itself. */
const IN_PROGRESS = new Set([
  'RollingOut',
  'Restarting',
  'Progressing',
  'Reconciling',
  'Pending',
  'Creating',
  'Installing',
  'Upgrading',
  'Joining',
  'Starting',
  'NotYet',
  'Syncing',
]);

/** Returns true for a problem that changes by itself: it is no cause of others. */
export function isInProgress({ state, reason }: Health): boolean {
  if (state === 'Pending' || state === 'Deleting') return true;
  return state === 'NotReady' && IN_PROGRESS.has(reason.slice(reason.lastIndexOf(' ') + 1));
}

/** `isSilent`: objects of this kind have no conditions as long as there is no problem. */
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
    return {
      state: 'Deleting',
      reason: `since ${metadata.deletionTimestamp}`,
      message,
      since: metadata.deletionTimestamp,
    };
  }
  const problems = conditions.filter(reportsProblem);
  // A problem that needs a user is shown before one that ends by itself.
  const bad = problems.find(({ reason }) => !IN_PROGRESS.has(reason)) ?? problems[0];
  if (bad !== undefined) return from('NotReady', bad);
  const observed = status?.['observedGeneration'];
  if (isSilent) return { state: 'Ready', reason: '', message: '' };
  if (status === undefined || conditions.length === 0) return pending('no condition has been written yet');
  if (typeof observed === 'number' && metadata.generation !== undefined && observed < metadata.generation) {
    return pending(
      `generation ${metadata.generation} has not been observed yet; the status is of generation ${observed}`,
    );
  }
  return { state: 'Ready', reason: '', message: '' };
}

function reportsProblem({ type, status, reason }: Condition): boolean {
  if (NEUTRAL.has(type) || CALM[type]?.has(reason)) return false;
  return NEGATIVE.has(type) ? status === 'True' : status !== 'True';
}

function from(state: State, condition: Condition): Health {
  const { type, reason, lastTransitionTime: since } = condition;
  const message = detailsOf(condition) || condition.message;
  return { state, reason: reason === type ? reason : `${type}: ${reason}`, message, ...(since && { since }) };
}

/** Some conditions list their errors, and their message only points to the list. */
function detailsOf(condition: Condition): string {
  const { errors } = condition as { errors?: unknown };
  if (!Array.isArray(errors)) return '';
  const texts = errors.map((one: { message?: unknown } | null) => one?.message);
  return texts.filter((text) => typeof text === 'string' && text !== '').join('; ');
}

export function pending(message: string): Health {
  return { state: 'Pending', reason: '', message };
}
