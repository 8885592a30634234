// Ten clusters are discovered at once; then single endpoints change while others churn; then everything restarts.
import { EndpointSlice, Service, sleep, systemClock } from '@capstan/kube';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';
import { latencyOf } from '../measure/timing.ts';
import { until } from '../runtime/until.ts';
import {
  backendOf,
  createRemotes,
  endpointOf,
  NAMESPACE,
  type Remotes,
  type RunningDiscoverer,
  serviceOf,
  sliceOf,
  startDiscoverer,
} from './remotes.ts';

const SIZES = {
  full: { remotes: 10, services: 1000, endpoints: 5, changes: 500, churn: 200 },
  tiny: { remotes: 2, services: 10, endpoints: 2, changes: 10, churn: 50 },
};

export const discovery: Part = {
  name: 'discovery',
  summary: 'the first synchronisation of many clusters, changes while others churn, and a restart',
  async measure(scale) {
    const size = SIZES[scale];
    const remotes = await createRemotes(size);
    const start = () => remotes.remotes.map((_, index) => startDiscoverer(remotes, index));
    // By the clock on the wall: the discoverers' own limits make them wait.
    const begun = performance.now();
    const first = start();
    await until(() => first.every(({ discoverer }) => discoverer.isReady));
    const seconds = (performance.now() - begun) / 1000;
    const { items } = await remotes.local.client.list(Service, { labelSelector: 'gimbal.heptio.com/backend' });
    if (items.length !== size.remotes * size.services) throw new Error(`only ${items.length} services were discovered`);
    const { samples, churned } = await changes(remotes, size);
    await writesEnd(first);
    for (const each of first) await each.stop();
    const second = start();
    await until(() => second.every(({ discoverer }) => discoverer.isReady));
    const writes = second.reduce((sum, each) => sum + each.writes.length, 0);
    for (const each of second) await each.stop();
    await remotes.close();
    const where = `${size.remotes} clusters with ${size.services} services of ${size.endpoints} endpoints`;
    return [
      result({
        name: `first synchronisation of ${where}`,
        unit: 's',
        rounds: [seconds],
        ...(scale === 'full' && { below: 60 }),
        note: 'all servers and discoverers in one process',
      }),
      result({
        name: 'a changed endpoint is in the local slice, 99th percentile, while others change',
        unit: 'ms',
        rounds: [latencyOf(samples).p99],
        ...(scale === 'full' && { below: 100 }),
        note: `from the moment its write is sent; ${churned} other slices changed meanwhile, ${size.churn} a second`,
      }),
      result({ name: 'the same, median', unit: 'ms', rounds: [latencyOf(samples).p50] }),
      result({
        name: `writes when all discoverers of ${where} restart`,
        unit: 'writes',
        rounds: [writes],
        exactly: 0,
      }),
    ];
  },
};

const QUIET_MS = 300;

/** Waits until the last change is written: a restart before that would have to write it. */
async function writesEnd(discoverers: readonly RunningDiscoverer[]): Promise<void> {
  const count = () => discoverers.reduce((sum, { writes }) => sum + writes.length, 0);
  for (let before = -1; before !== count(); ) {
    before = count();
    await sleep(systemClock, QUIET_MS);
  }
}

const CHURN_MS = 20;
const PAUSE_MS = 5;

/** Changes one slice after the other and waits until it has arrived; others change at a steady pace. */
async function changes({ local, remotes }: Remotes, size: (typeof SIZES)['full']) {
  const seen = new Map<string, number>();
  const watching = new AbortController();
  const stream = await local.client.watch(EndpointSlice, { signal: watching.signal });
  const watch = (async () => {
    for await (const events of stream) {
      for (const { object } of events) {
        const { metadata, endpoints } = object as EndpointSlice;
        const marker = endpoints?.find(({ hostname }) => hostname?.startsWith('turn-'))?.hostname;
        const service = metadata.labels?.['kubernetes.io/service-name'];
        if (marker !== undefined) seen.set(`${service}/${marker}`, performance.now());
      }
    }
  })().catch(() => {});
  const change = async (remote: number, index: number, turn: number): Promise<void> => {
    const endpoints = Array.from({ length: size.endpoints }, (_, pod) => ({
      ...endpointOf(remote, index, pod, turn % 2 === 0),
      ...(pod === 0 && { hostname: `turn-${turn}` }),
    }));
    const ref = { namespace: NAMESPACE, name: sliceOf(index) };
    await remotes[remote]?.client.patch(EndpointSlice, ref, 'merge', { endpoints });
  };
  let churned = 0;
  let isOver = false;
  const churn = (async () => {
    while (!isOver) {
      await sleep(systemClock, CHURN_MS);
      const some = Array.from({ length: (size.churn * CHURN_MS) / 1000 }, () => {
        churned++;
        // The upper half churns, the lower half is measured.
        const index = Math.floor(size.services / 2) + (churned % Math.floor(size.services / 2));
        return change(churned % size.remotes, index, churned);
      });
      await Promise.all(some);
    }
  })();
  const samples: number[] = [];
  for (let turn = 1; turn <= size.changes; turn++) {
    const remote = turn % size.remotes;
    const index = (turn * 13) % Math.floor(size.services / 2);
    const key = `${backendOf(remote)}-${serviceOf(index)}/turn-${turn}`;
    const elapsed = stopwatch();
    await change(remote, index, turn);
    await until(() => seen.has(key));
    samples.push(elapsed());
    await sleep(systemClock, PAUSE_MS);
  }
  isOver = true;
  await churn;
  watching.abort();
  await watch;
  return { samples, churned };
}
