import type { Bench } from './bench.ts';
import { cables } from './submariner/cables.ts';
import { labels } from './submariner/labels.ts';
import { members } from './submariner/members.ts';
import { memory } from './submariner/memory.ts';
import { resolution } from './submariner/resolution.ts';

/** Cables between clusters: from policies to the driver of every pair. */
export const submariner: Bench = {
  name: 'submariner',
  summary: 'policies of a thousand clusters, and cables by the hundred',
  parts: [resolution, members, labels, memory, cables],
};
