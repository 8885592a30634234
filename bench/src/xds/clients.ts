// A hundred Envoys at one control plane: their cost in memory, and the time until an edit reaches the last of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../apiserver/connection.ts';
import { processorMilliseconds, residentMegabytes } from '../apiserver/process-costs.ts';
import type { Part } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import type { Result } from '../measure/result.ts';
import { Figures } from './figures.ts';
import { routeEdit } from './objects.ts';
import { onScene, quiet, type Scene, settleStatuses } from './scene.ts';
import { type Subscriber, subscribeAggregated } from './subscriptions.ts';

const PAUSE_MS = 20;
/** The limit in MB for each further client: far below the size of its own copy of the resources. */
const LIMIT_MB = 1;

export function clients(name: string, size: number): Part {
  return {
    name,
    summary: `a hundred clients with everything of ${size} HTTPProxies`,
    measure: (scale) =>
      onScene({ size: scale === 'tiny' ? 20 : size }, (scene) =>
        measureClients(scene, scale === 'tiny' ? { count: 3, edits: 3 } : { count: 100, edits: 100 }),
      ),
  };
}

async function measureClients(scene: Scene, { count, edits }: { count: number; edits: number }): Promise<Result[]> {
  const [plane] = scene.planes;
  if (!plane) throw new Error('there is no control plane to measure');
  await settleStatuses(scene);
  const running = await scene.start(plane);
  const subscribers: Subscriber[] = [];
  const connection = await openConnection(scene.server.address);
  try {
    subscribers.push(await subscribeAggregated(running.port, scene.expected(plane)));
    await quiet(running.pid, 1_000);
    const alone = residentMegabytes([running.pid]);
    const before = processorMilliseconds([running.pid]) ?? 0;
    while (subscribers.length < count) subscribers.push(await subscribeAggregated(running.port, scene.expected(plane)));
    const connecting = ((processorMilliseconds([running.pid]) ?? 0) - before) / (count - 1);
    await quiet(running.pid, 1_000);
    const together = residentMegabytes([running.pid]);
    const started = processorMilliseconds([running.pid]) ?? 0;
    const latencies: number[] = [];
    for (let turn = 0; turn < edits; turn++) {
      const mark = `/mark-${turn}-`;
      const seen = Promise.all(subscribers.map((subscriber) => subscriber.seen(mark)));
      seen.catch(() => undefined);
      await connection.exchange(routeEdit(plane, ((turn * 34) % scene.size) | 1, mark));
      const answered = performance.now();
      latencies.push(Math.max(0, ...(await seen)) - answered);
      await sleep(PAUSE_MS);
    }
    const cpu = ((processorMilliseconds([running.pid]) ?? 0) - started) / edits;
    const figures = new Figures(`${scene.size} proxies, ${count} clients`, false, count === 100);
    const [first] = subscribers;
    figures.add('bytes of everything', 'MB', [(first?.connection.bytes ?? 0) / 1e6]);
    figures.add('resident memory with one client', 'MB', [alone]);
    figures.add('resident memory for each further client', 'MB', [(together - alone) / (count - 1)], LIMIT_MB);
    figures.add('processor time for each further client', 'ms', [connecting]);
    figures.add('route edit at the last client, p50', 'ms', [percentile(latencies, 0.5)]);
    figures.add('route edit at the last client, p99', 'ms', [percentile(latencies, 0.99)]);
    figures.add('processor time of a route edit', 'ms', [cpu]);
    return figures.results;
  } finally {
    connection.close();
    for (const subscriber of subscribers) subscriber.close();
    await running.stop();
  }
}
