// The measurements that any host of a runtime needs: the standard metrics, connected to every part of it.
import { kindId } from '@capstan/kube/cluster';
import type { StandardMetrics } from '../metrics/index.ts';
import { DEFAULT_CONCURRENCY } from '../reconciler.ts';
import type { Runtime, RuntimeObserver } from './runtime-types.ts';

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

/** Shows values that are read at each scrape: the engine's figures, and the age of the caches of all worlds. */
export function observeRuntime(metrics: StandardMetrics, runtime: Runtime): void {
  metrics.engine(() => runtime.engine.stats());
  metrics.caches(() => [...runtime.worlds].map(([name, world]) => [name, world.staleness()] as const));
}
