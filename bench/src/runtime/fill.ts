// The time to fill a cache from a paged list, beside JSON.parse on the same bytes: the difference is the cost of the informer.
import { createClient, createInformer, silentLogger, systemClock } from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';
import { milliseconds, roundsOf } from '../measure/timing.ts';
import { PAGE_SIZE, type PreparedPages, pagesTransport, parsePage, preparePages } from './prepared-pages.ts';
import { WebProxy } from './web-proxy.ts';

export const fill: Part = {
  name: 'fill',
  summary: 'a cache fills from a paged list',
  async measure(scale) {
    const objects = scale === 'full' ? 50_000 : 1000;
    const count = scale === 'full' ? 5 : 1;
    return [...(await measureFill(objects, count, false)), ...(await measureFill(objects, count, true))];
  },
};

async function measureFill(objects: number, count: number, hasManagedFields: boolean) {
  const prepared = preparePages(objects, hasManagedFields);
  // Warm-up: both ways once.
  parseAll(prepared);
  await fillOnce(prepared);
  const measured = await roundsOf(count, async () => {
    heapAfterGc();
    const parse = parseAll(prepared);
    heapAfterGc();
    const filled = await fillOnce(prepared);
    return { parse, filled };
  });
  const perObject = Math.round(prepared.bytes / objects);
  const what = `fill: ${objects} objects${hasManagedFields ? ' with managedFields' : ''}`;
  const note = `${perObject} bytes of JSON an object, ${PAGE_SIZE} a page`;
  return [
    result({
      name: `${what}, time`,
      unit: 'ms',
      rounds: measured.map(({ filled }) => filled),
      peer: { name: 'JSON.parse', rounds: measured.map(({ parse }) => parse) },
      note,
    }),
    result({
      name: `${what}, speed against JSON.parse`,
      unit: 'of its speed',
      rounds: measured.map(({ parse, filled }) => parse / filled),
      atLeast: 0.5,
      note: 'each round compares the two one after the other',
    }),
  ];
}

/** The objects are kept until the end, as a cache keeps them: otherwise the collector would have it easier. */
function parseAll({ pages }: PreparedPages): number {
  const kept: unknown[] = [];
  const elapsed = milliseconds(() => {
    for (const page of pages) kept.push((parsePage(page) as { items: unknown[] }).items);
  });
  if (kept.length !== pages.length) throw new Error('not every page was parsed');
  return elapsed;
}

async function fillOnce(prepared: PreparedPages): Promise<number> {
  const random = createRandom(1);
  const client = createClient({
    transport: pagesTransport(prepared),
    clock: systemClock,
    random,
    logger: silentLogger,
  });
  const informer = createInformer({
    client,
    kind: WebProxy,
    clock: systemClock,
    random,
    logger: silentLogger,
    pageSize: PAGE_SIZE,
  });
  const stop = new AbortController();
  const stopped = stopwatch();
  const running = informer.run(stop.signal);
  await informer.synced();
  const elapsed = stopped();
  if (informer.size !== prepared.objects) throw new Error(`the cache has ${informer.size} objects`);
  stop.abort();
  await running;
  return elapsed;
}
