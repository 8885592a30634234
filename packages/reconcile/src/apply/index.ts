export * from './carry-out.ts';
export { WriteConflict } from './outcome.ts';
export type { Target } from './perform.ts';
