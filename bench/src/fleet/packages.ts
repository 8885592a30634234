import { createCrossplane } from '@capstan/crossplane';
import { createProvider, healthy } from '../crossplane/fleet.ts';
import { createPackages } from '../crossplane/packages.ts';
import { restingHeap } from '../measure/heap.ts';
import { millisecondsOf } from '../measure/timing.ts';
import { createCluster } from '../runtime/cluster.ts';
import { startProgram, startWorkloads, whenSo } from '../simulated-workloads.ts';
import { medianTime, sizedFleet } from './sized.ts';

const PAUSE_MS = 20;
const EDITS = 3;

export const packages = sizedFleet({
  name: 'packages',
  summary: 'Providers from a warm cache; an edit installs one more',
  objects: 'packages',
  memory: 'live heap',
  sizes: [12, 25, 50],
  tiny: [3],
  below: 60,
  async measure(providers) {
    const built = await createPackages(providers + EDITS);
    const operator = createCrossplane({ source: built.source });
    const cluster = await createCluster(operator.kinds);
    const workloads = startWorkloads(cluster, providers);
    try {
      for (let index = 0; index < providers; index++) await createProvider(cluster.client, built, index);
      const first = startProgram(cluster, operator);
      const startMs = await millisecondsOf(() =>
        whenSo(async () => (await healthy(cluster.client)) === providers && first.isAtRest(), PAUSE_MS),
      );
      await first.stop();
      // The second program finds all objects in the heap of the server, and adds its own caches.
      const before = await restingHeap();
      const second = startProgram(cluster, operator);
      await whenSo(async () => second.isAtRest(), PAUSE_MS);
      const megabytes = ((await restingHeap()) - before) / 1e6;
      const editMs = await medianTime(EDITS, async (turn) => {
        await createProvider(cluster.client, built, providers + turn);
        await whenSo(async () => (await healthy(cluster.client)) === providers + turn + 1, PAUSE_MS);
      });
      await second.stop();
      return { startMs, megabytes, editMs };
    } finally {
      await workloads.stop();
      await cluster.close();
      await built.close();
    }
  },
});
