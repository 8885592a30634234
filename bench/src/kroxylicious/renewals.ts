// From the write of a Secret to the patch of the Deployment: a certificate of one virtual cluster among many is renewed, again
// and again, without a quiet period.
import { Secret } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';
import { latencyOf, roundsOf } from '../measure/timing.ts';
import { until } from '../runtime/until.ts';
import { createFleet, type Fleet, type FleetSize, type Program, proxyOf, secretOf, startProgram } from './fleet.ts';

const SIZES = {
  full: {
    sizes: [
      { proxies: 20, clusters: 1000 },
      { proxies: 1, clusters: 1000 },
    ],
    warmUp: 50,
    renewals: 200,
    rounds: 3,
  },
  tiny: { sizes: [{ proxies: 2, clusters: 10 }], warmUp: 2, renewals: 5, rounds: 1 },
};

export const renewals: Part = {
  name: 'renewals',
  summary: 'a renewed certificate among many virtual clusters',
  async measure(scale) {
    const { sizes, warmUp, renewals: count, rounds } = SIZES[scale];
    const results = [];
    for (const size of sizes) {
      const fleet = await createFleet(size);
      const program = startProgram(fleet);
      await program.rest();
      await renew(fleet, program, size, warmUp);
      const measured = await roundsOf(rounds, () => renew(fleet, program, size, count));
      const where = `${size.clusters} virtual clusters on ${size.proxies === 1 ? 'one proxy' : `${size.proxies} proxies`}`;
      results.push(
        result({
          name: `renewal: Secret write to Deployment patch, 99th percentile, ${where}`,
          unit: 'ms',
          rounds: measured.map(({ samples }) => latencyOf(samples).p99),
          ...(scale === 'full' ? { below: 100 } : {}),
          note: 'from the moment the write is sent to the answer to the patch; quiet period 0',
        }),
        result({
          name: `renewal: the same, median, ${where}`,
          unit: 'ms',
          rounds: measured.map(({ samples }) => latencyOf(samples).p50),
        }),
        result({
          name: `renewal: API writes of one, ${where}`,
          unit: 'writes',
          rounds: measured.map(({ writes }) => writes / count),
          atMost: 5,
          note: 'one status a level, one Deployment; the ConfigMap is the same, because files have the same names',
        }),
      );
      await program.stop();
      await fleet.cluster.close();
    }
    return results;
  },
};

async function renew({ cluster, turns }: Fleet, program: Program, size: FleetSize, count: number) {
  const samples: number[] = [];
  let writes = 0;
  for (let i = 0; i < count; i++) {
    const index = (i * 7) % size.clusters;
    program.transport.clear();
    program.patched.length = 0;
    const data = turns.next(index);
    const elapsed = stopwatch();
    await cluster.client.patch(Secret, secretOf(index), 'merge', { data });
    await until(() => program.patched.includes(proxyOf(index, size)));
    samples.push(elapsed());
    await program.rest();
    writes += program.transport.writes.length;
  }
  return { samples, writes };
}
