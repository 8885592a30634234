// Many Envoys at one replica: clients that have everything already, and only acknowledge changes. An edit costs Contour
// megabytes a client, so that it gets as many clients as it can bear.
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../apiserver/connection.ts';
import { processorMilliseconds, residentMegabytes } from '../apiserver/process-costs.ts';
import type { Scale } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import { type Result, result } from '../measure/result.ts';
import type { ControlPlane } from './control-planes.ts';
import { Figures } from './figures.ts';
import { routeEdit } from './objects.ts';
import { quiet, type Scene } from './scene.ts';
import { resume, type Subscriber, subscribeAndHold } from './subscriptions.ts';

/** Clients that Contour is measured with. */
const PEER_CLIENTS = 20;
const EDITS = 30;
const PEER_EDITS = 4;
const PAUSE_MS = 100;

export async function addFanOut(scene: Scene, scale: Scale): Promise<Result[]> {
  const results: Result[] = [];
  for (const plane of scene.planes) {
    const isPeer = plane.name === 'contour';
    const counts = scale === 'tiny' ? [2, 3] : isPeer ? [PEER_CLIENTS] : [200, 1_000];
    results.push(...(await measurePlane(scene, plane, counts, scale === 'tiny' ? 2 : isPeer ? PEER_EDITS : EDITS)));
  }
  return results;
}

type Client = Pick<Subscriber, 'seen' | 'close'>;

async function measurePlane(
  scene: Scene,
  plane: ControlPlane,
  counts: readonly number[],
  edits: number,
): Promise<Result[]> {
  const running = await scene.start(plane);
  const clients: Client[] = [];
  const results: Result[] = [];
  try {
    const expected = scene.expected(plane);
    const [first, held] = await subscribeAndHold(running.port, expected);
    clients.push(first);
    await quiet(running.pid, 2_000);
    const alone = residentMegabytes([running.pid]);
    for (const count of counts) {
      const before = processorMilliseconds([running.pid]) ?? 0;
      const added = count - clients.length;
      while (clients.length < count)
        clients.push(await resume(running.port, expected, held, `bench-${clients.length}`));
      await quiet(running.pid, 1_000);
      const connecting = ((processorMilliseconds([running.pid]) ?? 0) - before) / added;
      const memory = (residentMegabytes([running.pid]) - alone) / (count - 1);
      await editAll(scene, plane, clients, 3);
      await quiet(running.pid, 500);
      const started = processorMilliseconds([running.pid]) ?? 0;
      const latencies = await editAll(scene, plane, clients, edits);
      await quiet(running.pid, 500);
      const cpu = ((processorMilliseconds([running.pid]) ?? 0) - started) / edits;
      const figures = new Figures(
        `${scene.size}, ${count} clients of ${plane.name}`,
        false,
        scene.size === 10_000 && plane.name === 'sesame',
      );
      const limit = count === 1_000 ? 250 : undefined;
      figures.add('edit at the last client, p50', 'ms', [percentile(latencies, 0.5)], limit);
      figures.add('edit at the last client, at most', 'ms', [Math.max(...latencies)]);
      figures.add('processor time of an edit', 'ms', [cpu]);
      figures.add('resident memory for each client beyond the first', 'MB', [memory], 2);
      figures.add('resident memory after the edits', 'MB', [residentMegabytes([running.pid])]);
      figures.add('processor time of a client that comes back', 'ms', [connecting]);
      results.push(...figures.results);
    }
    return results;
  } catch (error) {
    // A peer that cannot bear it is a figure, too.
    if (plane.name === 'sesame') throw error;
    const note = error instanceof Error ? error.message : String(error);
    return [
      ...results,
      result({
        name: `${clients.length} clients of ${plane.name}: not borne`,
        unit: 'clients',
        rounds: [clients.length],
        note,
      }),
    ];
  } finally {
    for (const client of clients) client.close();
    await running.stop();
  }
}

let turns = 0;

async function editAll(
  { server, size }: Scene,
  plane: ControlPlane,
  clients: readonly Client[],
  edits: number,
): Promise<number[]> {
  const latencies: number[] = [];
  // The server closes connections that are idle for seconds.
  const connection = await openConnection(server.address);
  for (let turn = 0; turn < edits; turn++) {
    turns += 1;
    const mark = `/fan-${process.pid}-${turns}-`;
    const seen = Promise.all(clients.map((client) => client.seen(mark)));
    seen.catch(() => undefined);
    await connection.exchange(routeEdit(plane, Math.min(((turns * 34) % size) | 1, size - 1), mark));
    const answered = performance.now();
    latencies.push(Math.max(0, ...(await seen)) - answered);
    await sleep(PAUSE_MS);
  }
  connection.close();
  return latencies;
}
