// What any host of a runtime wants to measure: the standard metrics, connected to every part of it.
import { kindId } from '@capstan/kube/cluster';
import type { StandardMetrics } from '../metrics/index.ts';
import { DEFAULT_CONCURRENCY } from '../reconciler.ts';
import type { Runtime, RuntimeObserver } from './runtime.ts';

/** For RuntimeOptions.observe. */
export function runtimeObserver(metrics: StandardMetrics): RuntimeObserver {
  return {
    wave: (wave) => metrics.wave(wave),
    failed: (what) => metrics.authorError(what),
    sink({ id, operator, reconciler }) {
      const writes = metrics.writes(operator.name, reconciler.name);
      return {
        queue: metrics.queue(id),
        workers: metrics.workers(id, reconciler.concurrency ?? DEFAULT_CONCURRENCY),
        wrote: (verb, kind) => writes.wrote(verb, kindId(kind)),
      };
    },
    informer: (world, kind) => metrics.informer(world, kind),
  };
}

/** Shows what is looked up at each scrape: the engine's figures, and how old the caches of all worlds are. */
export function observeRuntime(metrics: StandardMetrics, runtime: Runtime): void {
  metrics.engine(() => runtime.engine.stats());
  metrics.caches(() => [...runtime.worlds].map(([name, world]) => [name, world.staleness()] as const));
}
