import { type AuthorMetrics, authorMetrics } from './author-metrics.ts';
import { type ClientMetrics, clientMetrics } from './client-metrics.ts';
import { type ControllerMetrics, controllerMetrics } from './controller-metrics.ts';
import { type EngineMetrics, engineMetrics } from './engine-metrics.ts';
import { type EventMetrics, eventMetrics } from './event-metrics.ts';
import { type InformerMetrics, informerMetrics } from './informer-metrics.ts';
import { type LeadershipMetrics, leadershipMetrics } from './leadership-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { type QueueMetrics, queueMetrics } from './queue-metrics.ts';
import type { Registry } from './registry.ts';

/** One observer for each part of the runtime. */
export interface StandardMetrics
  extends AuthorMetrics,
    ClientMetrics,
    ControllerMetrics,
    EngineMetrics,
    EventMetrics,
    InformerMetrics,
    LeadershipMetrics,
    QueueMetrics {}

/** All metrics of Capstan: those that controller-runtime users know under their names, the rest under `capstan_`. */
export function standardMetrics(registry: Registry): StandardMetrics {
  processMetrics(registry);
  return {
    ...controllerMetrics(registry),
    ...queueMetrics(registry),
    ...clientMetrics(registry),
    ...leadershipMetrics(registry),
    ...informerMetrics(registry),
    ...engineMetrics(registry),
    ...eventMetrics(registry),
    ...authorMetrics(registry),
  };
}
