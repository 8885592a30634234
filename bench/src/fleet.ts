import type { Bench } from './bench.ts';
import { cables } from './fleet/cables.ts';
import { discovery } from './fleet/discovery.ts';
import { kafka } from './fleet/kafka.ts';
import { packages } from './fleet/packages.ts';
import { routes } from './fleet/routes.ts';

/** The sizes of docs/scaling.md. */
export const fleet: Bench = {
  name: 'fleet',
  summary: 'start, memory and edits of each operator as its fleet grows',
  parts: [routes, cables, kafka, discovery, packages],
};
