import type { WorkerObserver } from '../queue/index.ts';
import type { Registry } from './registry.ts';

export interface ControllerMetrics {
  /** Observes the workers of one controller. */
  workers(controller: string, concurrency: number): WorkerObserver;
}

/** How reconciles end and how long they take, under controller-runtime's names. */
export function controllerMetrics(registry: Registry): ControllerMetrics {
  const labels = ['controller'] as const;
  const total = registry.counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles that ended, by how.',
    labels: ['controller', 'result'],
  });
  const errors = registry.counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciles that ended in an error.',
    labels,
  });
  const terminal = registry.counter({
    name: 'controller_runtime_terminal_reconcile_errors_total',
    help: 'Reconciles that ended in an error that no retry changes.',
    labels,
  });
  const panics = registry.counter({
    name: 'controller_runtime_reconcile_panics_total',
    help: 'Reconciles that threw: each is a bug.',
    labels,
  });
  const timeouts = registry.counter({
    name: 'controller_runtime_reconcile_timeouts_total',
    help: 'Reconciles that took longer than allowed.',
    labels,
  });
  const time = registry.histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long a reconcile takes.',
    labels,
    buckets: RECONCILE_BUCKETS,
  });
  const most = registry.gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'How many reconciles may run at a time.',
    labels,
  });
  const active = registry.gauge({
    name: 'controller_runtime_active_workers',
    help: 'How many reconciles run now.',
    labels,
  });

  return {
    workers(controller, concurrency) {
      const of = { controller };
      // Series that begin at 0 let a rate see the first error.
      const results = Object.fromEntries(RESULTS.map((result) => [result, total.of({ controller, result })]));
      const series = {
        errors: errors.of(of),
        terminal: terminal.of(of),
        panics: panics.of(of),
        timeouts: timeouts.of(of),
        time: time.of(of),
        active: active.of(of),
      };
      most.of(of).set(concurrency);
      return {
        started: () => series.active.add(1),
        finished(end) {
          series.active.add(-1);
          series.time.observe(end.ms / 1000);
          results[end.result]?.inc();
          if (end.result === 'error') series.errors.inc();
          if (end.terminal) series.terminal.inc();
          if (end.panicked) series.panics.inc();
          if (end.timedOut) series.timeouts.inc();
        },
      };
    },
  };
}

const RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
