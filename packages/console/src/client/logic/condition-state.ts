// The sign of a condition. Most conditions are good when they are true; the names of others report a deviation.
const DEVIATIONS = /Stale|Pending|Degraded|Fail|Error|Warning|Conflict|Paused|Pressure|Unavailable|Draining/;

/** `state`: of the object: a condition that is not true yet belongs to the progress of its object. */
export function conditionState(type: string, status: string, state: string | undefined): string {
  if (status !== 'True' && status !== 'False') return 'unknown';
  if (DEVIATIONS.test(type)) return status === 'True' ? 'warning' : 'none';
  if (status === 'True') return 'ready';
  return state === 'progress' ? 'progress' : 'broken';
}
