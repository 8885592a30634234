import type { Bench } from './bench.ts';
import { resolution } from './submariner/resolution.ts';

/** Cables between clusters: from policies to the driver of every pair. */
export const submariner: Bench = {
  name: 'submariner',
  summary: 'policies of a thousand clusters, and cables by the hundred',
  parts: [resolution],
};
