import { EndpointSlice } from '@capstan/kube';
import { createRemotes, endpointOf, NAMESPACE, sliceOf, startDiscoverer } from '../gimbal/remotes.ts';
import { restingHeap } from '../measure/heap.ts';
import { until } from '../runtime/until.ts';
import { medianTime, sizedFleet } from './sized.ts';

const EDITS = 15;
const ENDPOINTS = 5;

export const discovery = sizedFleet({
  name: 'discovery',
  summary: 'services of one backend, five endpoints each; an edit changes one endpoint',
  objects: 'services',
  memory: 'live heap',
  sizes: [200, 600, 2000],
  tiny: [10],
  below: 40,
  writes: 1,
  async measure(services) {
    const remotes = await createRemotes({ remotes: 1, services, endpoints: ENDPOINTS });
    const first = startDiscoverer(remotes, 0);
    const begun = performance.now();
    await until(() => first.discoverer.isReady);
    const startMs = performance.now() - begun;
    await first.stop();
    // The heap of the servers has everything by now, so that the second discoverer adds its own caches alone.
    const before = await restingHeap();
    const second = startDiscoverer(remotes, 0);
    await until(() => second.discoverer.isReady);
    const megabytes = ((await restingHeap()) - before) / 1e6;
    const sent = second.writes.length;
    const editMs = await medianTime(EDITS, async (turn) => {
      const endpoints = Array.from({ length: ENDPOINTS }, (_, pod) => endpointOf(0, turn, pod, pod > 0));
      const ref = { namespace: NAMESPACE, name: sliceOf((turn * 13) % services) };
      const written = second.writes.length;
      await remotes.remotes[0]?.client.patch(EndpointSlice, ref, 'merge', { endpoints });
      await until(() => second.writes.length > written);
    });
    const writes = (second.writes.length - sent) / EDITS;
    await second.stop();
    await remotes.close();
    return { startMs, megabytes, editMs, writes };
  },
});
