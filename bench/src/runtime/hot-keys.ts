// A few objects that change all the time must not keep new ones waiting. The operator is a process of its own on the embedded server. It is
// measured as it is, and with reconciles of five milliseconds: then four keys that change every 20 ms occupy one thread completely, and the
// figure shows the delay of other keys.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection } from '../apiserver/connection.ts';
import { type ServerUnderTest, startServer } from '../apiserver/server.ts';
import { inTempFolder } from '../apiserver/temp-folder.ts';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { roundsOf } from '../measure/timing.ts';
import { configMapsIn, createPages, createRequest, editRequest, watchSequences } from './peer/pages.ts';
import { capstanSide, startSide } from './peer/sides.ts';

const SIZES = {
  full: { hot: 4, everyMs: 20, workMs: [0, 5], created: 100, rounds: 5, warmUpMs: 3000 },
  tiny: { hot: 2, everyMs: 20, workMs: [1], created: 5, rounds: 1, warmUpMs: 100 },
};
type Size = (typeof SIZES)['full'];

const NAMESPACE = 'capstan';
/** Numbers from here on are those of new objects. */
const FIRST_NEW = 500_000;
const CREATORS = 10;
const LIMIT_MS = 60_000;

export const hotKeys: Part = {
  name: 'hot-keys',
  summary: 'new objects beside a few that change all the time',
  measure: (scale) =>
    inTempFolder(async (folder) => {
      const size = SIZES[scale];
      const results: Result[] = [];
      for (const workMs of size.workMs) {
        const data = join(folder, `data-${workMs}`);
        const server = await startServer({ program: 'server', folder, data });
        try {
          results.push(...(await measureOn(server, size, workMs, scale === 'full' && workMs === 0)));
        } finally {
          await server.stop();
        }
      }
      return results;
    }),
};

async function measureOn(server: ServerUnderTest, size: Size, workMs: number, isJudged: boolean): Promise<Result[]> {
  await createPages(server.address, [NAMESPACE], size.hot);
  const side = await startSide(capstanSide(workMs), server.kubeconfig);
  const seen = new Map<number, (at: number) => void>();
  const unwatch = await watchSequences(server.address, configMapsIn(NAMESPACE), (number) => {
    seen.get(number)?.(performance.now());
    seen.delete(number);
  });
  const heating = new AbortController();
  const hot = keepHot(server, size, heating.signal);
  try {
    await sleep(size.warmUpMs);
    const rounds = await roundsOf(size.rounds, async (round) => {
      const latencies = await createAll(server, size, round, seen);
      return { worst: Math.max(...latencies), median: latencies.toSorted((a, b) => a - b)[latencies.length >> 1] ?? 0 };
    });
    heating.abort();
    const edits = await hot;
    const work = workMs === 0 ? '' : `, ${workMs} ms of work in each reconcile`;
    const what = `${size.created} new objects beside ${size.hot} that change every ${size.everyMs} ms${work}`;
    return [
      result({
        name: `hot keys: ${what}, the slowest child, wall clock`,
        unit: 'ms',
        rounds: rounds.map(({ worst }) => worst),
        ...(isJudged ? { below: 1000 } : {}),
        note: `${Math.round(edits)} edits a second`,
      }),
      result({ name: `hot keys: the median child${work}`, unit: 'ms', rounds: rounds.map(({ median }) => median) }),
    ];
  } finally {
    heating.abort();
    await hot;
    unwatch();
    await side.stop();
  }
}

/** Edits the first objects in turn until it is stopped; how many edits a second it built from each of them, together. */
async function keepHot({ address }: ServerUnderTest, size: Size, signal: AbortSignal): Promise<number> {
  const begun = performance.now();
  let number = 0;
  await Promise.all(
    Array.from({ length: size.hot }, async (_, index) => {
      const connection = await openConnection(address);
      while (!signal.aborted) {
        const pause = sleep(size.everyMs);
        await connection.exchange(editRequest(NAMESPACE, index, ++number % FIRST_NEW));
        await pause;
      }
      connection.close();
    }),
  );
  return number / ((performance.now() - begun) / 1000);
}

/** Creates objects; of each the milliseconds from the server's answer to its child on the watch. */
async function createAll(
  { address }: ServerUnderTest,
  size: Size,
  round: number,
  seen: Map<number, (at: number) => void>,
): Promise<number[]> {
  const left = Array.from({ length: size.created }, (_, at) => size.hot + round * size.created + at);
  const latencies: Promise<number>[] = [];
  const timer = AbortSignal.timeout(LIMIT_MS);
  await Promise.all(
    Array.from({ length: CREATORS }, async () => {
      const connection = await openConnection(address);
      for (let index = left.pop(); index !== undefined; index = left.pop()) {
        const number = FIRST_NEW + index;
        const visible = new Promise<number>((resolve, reject) => {
          seen.set(number, resolve);
          timer.addEventListener('abort', () => reject(new Error('a child was not written within a minute')));
        });
        await connection.exchange(createRequest(NAMESPACE, index, number));
        const answered = performance.now();
        latencies.push(visible.then((at) => Math.max(0, at - answered)));
      }
      connection.close();
    }),
  );
  return Promise.all(latencies);
}
