// The figures of a gateway under the original's names; the label `policy` is ours.
import type { Registry } from '@capstan/reconcile';
import type { Connection, EndpointSpec } from '../kinds/index.ts';
import type { CableReport } from './cable-engine.ts';
import type { Health } from './health.ts';

export interface MetricParts {
  readonly local: EndpointSpec;
  readonly connections: readonly Connection[];
  /** Both by the name of the cable. */
  readonly cables: ReadonlyMap<string, CableReport>;
  readonly health: ReadonlyMap<string, Health>;
}

const CABLE_LABELS = [
  'cable_driver',
  'local_cluster',
  'local_hostname',
  'local_endpoint_ip',
  'remote_cluster',
  'remote_hostname',
  'remote_endpoint_ip',
  'policy',
] as const;
type CableLabel = (typeof CABLE_LABELS)[number];

export function registerGatewayMetrics(registry: Registry, current: () => MetricParts): { sync(): void } {
  const each = function* <T>(value: (connection: Connection, parts: MetricParts) => T | undefined) {
    const parts = current();
    for (const connection of parts.connections) {
      const found = value(connection, parts);
      if (found !== undefined) yield [labelsOf(connection, parts.local), found] as const;
    }
  };
  const ofCable = (name: string, help: string, value: (report: CableReport) => number | undefined) =>
    registry.gauge<CableLabel>({
      name,
      help,
      labels: CABLE_LABELS,
      collect: () =>
        each(({ endpoint }, { cables }) => {
          const report = cables.get(endpoint.cable_name);
          return report === undefined ? undefined : value(report);
        }),
    });
  ofCable('submariner_gateway_rx_bytes', 'Bytes received, by cable driver and cable.', ({ bytesIn }) => bytesIn);
  ofCable('submariner_gateway_tx_bytes', 'Bytes sent, by cable driver and cable.', ({ bytesOut }) => bytesOut);
  ofCable(
    'submariner_connection_established_timestamp',
    'When the connection was last established, in seconds since 1970.',
    ({ connectedAt }) => (connectedAt === undefined ? undefined : Math.round(connectedAt / 1000)),
  );
  registry.gauge<CableLabel>({
    name: 'submariner_connection_latency_seconds',
    help: 'The last round-trip time through the cable.',
    labels: CABLE_LABELS,
    collect: () =>
      each(({ endpoint }, { health }) => {
        const last = health.get(endpoint.cable_name)?.latency?.last;
        return last === undefined ? undefined : last / 1e9;
      }),
  });
  registry.gauge<CableLabel | 'status'>({
    name: 'submariner_connections',
    help: 'Connections with their status, by cable driver and cable.',
    labels: [...CABLE_LABELS, 'status'],
    *collect() {
      const { connections, local } = current();
      for (const connection of connections)
        yield [{ ...labelsOf(connection, local), status: connection.status }, 1] as const;
    },
  });
  registry.gauge<'cable_driver' | 'status'>({
    name: 'submariner_connections_short',
    help: 'How many connections there are, by cable driver and status.',
    labels: ['cable_driver', 'status'],
    *collect() {
      const counts = Map.groupBy(current().connections, (connection) => `${driverOf(connection)} ${connection.status}`);
      for (const [key, group] of counts) {
        const [driver = '', status = ''] = key.split(' ');
        yield [{ cable_driver: driver, status }, group.length] as const;
      }
    },
  });
  const iterations = registry.gauge({
    name: 'submariner_gateway_sync_iterations',
    help: 'How often the state of the cables was compared with what is reported.',
  });
  return { sync: () => iterations.of().add(1) };
}

function driverOf({ usingCableDriver }: Connection): string {
  return usingCableDriver ?? 'none';
}

function labelsOf(connection: Connection, local: EndpointSpec): Readonly<Record<CableLabel, string>> {
  const { endpoint, usingPolicy = '' } = connection;
  return {
    cable_driver: driverOf(connection),
    local_cluster: local.cluster_id,
    local_hostname: local.hostname,
    local_endpoint_ip: local.public_ip || local.private_ip,
    remote_cluster: endpoint.cluster_id,
    remote_hostname: endpoint.hostname,
    remote_endpoint_ip: endpoint.public_ip || endpoint.private_ip,
    policy: usingPolicy,
  };
}
