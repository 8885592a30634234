import type { Bench } from './bench.ts';
import { edits } from './xds/edits.ts';
import { statuses } from './xds/statuses.ts';

/** Ingress: from an edit to Envoy's new configuration. */
export const xds: Bench = {
  name: 'xds',
  summary: 'edits of routes and endpoints with 100, 1,000 and 10,000 HTTPProxies, and statuses',
  parts: [edits(100), edits(1_000), edits(10_000), statuses],
};
