// `sesame serve` as a process of its own beside an API server of its own, measured by an xDS client in a third process; with `--peer` Contour
// beside it, on the same server, with the same objects and the same client, in turns.
import { readFileSync } from 'node:fs';
import { peerNote } from '../apiserver/peer.ts';
import { processorMilliseconds, residentMegabytes } from '../apiserver/process-costs.ts';
import type { Part, Scale } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import type { Result } from '../measure/result.ts';
import { missingContour } from './control-planes.ts';
import { Figures } from './figures.ts';
import { EDITS, type Edit, type Measured, type Measurement, measureEdits } from './measured-edits.ts';
import { onScene, quiet, type Scene, type SceneOptions, settleStatuses } from './scene.ts';
import { subscribeAggregated, subscribeByName } from './subscriptions.ts';

const TINY = 20;
const REST_MS = 4_000;

type How = 'delta ADS' | 'a stream a name';

/** One part for each number of HTTPProxies and way to subscribe. */
export function served(name: string, how: How, options: SceneOptions): Part {
  return {
    name,
    summary: `${options.size} HTTPProxies, ${how}${options.isBesideContour ? ', beside Contour' : ''}${options.isReal ? ', on a real kube-apiserver' : ''}`,
    lacks: () =>
      options.isBesideContour
        ? missingContour()
        : options.isReal
          ? peerNote().replace('; no peer: ', '') || undefined
          : undefined,
    measure: (scale: Scale) =>
      onScene({ ...options, size: scale === 'tiny' ? TINY : options.size }, (scene) =>
        measureServed(scene, how, scale),
      ),
  };
}

async function measureServed(scene: Scene, how: How, scale: Scale): Promise<Result[]> {
  const isJudged = scene.size === 10_000;
  await settleStatuses(scene);
  const figures = new Figures(`${scene.size}, ${how}`, scene.planes.length > 1, isJudged);
  const sides: Measured[] = [];
  const started: number[] = [];
  try {
    for (const plane of scene.planes) {
      const running = await scene.start(plane);
      const subscribe = how === 'delta ADS' ? subscribeAggregated : subscribeByName;
      const subscriber = await subscribe(running.port, scene.expected(plane), running.began);
      sides.push({ plane, running, subscriber });
      started.push((processorMilliseconds([running.pid]) ?? 0) / 1000);
      await quiet(running.pid, scale === 'tiny' ? 200 : REST_MS);
    }
    figures.add(
      'start to the last resource at the client',
      's',
      sides.map(({ subscriber }) => subscriber.completeMs / 1000),
      5,
    );
    figures.add('processor time of the start', 's', started);
    if (how === 'a stream a name') addFirstAnswer(figures, scene, sides);
    figures.add(
      'resident memory at rest',
      'MB',
      sides.map(({ running }) => residentMegabytes([running.pid])),
      350,
    );
    const limits = LIMITS[how];
    const ours = scale === 'tiny' ? 3 : 300;
    for (const edit of EDITS) {
      const countOf = (plane: Measured['plane']) => (plane.name === 'sesame' ? ours : Math.min(ours, 20));
      // The compiler has seen it before it counts.
      await measureEdits(scene, sides, edit, (plane) => Math.ceil(countOf(plane) / 5));
      const measured = await measureEdits(scene, sides, edit, countOf);
      addEdits(figures, edit, measured, limits[edit]);
    }
    figures.add(
      'resident memory after the edits',
      'MB',
      sides.map(({ running }) => residentMegabytes([running.pid])),
      350,
    );
    figures.add(
      'resident memory at most',
      'MB',
      sides.map(({ running }) => peakMegabytes(running.pid)),
      500,
    );
    return figures.results;
  } finally {
    for (const { subscriber, running } of sides) {
      subscriber.close();
      await running.stop();
    }
  }
}

/** The first answer has all clusters, or something was answered before it was complete. */
function addFirstAnswer(figures: Figures, { size }: Scene, sides: readonly Measured[]): void {
  const shares = sides.map(({ subscriber }) => subscriber.firstClusters / (size * 2));
  figures.note('share of the clusters in the first answer', '', shares);
}

interface Limit {
  readonly p50?: number;
  readonly p99?: number;
  readonly bytes?: number;
  readonly cpu?: number;
}

const LIMITS: Readonly<Record<How, Readonly<Record<Edit, Limit>>>> = {
  'delta ADS': {
    'route with TLS': { p50: 10, p99: 20, bytes: 4096, cpu: 10 },
    'route without TLS': { p50: 10, p99: 20, bytes: 4096, cpu: 10 },
    endpoint: { p50: 5, p99: 10 },
  },
  'a stream a name': {
    'route with TLS': { p50: 20, p99: 50 },
    'route without TLS': { p99: 100 },
    endpoint: { p50: 5, p99: 10 },
  },
};

function addEdits(figures: Figures, edit: Edit, measured: readonly Measurement[], limit: Limit): void {
  const of = (share: number) => measured.map(({ latencies }) => percentile(latencies, share));
  figures.add(`${edit}, p50`, 'ms', of(0.5), limit.p50);
  figures.add(`${edit}, p99`, 'ms', of(0.99), limit.p99);
  figures.add(
    `${edit}, p50 from the request`,
    'ms',
    measured.map(({ whole }) => percentile(whole, 0.5)),
  );
  figures.add(
    `${edit}, bytes`,
    'bytes',
    measured.map(({ bytes }) => bytes),
    limit.bytes,
  );
  figures.add(
    `${edit}, processor time`,
    'ms',
    measured.map(({ cpuMs }) => cpuMs),
    limit.cpu,
  );
}

/** The most memory that a process has had in use. */
export function peakMegabytes(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}
