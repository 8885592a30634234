// The operator's own metrics, beside those of its runtime (writes, queues, durations). They are computed from the statuses of backends at
// each scrape, so that a backend that is gone leaves no metric behind.
import type { MetricsContext } from '@capstan/reconcile';
import { DiscoveryBackend } from './kinds/index.ts';
import { registerMaintenanceMetrics } from './maintenance/index.ts';

/** The view that all kinds of backends have in common. */
type Status = NonNullable<DiscoveryBackend['status']>;

export function registerBackendMetrics({ registry, clock, peek }: MetricsContext): void {
  const backends = () => peek(DiscoveryBackend) as readonly DiscoveryBackend[];
  registerMaintenanceMetrics(registry, backends);
  registry.gauge<'type' | 'clusterstatus'>({
    name: 'gimbal_operator_backends',
    help: 'Backends by type and state.',
    labels: ['type', 'clusterstatus'],
    collect() {
      const counts = new Map<string, number>();
      for (const { status } of backends()) {
        const { type = 'unknown', clusterStatus = 'Rejected' } = status?.effective ?? {};
        const key = JSON.stringify([type, clusterStatus]);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      return [...counts].map(([key, count]) => {
        const [type = '', clusterstatus = ''] = JSON.parse(key) as string[];
        return [{ type, clusterstatus }, count] as const;
      });
    },
  });
  registry.gauge<'name' | 'condition'>({
    name: 'gimbal_operator_backend_condition',
    help: 'Conditions of backends: 1 true, 0 false, -1 unknown.',
    labels: ['name', 'condition'],
    *collect() {
      for (const { metadata, status } of accepted(backends()))
        for (const { type, status: is } of status.conditions ?? [])
          yield [{ name: metadata.name ?? '', condition: type }, VALUES[is] ?? -1];
    },
  });
  registry.gauge<'backend' | 'type'>({
    name: 'gimbal_operator_backend_errors',
    help: 'Errors in the statuses of backends.',
    labels: ['backend', 'type'],
    *collect() {
      for (const { metadata, status } of accepted(backends())) {
        const counts = new Map<string, number>();
        for (const { type } of status.errors ?? []) counts.set(type, (counts.get(type) ?? 0) + 1);
        for (const [type, count] of counts) yield [{ backend: metadata.name ?? '', type }, count];
      }
    },
  });
  registry.counter<'backend'>({
    name: 'gimbal_operator_discoverer_restarts_total',
    help: 'Restarts of the pods that a discoverer has now.',
    labels: ['backend'],
    *collect() {
      for (const { metadata, status } of accepted(backends()))
        yield [{ backend: metadata.name ?? '' }, status.discoverer?.restarts ?? 0];
    },
  });
  registry.counter<'backend' | 'result'>({
    name: 'gimbal_operator_credential_rotations_total',
    help: 'Changes of credentials, by what came of them.',
    labels: ['backend', 'result'],
    *collect() {
      for (const { metadata, status } of accepted(backends())) {
        const backend = metadata.name ?? '';
        yield [{ backend, result: 'success' }, status.credentials?.rotations ?? 0];
        yield [{ backend, result: 'refused' }, status.credentials?.failures ?? 0];
      }
    },
  });
  const seconds = (name: string, help: string, momentOf: (status: Status) => string | undefined, sign: 1 | -1) =>
    registry.gauge<'backend'>({
      name,
      help,
      labels: ['backend'],
      *collect() {
        for (const { metadata, status } of accepted(backends())) {
          const moment = momentOf(status);
          if (moment !== undefined)
            yield [{ backend: metadata.name ?? '' }, (sign * (clock.now() - Date.parse(moment))) / 1000];
        }
      },
    });
  seconds(
    'gimbal_operator_secret_age_seconds',
    'How long the credentials of a backend have been in force.',
    ({ credentials }) => credentials?.since,
    1,
  );
  seconds(
    'gimbal_operator_credentials_expire_seconds',
    'How long the credentials of a backend are still valid, if known.',
    ({ credentials }) => credentials?.expires,
    -1,
  );
  seconds(
    'gimbal_operator_last_sync_age_seconds',
    'How long ago both sides of a backend were compared in full, as its status shows.',
    ({ discovery }) => discovery?.lastSync,
    1,
  );
}

const VALUES: Readonly<Record<string, number>> = { True: 1, False: 0 };

/** Those that have their name: of two of one name only one is counted. */
function accepted(backends: readonly DiscoveryBackend[]): (DiscoveryBackend & { status: Status })[] {
  return backends.flatMap((backend) =>
    backend.status?.effective === undefined ? [] : [{ ...backend, status: backend.status }],
  );
}
