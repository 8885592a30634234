import type { EngineStats, Wave } from '../engine/index.ts';
import type { Registry } from './registry.ts';

export interface EngineMetrics {
  /** Shows these figures from now on (`engine.stats`). */
  engine(stats: () => Pick<EngineStats, 'nodes' | 'edges' | 'cells' | 'predicateEvaluations'>): void;
  wave(wave: Pick<Wave, 'changes' | 'runs' | 'cutoffs'>): void;
  /** Counts the writes of one reconciler's sink. */
  writes(operator: string, reconciler: string): WriteObserver;
}

export interface WriteObserver {
  wrote(verb: string, kind: string): void;
  /** A plan was carried out without these writes, because their values are already in place. */
  avoided(count?: number): void;
}

/** The computations of the engine, and the writes that follow. */
export function engineMetrics(registry: Registry): EngineMetrics {
  let stats: Parameters<EngineMetrics['engine']>[0] | undefined;
  const figure = (of: 'nodes' | 'edges' | 'cells' | 'predicateEvaluations') => () =>
    stats === undefined ? [] : [[{}, stats()[of]] as const];

  registry.gauge({
    name: 'capstan_engine_nodes',
    help: 'Computations that are kept, with their values.',
    collect: figure('nodes'),
  });
  registry.gauge({
    name: 'capstan_engine_edges',
    help: 'Recorded reads of computations.',
    collect: figure('edges'),
  });
  registry.gauge({
    name: 'capstan_engine_cells',
    help: 'Objects and other inputs that something reads.',
    collect: figure('cells'),
  });
  registry.counter({
    name: 'capstan_predicate_evaluations_total',
    help: 'Tests of a list query against a changed object: many for each event mean that an index is missing.',
    collect: figure('predicateEvaluations'),
  });
  const waves = registry.counter({ name: 'capstan_waves_total', help: 'Waves of evaluation.' });
  const runs = registry.counter({ name: 'capstan_wave_runs_total', help: 'Computations run in waves.' });
  const cutoffs = registry.counter({
    name: 'capstan_wave_cutoffs_total',
    help: 'Computations whose result was equal to the one before, so that nothing followed.',
  });
  const changes = registry.counter({ name: 'capstan_wave_changes_total', help: 'Results that waves published.' });
  const writes = registry.counter({
    name: 'capstan_writes_total',
    help: 'Writes to API servers, by what asked for them.',
    labels: ['operator', 'reconciler', 'verb', 'kind'],
  });
  const avoided = registry.counter({
    name: 'capstan_writes_avoided_total',
    help: 'Writes left out because what they would write is so already.',
    labels: ['operator', 'reconciler'],
  });

  return {
    engine(next) {
      stats = next;
    },
    wave(wave) {
      waves.of().inc();
      runs.of().inc(wave.runs);
      cutoffs.of().inc(wave.cutoffs);
      changes.of().inc(wave.changes.length);
    },
    writes(operator, reconciler) {
      const spared = avoided.of({ operator, reconciler });
      return {
        wrote: (verb, kind) => writes.of({ operator, reconciler, verb, kind }).inc(),
        avoided: (count = 1) => spared.inc(count),
      };
    },
  };
}
