// The cost of a cached object: the informer's copy and the table of the world, for a kind that is read and not reconciled.
import { ConfigMap, createClient, silentLogger, systemClock } from '@capstan/kube';
import { createRuntime, operator, plan, reading, reconciler } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { heapAfterGc, restingHeap } from '../measure/heap.ts';
import { result } from '../measure/result.ts';
import { roundsOf } from '../measure/timing.ts';
import { type PreparedPages, pagesTransport, parsePage, preparePages } from './prepared-pages.ts';
import { until } from './until.ts';
import { WebProxy } from './web-proxy.ts';

export const memory: Part = {
  name: 'memory',
  summary: 'heap of a cached object',
  async measure(scale) {
    const objects = scale === 'full' ? 20_000 : 1000;
    const prepared = preparePages(objects, true);
    const bare = preparePages(objects, false);
    // Once without measuring: code and shapes stay on the heap, and are not of the objects.
    await cachedBytes(preparePages(500, true));
    const measured = await roundsOf(scale === 'full' ? 3 : 1, () => cachedBytes(prepared));
    const parsed = parsedBytes(bare);
    return [
      result({
        name: 'memory: a cached object',
        unit: 'bytes',
        rounds: measured.map((bytes) => bytes / objects),
        // The tiny size divides the fixed cost by too few objects.
        ...(scale === 'full' ? { below: 4096 } : {}),
        peer: { name: 'JSON.parse, kept in an array', rounds: [parsed / objects] },
        note: `${Math.round(bare.bytes / objects)} bytes of JSON without managedFields (${Math.round(prepared.bytes / objects)} with), informer and table of the world`,
      }),
    ];
  },
};

/** Reads the kind everywhere, and has no object of its own: so nothing but caches is there. */
const reader = operator({
  name: 'bench',
  kinds: [],
  reconcilers: [
    reconciler({
      name: 'reader',
      resource: ConfigMap,
      reads: [reading(WebProxy, 'everywhere')],
      reconcile: () => plan(),
    }),
  ],
});

async function cachedBytes(prepared: PreparedPages): Promise<number> {
  const random = createRandom(1);
  const client = createClient({
    transport: pagesTransport(prepared),
    clock: systemClock,
    random,
    logger: silentLogger,
  });
  const before = await restingHeap();
  const runtime = createRuntime({ operators: [reader], clock: systemClock, random, logger: silentLogger });
  const world = runtime.addWorld({ name: '', client });
  const stop = new AbortController();
  const running = runtime.run(stop.signal);
  await until(() => runtime.isSynced);
  await runtime.settle();
  if (world.readTable(WebProxy)?.size !== prepared.objects) throw new Error('the table is not full');
  const after = await restingHeap();
  stop.abort();
  await running;
  return after - before;
}

function parsedBytes({ pages }: PreparedPages): number {
  const before = heapAfterGc();
  const kept = pages.flatMap((page) => (parsePage(page) as { items: unknown[] }).items);
  const after = heapAfterGc();
  if (kept.length === 0) throw new Error('nothing was parsed');
  return after - before;
}
