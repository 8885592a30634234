// Maintenance as metrics, computed from the statuses of backends at each scrape.
import type { Registry } from '@capstan/reconcile';
import type { DiscoveryBackend } from '../kinds/index.ts';

/** `backends`: all of them as the caches have them, such as `world.peek(DiscoveryBackend)`. */
export function registerMaintenanceMetrics(registry: Registry, backends: () => readonly DiscoveryBackend[]): void {
  const gauge = (name: string, help: string, valueOf: (status: Maintenance) => number) =>
    registry.gauge<'backend'>({
      name,
      help,
      labels: ['backend'],
      *collect() {
        for (const { metadata, status } of backends()) {
          // The one that lost the name has nothing in force, and no routes.
          if (status?.effective !== undefined)
            yield [
              { backend: metadata.name ?? '' },
              status.maintenance === undefined ? 0 : valueOf(status.maintenance),
            ];
        }
      },
    });
  gauge(
    'gimbal_operator_routes_drained',
    'Routes that send nothing to a backend that is in maintenance.',
    ({ routesDrained }) => routesDrained ?? 0,
  );
  gauge(
    'gimbal_operator_routes_blocked',
    'Routes of a backend in maintenance that block the drain; the status names the first of them.',
    ({ routesBlocked }) => routesBlocked ?? 0,
  );
  gauge(
    'gimbal_operator_routes_without_capacity',
    'Routes that have nothing but a backend in maintenance to send requests to.',
    ({ noCapacity }) => noCapacity ?? 0,
  );
  gauge(
    'gimbal_operator_routes_held',
    'Routes whose weights have not returned yet.',
    ({ routesHeld }) => routesHeld ?? 0,
  );
}

type Maintenance = NonNullable<NonNullable<DiscoveryBackend['status']>['maintenance']>;
