// The configuration file of a sidecar: one virtual cluster on localhost, all filters on it.
import type { ProxyConfiguration } from '../configuration/schema.ts';
import { yamlLines } from '../configuration/yaml-text.ts';
import type { SidecarSpec } from '../kinds/index.ts';

/** The folder at which the trusted certificates of the Kafka cluster are mounted. */
export const TLS_MOUNT_PATH = '/opt/kroxylicious/tls/target';

const LOCALHOST = 'localhost';

/** Returns the configuration for a spec, with all defaults filled in. Returns undefined if the spec has no virtual cluster. */
export function proxyConfiguration(spec: SidecarSpec): ProxyConfiguration | undefined {
  const [cluster] = spec.virtualClusters;
  if (cluster === undefined) return undefined;
  const { bootstrap, nodes } = sidecarPorts(spec);
  const filters = spec.filterDefinitions ?? [];
  const trusted = cluster.targetClusterTls?.trustAnchorSecretRef;
  return {
    management: { bindAddress: '0.0.0.0', port: spec.managementPort, endpoints: { prometheus: {} } },
    ...(filters.length > 0 && {
      filterDefinitions: filters.map(({ name, type, config }) => ({
        name,
        type,
        ...(config && { config: config }),
      })),
      defaultFilters: filters.map(({ name }) => name),
    }),
    virtualClusters: [
      {
        name: cluster.name,
        targetCluster: {
          bootstrapServers: cluster.targetBootstrapServers,
          ...(trusted && { tls: { trust: { storeFile: `${TLS_MOUNT_PATH}/${trusted.key}`, storeType: 'PEM' } } }),
        },
        gateways: [
          {
            name: 'local',
            portIdentifiesNode: {
              bootstrapAddress: `${LOCALHOST}:${bootstrap}`,
              advertisedBrokerAddressPattern: LOCALHOST,
              nodeStartPort: nodes.first,
              nodeIdRanges: [{ name: 'default', start: nodes.firstId, end: nodes.lastId }],
            },
          },
        ],
      },
    ],
  };
}

export interface SidecarPorts {
  readonly management: number;
  readonly bootstrap: number;
  /** One port for each broker. `last` is the port of `lastId`. */
  readonly nodes: { readonly first: number; readonly last: number; readonly firstId: number; readonly lastId: number };
}

/** Returns the ports that the sidecar listens on. A range whose first id is above its last id has no ports. */
export function sidecarPorts({ managementPort, virtualClusters: [cluster] }: SidecarSpec): SidecarPorts {
  const bootstrap = cluster?.bootstrapPort ?? 9092;
  const { startInclusive: firstId = 0, endInclusive: lastId = 2 } = cluster?.nodeIdRange ?? {};
  return {
    management: managementPort,
    bootstrap,
    nodes: { first: bootstrap + 1, last: bootstrap + 1 + lastId - firstId, firstId, lastId },
  };
}

export function configurationText(configuration: ProxyConfiguration): string {
  return ['---', ...yamlLines(configuration)].join('\n');
}
