import type { Bench } from './bench.ts';
import { cold } from './kroxylicious/cold.ts';
import { renewals } from './kroxylicious/renewals.ts';

/** Kafka proxies: from a changed Secret to the rollout, and many virtual clusters at once. */
export const kroxylicious: Bench = {
  name: 'kroxylicious',
  summary: 'renewed certificates and cold starts with a thousand virtual clusters',
  parts: [renewals, cold],
};
