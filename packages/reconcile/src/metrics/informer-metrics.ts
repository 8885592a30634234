import { type InformerObserver, type InformerView, type Kind, type KubeObject, kindId } from '@capstan/kube/cluster';
import type { Counter, Registry } from './registry.ts';

export interface InformerMetrics {
  /** Observes the informers of one kind in one world. */
  informer(world: string, kind: Pick<Kind, 'group' | 'kind'>): InformerObserver;
  /** Shows the staleness of these informers (`informers.all`) until the returned function is called: the world is gone. */
  informers(world: string, all: () => Iterable<Aging>): () => void;
}

type Aging = Pick<InformerView<KubeObject>, 'kind' | 'staleness'>;

/** How current the caches are, and what it takes to keep them so. */
export function informerMetrics(registry: Registry): InformerMetrics {
  const labels = ['world', 'kind'] as const;
  const worlds = new Map<string, () => Iterable<Aging>>();

  function* staleness() {
    for (const [world, all] of worlds) {
      // Several informers of a kind, by selection: the stalest counts.
      const stalest = new Map<string, number>();
      for (const informer of all()) {
        const kind = kindId(informer.kind);
        stalest.set(kind, Math.max(stalest.get(kind) ?? 0, informer.staleness() / 1000));
      }
      for (const [kind, seconds] of stalest) yield [{ world, kind }, seconds] as const;
    }
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
    informers(world, all) {
      worlds.set(world, all);
      return () => {
        if (worlds.get(world) === all) worlds.delete(world);
      };
    },
  };
}
