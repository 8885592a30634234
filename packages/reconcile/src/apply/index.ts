export * from './carry-out.ts';
export * from './next-step.ts';
export { WriteConflict } from './outcome.ts';
export { writesId } from './patience.ts';
export { rehearse, type Target } from './perform.ts';
export { createTurns, type Turns } from './turns.ts';
