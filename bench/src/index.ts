export type { Bench, Part, Scale } from './bench.ts';
export { benches } from './benches.ts';
export type { Machine } from './measure/machine.ts';
export type { Peer, Result } from './measure/result.ts';
