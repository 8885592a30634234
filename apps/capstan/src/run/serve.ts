import type { Clock, Logger } from '@capstan/kube';
import { type Registry, type Runtime, serveHealth } from '@capstan/reconcile';
import type { RunSettings } from './run-options.ts';

export interface ServeOptions {
  settings: Pick<RunSettings, 'health' | 'metrics'>;
  registry: Registry;
  runtime: Runtime;
  clock: Clock;
  logger: Logger;
}

export interface Servers {
  /** Where they listen, with the ports that were found. */
  readonly addresses: { readonly health?: string; readonly metrics?: string };
  close(): Promise<void>;
}

/** Serves probes and metrics, from one server when both have one address. Ready means: every cache has been filled. */
export async function serve({ settings, registry, runtime, clock, logger }: ServeOptions): Promise<Servers> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const common = { clock, logger, signal };
  const probes = { readiness: { caches: () => runtime.isSynced || waitingFor(runtime) } };
  const { health: at, metrics: metricsAt } = settings;
  const isShared = at !== undefined && at === metricsAt;
  try {
    const health =
      at === undefined
        ? undefined
        : await serveHealth({ ...common, address: at, probes, ...(isShared && { metrics: registry }) });
    const metrics =
      metricsAt === undefined || isShared
        ? health
        : await serveHealth({ ...common, address: metricsAt, metrics: registry });
    return {
      addresses: {
        ...(health && { health: health.address }),
        ...(metrics && metricsAt !== undefined && { metrics: metrics.address }),
      },
      async close() {
        stopping.abort();
        await Promise.all([health?.closed, metrics?.closed]);
      },
    };
  } catch (error) {
    // The first may be listening already.
    stopping.abort();
    throw error;
  }
}

function waitingFor(runtime: Runtime): string {
  const kinds = runtime.status().worlds.flatMap((world) => world.waitingFor);
  return kinds.length === 0 ? 'no cache has been filled yet' : `waiting for ${kinds.join(', ')}`;
}
