import type { EventObserver } from '../events/index.ts';
import type { Registry } from './registry.ts';

export interface EventMetrics {
  readonly events: EventObserver;
}

/** The results of writing Events. */
export function eventMetrics(registry: Registry): EventMetrics {
  const written = registry.counter({
    name: 'capstan_events_written_total',
    help: 'Writes of Events and their series.',
  });
  const dropped = registry.counter({
    name: 'capstan_events_dropped_total',
    help: 'Events that were not written, by why.',
    labels: ['reason'],
  });
  return {
    events: {
      written: () => written.of().inc(),
      dropped: (reason) => dropped.of({ reason }).inc(),
    },
  };
}
