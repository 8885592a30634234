import type { Bench } from './bench.ts';
import { recordAndReplay } from './replay/record.ts';
import { rehearsed } from './replay/rehearsal.ts';

/** Recordings, their replay, and rehearsals. */
export const replay: Bench = {
  name: 'replay',
  summary: 'the cost of a recording, the time of its replay, and a rehearsal on 10,000 objects',
  parts: [recordAndReplay, rehearsed],
};
