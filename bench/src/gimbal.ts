import type { Bench } from './bench.ts';
import { discovery } from './gimbal/discovery.ts';
import { drain } from './gimbal/drain.ts';
import { memory } from './gimbal/memory.ts';

/** Discovery backends: from the services of remote clusters to their mirrors. */
export const gimbal: Bench = {
  name: 'gimbal',
  summary:
    'discovery of ten clusters with a thousand services each, drains of two thousand routes, and the memory of a discoverer',
  parts: [discovery, drain, memory],
};
