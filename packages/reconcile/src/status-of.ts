// The parts for a program that only reads the results of operators: conditions, marks, names. The runtime is not here: a command that reads
// and ends starts in half the time without it.
export { type CauseGraph, type CauseState, type RootCause, rootCauses } from './dependence/root-causes.ts';
export { OWNER_ANNOTATION, PAUSED_ANNOTATION } from './marks.ts';
export { type Condition, conditionsOf } from './plan/conditions.ts';
export type { StatusInput } from './plan/status.ts';
export { leaseName, SYSTEM_NAMESPACE } from './system-names.ts';
