import { type InformerObserver, type Kind, kindId } from '@capstan/kube/cluster';
import type { Counter, Registry } from './registry.ts';

export interface InformerMetrics {
  /** Observes the informers of one kind in one world. */
  informer(world: string, kind: Pick<Kind, 'group' | 'kind'>): InformerObserver;
  /** Shows how old the caches of the worlds are that there are at each scrape, in milliseconds by the id of the kind. */
  caches(worlds: () => Iterable<readonly [world: string, staleness: ReadonlyMap<string, number>]>): void;
}

/** The age of the caches, and the cost of keeping them current. */
export function informerMetrics(registry: Registry): InformerMetrics {
  const labels = ['world', 'kind'] as const;
  let worlds: Parameters<InformerMetrics['caches']>[0] = () => [];

  function* staleness() {
    for (const [world, ages] of worlds()) for (const [kind, ms] of ages) yield [{ world, kind }, ms / 1000] as const;
  }

  registry.gauge({
    name: 'capstan_informer_staleness_seconds',
    help: 'Time since the server last proved that the cache of a kind is current; +Inf before it is filled.',
    labels,
    collect: staleness,
  });
  const lists = registry.counter({
    name: 'capstan_informer_lists_total',
    help: 'Complete lists that filled or refilled the cache of a kind.',
    labels,
  });
  const restarts = registry.counter({
    name: 'capstan_informer_watch_restarts_total',
    help: 'Watches that ended and were opened again, by cause; `ended` is the orderly end.',
    labels: [...labels, 'cause'],
  });
  const events = registry.counter({
    name: 'capstan_informer_events_total',
    help: 'Watch events received, by type.',
    labels: [...labels, 'type'],
  });
  return {
    informer(world, kind) {
      const of = { world, kind: kindId(kind) };
      const received = new Map<string, Counter>();
      return {
        listed: () => lists.of(of).inc(),
        watchRestarted: (cause) => restarts.of({ ...of, cause }).inc(),
        received({ counts }) {
          for (const type in counts) {
            const counter = received.get(type) ?? events.of({ ...of, type });
            received.set(type, counter);
            counter.inc(counts[type as keyof typeof counts]);
          }
        },
      };
    },
    caches(given) {
      worlds = given;
    },
  };
}
