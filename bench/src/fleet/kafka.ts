import { Secret } from '@capstan/kube';
import { createFleet, type FleetSize, proxyOf, secretOf, startProgram } from '../kroxylicious/fleet.ts';
import { restingHeap } from '../measure/heap.ts';
import { millisecondsOf } from '../measure/timing.ts';
import { until } from '../runtime/until.ts';
import { medianTime, sizedFleet } from './sized.ts';

const EDITS = 15;
const CLUSTERS_OF_A_PROXY = 50;

export const kafka = sizedFleet({
  name: 'kafka',
  summary: 'Kafka clusters with a certificate each, 50 on a proxy; an edit renews one',
  objects: 'Kafka clusters',
  memory: 'live heap',
  sizes: [50, 150, 500],
  tiny: [10],
  below: 40,
  async measure(clusters) {
    const size: FleetSize = { clusters, proxies: Math.ceil(clusters / CLUSTERS_OF_A_PROXY) };
    const fleet = await createFleet(size);
    const first = startProgram(fleet);
    const startMs = await millisecondsOf(() => first.rest());
    await first.stop();
    // The server in this process holds all children by now, so that the second program adds its own caches alone.
    const before = await restingHeap();
    const program = startProgram(fleet);
    await program.rest();
    const megabytes = ((await restingHeap()) - before) / 1e6;
    const editMs = await medianTime(EDITS, async (turn) => {
      const index = (turn * 7) % clusters;
      program.patched.length = 0;
      await fleet.cluster.client.patch(Secret, secretOf(index), 'merge', { data: fleet.turns.next(index) });
      await until(() => program.patched.includes(proxyOf(index, size)));
    });
    await program.rest();
    await program.stop();
    await fleet.cluster.close();
    return { startMs, megabytes, editMs };
  },
});
