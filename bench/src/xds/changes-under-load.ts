// A thousand changes of routes, endpoints, certificates, listeners and hosts, with a real Envoy under load: how many requests fail.
import { missingEnvoy, runUnderLoad } from '@capstan/sesame/under-load';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';

/** How Envoy subscribes: a stream for each type and name, or one for all. */
const MODES = ['grpc', 'delta-ads'] as const;

export const changesUnderLoad: Part = {
  name: 'changes-under-load',
  summary:
    'a thousand changes under 250 requests a second through a real Envoy, on separate streams and on the aggregated one',
  lacks: () => missingEnvoy() || undefined,
  async measure(scale) {
    const changes = scale === 'tiny' ? 20 : 1_000;
    const results: Result[] = [];
    for (const mode of MODES) {
      const { requests, perSecond, failures, failed, repeated, seconds, refusals } = await runUnderLoad({
        changes,
        requestsPerSecond: 250,
        mode,
      });
      const causes = failed.length > 0 ? ` (${failed.join(', ')})` : '';
      results.push(
        result({
          name: `${mode}: ${changes} changes: requests that fail, of ${requests}${causes}`,
          unit: 'requests',
          rounds: [failures],
          exactly: 0,
        }),
        result({
          name: `${mode}: requests sent meanwhile`,
          unit: 'requests/s',
          rounds: [perSecond],
          ...(scale === 'full' ? { atLeast: 200 } : {}),
        }),
        result({
          name: `${mode}: requests sent again, as the connection had been closed`,
          unit: 'requests',
          rounds: [repeated],
        }),
        result({ name: `${mode}: changes made meanwhile`, unit: 'changes/s', rounds: [changes / seconds] }),
        result({
          name: `${mode}: resources that Envoy refuses`,
          unit: 'resources',
          rounds: [refusals.length],
          exactly: 0,
        }),
      );
    }
    return results;
  },
};
