// One server that grows: start, rest, memory, edits and a restart at each size, in both ways in which Envoys subscribe; and at the last
// size many clients. The cost at several sizes has an exponent, which the page of results shows.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processorMilliseconds, residentMegabytes } from '../apiserver/process-costs.ts';
import type { Part, Scale } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import type { Result } from '../measure/result.ts';
import { CONTOUR, type ControlPlane, expectedOf, missingContour, SESAME } from './control-planes.ts';
import { addFanOut } from './fan-out.ts';
import { Figures } from './figures.ts';
import { type Measured, measureEdits } from './measured-edits.ts';
import { createKeyPairs, proxiesIn } from './objects.ts';
import { addHosts, createDefinitions, onServer, quiet, type Scene, served, settleStatuses } from './scene.ts';
import { peakMegabytes } from './served.ts';
import { type Expected, type Subscriber, subscribeAggregated, subscribeByName } from './subscriptions.ts';

const WAYS = ['delta ADS', 'a stream a name'] as const;
type Way = (typeof WAYS)[number];

/** Seconds after a start, in which statuses are compared and the heap is compacted; and the rest that follows. */
const AFTER_START_MS = 10_000;
const REST_MS = 10_000;

export function growth(name: string, isBesideContour: boolean): Part {
  return {
    name,
    summary: `start, rest, edits, a restart and many clients at 100, 1,000 and 10,000 HTTPProxies${isBesideContour ? ', beside Contour' : ''}`,
    lacks: () => (isBesideContour ? missingContour() : undefined),
    measure: (scale) => measureGrowth(isBesideContour ? [SESAME, CONTOUR] : [SESAME], scale),
  };
}

function sizesOf(scale: Scale): readonly number[] {
  // A quick look at some of the sizes, which is not saved.
  const chosen = process.env['CAPSTAN_BENCH_SIZES'];
  if (chosen) return chosen.split(',').map(Number);
  return scale === 'tiny' ? [4] : [100, 1_000, 10_000];
}

function measureGrowth(planes: readonly ControlPlane[], scale: Scale): Promise<Result[]> {
  const sizes = sizesOf(scale);
  const last = Math.max(...sizes);
  return onServer({ isAlone: planes.length === 1 }, async (server, start) => {
    const pairs = await createKeyPairs(Math.ceil(last / 2));
    for (const plane of planes) {
      await createDefinitions(server, plane);
      await served(server.address, proxiesIn(plane));
    }
    const results: Result[] = [];
    let filled = 0;
    for (const size of sizes) {
      for (const plane of planes) await addHosts(server, plane, filled, size, pairs);
      filled = size;
      const expected = (plane: ControlPlane) => expectedOf(plane, size, pairs);
      const scene: Scene = { server, size, planes, pairs, start, expected };
      await settleStatuses(scene);
      for (const way of WAYS) results.push(...(await measureWay(scene, way, scale)));
      results.push(...(await measureRestart(scene)));
    }
    const scene: Scene = {
      server,
      size: last,
      planes,
      pairs,
      start,
      expected: (plane) => expectedOf(plane, last, pairs),
    };
    return [...results, ...(await addFanOut(scene, scale))];
  });
}

function subscribe(way: Way, port: number, expected: Expected, began: number): Promise<Subscriber> {
  return (way === 'delta ADS' ? subscribeAggregated : subscribeByName)(port, expected, began);
}

async function measureWay(scene: Scene, way: Way, scale: Scale): Promise<Result[]> {
  const { size, planes } = scene;
  const isJudged = size === 10_000;
  const figures = new Figures(`${size} HTTPProxies`, planes.length > 1, isJudged, size);
  const add = (name: string, unit: string, values: readonly number[], below?: number, ratioAtMost?: number) =>
    figures.add(name, unit, values, below, ratioAtMost);
  const sides: Measured[] = [];
  const cpu: number[] = [];
  const afterStart: number[] = [];
  const atRest: number[] = [];
  const isTiny = scale === 'tiny';
  try {
    for (const plane of planes) {
      const running = await scene.start(plane);
      const used = () => processorMilliseconds([running.pid]) ?? 0;
      const subscriber = await subscribe(way, running.port, scene.expected(plane), running.began);
      sides.push({ plane, running, subscriber });
      const started = used();
      cpu.push(started / 1000);
      await sleep(isTiny ? 200 : AFTER_START_MS);
      afterStart.push(perMinute(used() - started, isTiny ? 200 : AFTER_START_MS));
    }
    for (const { running } of sides) await quiet(running.pid, isTiny ? 200 : 2_000);
    const before = sides.map(({ running }) => processorMilliseconds([running.pid]) ?? 0);
    const restMs = isTiny ? 200 : REST_MS;
    await sleep(restMs);
    for (const [at, { running }] of sides.entries())
      atRest.push(perMinute((processorMilliseconds([running.pid]) ?? 0) - (before[at] ?? 0), restMs));
    const isAds = way === 'delta ADS';
    add(
      `${way}: start to the first answer`,
      's',
      sides.map(({ subscriber }) => subscriber.firstMs / 1000),
    );
    add(
      `${way}: start to the last resource at the client`,
      's',
      sides.map(({ subscriber }) => subscriber.completeMs / 1000),
      isAds ? 4 : 8,
      1,
    );
    add(`${way}: processor time of the start`, 's', cpu);
    add(`${way}: processor time in the ten seconds after the start, by the minute`, 's', afterStart);
    add(`${way}: processor time at rest, by the minute`, 's', atRest, 0.3);
    const resident = () => sides.map(({ running }) => residentMegabytes([running.pid]));
    add(`${way}: resident memory at rest`, 'MB', resident(), isAds ? 280 : 350);
    for (const edit of ['route with TLS', 'route without TLS'] as const) {
      const countOf = (plane: ControlPlane) => (isTiny ? 3 : plane.name === 'sesame' ? 150 : 10);
      await measureEdits(scene, sides, edit, (plane) => (plane.name === 'sesame' ? Math.ceil(countOf(plane) / 3) : 1));
      const measured = await measureEdits(scene, sides, edit, countOf);
      const of = (share: number) => measured.map(({ latencies }) => percentile(latencies, share));
      add(`${way}: ${edit}, p50`, 'ms', of(0.5), isAds ? 3 : undefined, isAds && isJudged ? 0.01 : undefined);
      add(`${way}: ${edit}, p99`, 'ms', of(0.99), isAds ? 10 : 80);
      add(
        `${way}: ${edit}, bytes`,
        'bytes',
        measured.map(({ bytes }) => bytes),
        isAds ? 4_096 : undefined,
      );
      add(
        `${way}: ${edit}, processor time`,
        'ms',
        measured.map(({ cpuMs }) => cpuMs),
      );
    }
    add(`${way}: resident memory after the edits`, 'MB', resident());
    add(
      `${way}: resident memory at most`,
      'MB',
      sides.map(({ running }) => peakMegabytes(running.pid)),
      450,
    );
    return figures.results;
  } finally {
    for (const { subscriber, running } of sides) {
      subscriber.close();
      await running.stop();
    }
  }
}

const perMinute = (ms: number, ofMs: number) => ((ms / ofMs) * 60_000) / 1000;

/** A container that is killed and restarted on the same volume. */
async function measureRestart(scene: Scene): Promise<Result[]> {
  const { size } = scene;
  const plane = SESAME;
  const figures = new Figures(`${size} HTTPProxies`, false, size === 10_000, size);
  const folder = await mkdtemp(join(tmpdir(), 'capstan-bench-kept-'));
  try {
    const path = join(folder, 'snapshot');
    const flags = [`--snapshot-file=${path}`];
    const first = await scene.start(plane, flags);
    (await subscribeAggregated(first.port, scene.expected(plane))).close();
    await written(path);
    await first.kill();
    const second = await scene.start(plane, flags, first.ports);
    const subscriber = await subscribeAggregated(second.port, scene.expected(plane), second.began);
    figures.add('restart: first answer from the kept snapshot', 's', [subscriber.firstMs / 1000], 1);
    figures.add('restart: last resource at the client', 's', [subscriber.completeMs / 1000]);
    figures.add('restart: size of the kept snapshot', 'MB', [(await stat(path)).size / 1e6]);
    subscriber.close();
    await second.stop();
    return figures.results;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const WRITTEN_LIMIT_MS = 60_000;

async function written(path: string): Promise<void> {
  const deadline = performance.now() + WRITTEN_LIMIT_MS;
  while (!(await stat(path).catch(() => undefined))) {
    if (performance.now() > deadline) throw new Error('the snapshot was not kept in time');
    await sleep(100);
  }
}
