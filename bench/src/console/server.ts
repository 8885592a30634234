// The answers of the server: overview, explorer, object and graph over ten thousand objects, and plans of edits.
import type { Part } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf } from '../measure/timing.ts';
import { type ConsoleScene, HUB, manifestOf, nameOf, openScene } from './scene.ts';

const SIZES = {
  full: { proxies: 2500, requests: 200, planned: [1000, 10_000], plans: 40 },
  tiny: { proxies: 10, requests: 3, planned: [10], plans: 3 },
};
/** Requests and plans that are not counted. */
const WARM_UP = 5;

export const server: Part = {
  name: 'server',
  summary: 'answers over ten thousand objects, and plans at one thousand and at ten thousand HTTPProxies',
  async measure(scale) {
    const { proxies, requests, planned, plans } = SIZES[scale];
    const isFull = scale === 'full';
    const scene = await openScene(proxies);
    const objects = proxies * 4;
    const figures = [];
    try {
      // A plan waits for full caches.
      await scene.post('/api/plan', { manifests: manifestOf(0, 2) });
      const { total } = JSON.parse(await scene.get('/api/objects')) as { total: number };
      if (total < objects) throw new Error(`the console has ${total} of ${objects} objects`);
      const paths: readonly [name: string, most: number, path: (index: number) => string][] = [
        ['overview', 20, () => '/api/overview'],
        ['explorer, all', 20, () => '/api/objects?limit=200'],
        ['explorer, filtered', 20, (index) => `/api/objects?limit=200&q=${FILTERS[index % FILTERS.length] ?? ''}`],
        ['graph of one object', 30, (index) => `/api/graph/-/HTTPProxy.projectsesame.io/default/${nameOf(index)}`],
        ['graph of a hub, 100 nodes', 30, () => `/api/graph/-/HTTPProxy.projectsesame.io/default/${HUB}`],
      ];
      for (const [name, most, path] of paths) {
        const samples: number[] = [];
        for (let index = 0; index < requests + WARM_UP; index++) {
          // An answer that nothing changed in between could come from a cache.
          await scene.edit(index % proxies, index);
          const ms = await millisecondsOf(() => scene.get(path(index % proxies)));
          if (index >= WARM_UP) samples.push(ms);
        }
        figures.push(
          result({
            name: `${name}, ${objects} objects, p95`,
            unit: 'ms',
            rounds: [percentile(samples, 0.95)],
            ...(isFull && { atMost: most }),
            note: `p50 ${percentile(samples, 0.5).toFixed(1)} ms; over HTTP, an edit before each request`,
          }),
        );
      }
    } finally {
      await scene.close();
    }
    for (const count of planned) figures.push(await planFigure(count, plans, isFull));
    return figures;
  },
};

const FILTERS = ['is:unready', 'proxy-12', 'kind:HTTPProxy', 'service-7%20ns:default', 'operator:sesame'];

async function planFigure(proxies: number, plans: number, isFull: boolean) {
  const scene = await openScene(proxies);
  try {
    const samples: number[] = [];
    for (let index = 0; index < plans + WARM_UP; index++) {
      const ms = await millisecondsOf(() => planned(scene, index % proxies));
      if (index >= WARM_UP) samples.push(ms);
    }
    return result({
      name: `plan of an edit at ${proxies} HTTPProxies, p50`,
      unit: 'ms',
      rounds: [percentile(samples, 0.5)],
      ...(isFull && { atMost: proxies > 1000 ? 500 : 100 }),
      note: `p95 ${percentile(samples, 0.95).toFixed(0)} ms; with the dry run of the API server in the same process`,
    });
  } finally {
    await scene.close();
  }
}

async function planned(scene: ConsoleScene, index: number): Promise<void> {
  const answer = await scene.post('/api/plan', { manifests: manifestOf(index, 7 + index), draft: 'bench' });
  const { report } = answer as { report: { given: readonly { verb: string }[] } };
  if (report.given[0]?.verb !== 'change' && report.given[0]?.verb !== 'update')
    throw new Error(`the plan changes nothing: ${JSON.stringify(report.given)}`);
}
