export * from './carry-out.ts';
export { WriteConflict } from './outcome.ts';
export type { Target } from './perform.ts';
export { createTurns, type Turns } from './turns.ts';
