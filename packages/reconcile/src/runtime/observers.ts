// What any host of a runtime wants to measure: the standard metrics, connected to every part of it.
import { type Kind, kindId } from '@capstan/kube/cluster';
import type { StandardMetrics } from '../metrics/index.ts';
import { DEFAULT_CONCURRENCY } from '../reconciler.ts';
import type { Runtime, RuntimeObserver } from './runtime.ts';

/** For RuntimeOptions.observe. */
export function runtimeObserver(metrics: StandardMetrics): RuntimeObserver {
  return {
    wave: (wave) => metrics.wave(wave),
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

/** Shows what is looked up at each scrape: the engine's figures, and how old the caches of these worlds are. */
export function observeRuntime(metrics: StandardMetrics, runtime: Runtime): void {
  metrics.engine(() => runtime.engine.stats());
  for (const [name, world] of runtime.worlds) {
    const kinds = kindsOf(runtime);
    metrics.informers(name, () =>
      [...world.staleness()].flatMap(([id, ms]) => {
        const kind = kinds.get(id);
        return kind === undefined ? [] : [{ kind, staleness: () => ms }];
      }),
    );
  }
}

function kindsOf({ bindings }: Runtime): Map<string, Kind> {
  const kinds = bindings.flatMap(({ reconciler: { resource, reads, writes } }) => [
    resource,
    ...[...reads, ...writes].map(({ kind }) => kind),
  ]);
  return new Map(kinds.map((kind) => [kindId(kind), kind]));
}
