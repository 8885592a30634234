export { bytesOf, type FuzzTarget } from './fuzz-target.ts';
export { type FuzzFinding, type FuzzOptions, type FuzzReport, runTarget } from './run-target.ts';
