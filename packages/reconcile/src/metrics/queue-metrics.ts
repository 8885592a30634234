import type { QueueObserver, QueueState } from '../queue/index.ts';
import type { Registry } from './registry.ts';

export interface QueueMetrics {
  /** Observes the queue of this name; a later queue of the same name takes its place. */
  queue(name: string): QueueObserver;
}

/** Work queues under client-go's names, with controller-runtime's labels. */
export function queueMetrics(registry: Registry): QueueMetrics {
  const labels = ['name', 'controller'] as const;
  const states = new Map<string, () => QueueState>();

  function* each(value: (state: QueueState) => number) {
    for (const [name, state] of states) yield [{ name, controller: name }, value(state())] as const;
  }
  function* depths() {
    for (const [name, state] of states) {
      const { ready } = state();
      // A level that ran empty must go to 0, not vanish.
      const levels = new Map([[0, 0], ...ready]);
      for (const [priority, depth] of levels) {
        yield [{ name, controller: name, priority: String(priority) }, depth] as const;
      }
    }
  }

  registry.gauge({
    name: 'workqueue_depth',
    help: 'Keys that are ready to be worked on, by priority.',
    labels: ['name', 'controller', 'priority'],
    collect: depths,
  });
  registry.gauge({
    name: 'workqueue_unfinished_work_seconds',
    help: 'How long all keys in work have been so, together: when it grows steadily, a reconcile hangs.',
    labels,
    collect: () => each((state) => state.unfinishedMs / 1000),
  });
  registry.gauge({
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How long the key in work for longest has been so.',
    labels,
    collect: () => each((state) => state.longestMs / 1000),
  });
  const adds = registry.counter({
    name: 'workqueue_adds_total',
    help: 'Keys that became ready.',
    labels,
  });
  const retries = registry.counter({
    name: 'workqueue_retries_total',
    help: 'Keys that were queued for a time to come.',
    labels,
  });
  const waited = registry.histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long a ready key waits to be worked on.',
    labels,
    buckets: QUEUE_BUCKETS,
  });
  const worked = registry.histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long the work on a key takes.',
    labels,
    buckets: QUEUE_BUCKETS,
  });

  return {
    queue(name) {
      const of = { name, controller: name };
      const series = { adds: adds.of(of), retries: retries.of(of), waited: waited.of(of), worked: worked.of(of) };
      return {
        attached: (state) => states.set(name, state),
        added: () => series.adds.inc(),
        retried: () => series.retries.inc(),
        started: (ms) => series.waited.observe(ms / 1000),
        finished: (ms) => series.worked.observe(ms / 1000),
      };
    },
  };
}

/** 10 ns to 1,000 s, in steps of ten. */
const QUEUE_BUCKETS = Array.from({ length: 12 }, (_, step) => Number(`1e${step - 8}`));
