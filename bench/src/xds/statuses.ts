// Statuses of many new HTTPProxies under default flags, and a route edit that is created while they are written.
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../apiserver/connection.ts';
import type { Part } from '../bench.ts';
import type { Result } from '../measure/result.ts';
import { type ControlPlane, missingContour } from './control-planes.ts';
import { Figures } from './figures.ts';
import { backendRequests, countValid, proxyRequests, routeEdit, writeAll } from './objects.ts';
import { onScene, quiet, type Scene, type SceneOptions, settleStatuses, withConnection } from './scene.ts';
import { subscribeAggregated } from './subscriptions.ts';

const LIMIT_MS = 400_000;
const POLL_MS = 100;

/** So many new ones beside those that are there. */
export function statuses(name: string, count: number, below: number, options: SceneOptions): Part {
  return {
    name,
    summary: `the statuses of ${count} new HTTPProxies${options.isBesideContour ? ', beside Contour' : ''}`,
    lacks: () => (options.isBesideContour ? missingContour() : undefined),
    measure(scale) {
      const fresh = scale === 'tiny' ? 20 : count;
      const size = scale === 'tiny' ? 20 : options.size;
      return onScene({ ...options, size, spare: fresh }, (scene) =>
        measureStatuses(scene, fresh, scale === 'full' ? below : undefined),
      );
    },
  };
}

async function measureStatuses(scene: Scene, fresh: number, below: number | undefined): Promise<Result[]> {
  await settleStatuses(scene);
  const measured: Statuses[] = [];
  for (const plane of scene.planes) measured.push(await statusesOf(scene, plane, fresh));
  const figures = new Figures(`${fresh} new proxies beside ${scene.size}`, scene.planes.length > 1, true);
  figures.add(
    'statuses after the last one was created',
    's',
    measured.map(({ seconds }) => seconds),
    below,
  );
  figures.add(
    'a route edit made meanwhile, at the client',
    'ms',
    measured.map(({ editMs }) => editMs),
    below && 1_000,
  );
  return figures.results;
}

interface Statuses {
  readonly seconds: number;
  readonly editMs: number;
}

async function statusesOf(
  { server, size, pairs, expected, start }: Scene,
  plane: ControlPlane,
  fresh: number,
): Promise<Statuses> {
  const running = await start(plane);
  const subscriber = await subscribeAggregated(running.port, expected(plane));
  const connection = await openConnection(server.address);
  try {
    await writeAll(server.address, backendRequests(plane, size, size + fresh, pairs));
    await quiet(running.pid, 1_000);
    await writeAll(server.address, proxyRequests(plane, size, size + fresh));
    const began = performance.now();
    const seen = subscriber.seen('/meanwhile-', LIMIT_MS);
    seen.catch(() => undefined);
    await connection.exchange(routeEdit(plane, 0, '/meanwhile-'));
    const edited = performance.now();
    const isSettled = async () => (await withConnection(server, (each) => countValid(each, plane))) >= size + fresh;
    while (!(await isSettled())) {
      if (performance.now() - began > LIMIT_MS) break;
      await sleep(POLL_MS);
    }
    const seconds = (performance.now() - began) / 1000;
    return { seconds, editMs: Math.max(0, (await seen) - edited) };
  } finally {
    connection.close();
    subscriber.close();
    await running.stop();
  }
}
