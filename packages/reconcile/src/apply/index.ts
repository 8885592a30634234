export * from './carry-out.ts';
export { createKeyState, failedAgain, type Job, type KeyState } from './job.ts';
export * from './next-step.ts';
export { WriteConflict } from './outcome.ts';
export { writesId } from './patience.ts';
export { rehearse } from './perform.ts';
export { type Target } from './sending.ts';
export { createTurns, type Turns } from './turns.ts';
