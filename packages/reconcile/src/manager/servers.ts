import type { Clock, Logger } from '@capstan/kube/cluster';
import { type Checks, serveHealth } from '../health/index.ts';
import type { Registry } from '../metrics/index.ts';
import type { Operator } from '../operator.ts';
import type { Runtime } from '../runtime/index.ts';
import type { OperatorLease } from './operator-leases.ts';

export interface ServersOptions {
  healthAddress?: string | undefined;
  metricsAddress?: string | undefined;
  registry: Registry;
  runtime: Runtime;
  led: ReadonlyMap<Operator, OperatorLease>;
  clock: Clock;
  logger: Logger;
}

export interface Servers {
  /** Where they listen, with the ports that were found. */
  readonly addresses: { readonly health?: string; readonly metrics?: string };
  close(): Promise<void>;
}

/**
 * Serves probes and metrics, from one server when both have one address. Ready means: every cache is full. An instance that
 * waits for a Lease is ready too, or a rollout could never replace the holder; the check reports who holds it.
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { registry, runtime, led, clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const common = { clock, logger, signal };
  const readiness: Checks = {
    caches: () => runtime.isSynced || waitingFor(runtime),
    ...Object.fromEntries([...led].map(([{ name }, lease]) => [`lease-${name}`, () => leaseDetail(lease)])),
  };
  const { healthAddress: at, metricsAddress: metricsAt } = options;
  const isShared = at !== undefined && at === metricsAt;
  try {
    const health =
      at === undefined
        ? undefined
        : await serveHealth({ ...common, address: at, probes: { readiness }, ...(isShared && { metrics: registry }) });
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

function leaseDetail({ leadership: { holds, holder } }: OperatorLease) {
  if (holds) return { detail: 'this instance writes' };
  return { detail: holder === undefined ? 'waiting for the Lease' : `waiting, ${holder} holds the Lease` };
}

function waitingFor(runtime: Runtime): string {
  const kinds = runtime.status().worlds.flatMap((world) => world.waitingFor);
  return kinds.length === 0 ? 'no cache has been filled yet' : `waiting for ${kinds.join(', ')}`;
}
