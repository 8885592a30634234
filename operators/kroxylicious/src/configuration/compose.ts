// Builds the configuration file of one proxy Deployment from the fragments of its virtual clusters.
import { plainDigest } from '@capstan/reconcile';
import { combineHashes, shortHash } from '../hash/combine-hashes.ts';
import type { KafkaProxySpec } from '../kinds/index.ts';
import { distinctMounts, type Mount, type MountedVolume, mountedVolumes } from '../resolution/mounts.ts';
import type { ClusterFragment, ServedFragment } from '../tree/cluster-fragment.ts';
import { type FilterDefinition, MANAGEMENT_PORT, type ManagementConfig, SNI_PORT } from './schema.ts';
import { summaryOf, validateNetwork, validateTogether } from './validate.ts';
import type { Fault } from './validate-value.ts';
import { itemLines, yamlLines } from './yaml-text.ts';

export interface Composed {
  /** The text of the configuration file. */
  readonly text: string;
  /** A digest of the configuration's content, not of its text. A release that formats the text differently does not change any name. */
  readonly id: string;
  /** A digest of all inputs of the configuration, including the content of mounted files. */
  readonly hash: string;
  readonly mounts: readonly Mount[];
  readonly volumes: readonly MountedVolume[];
  /** Ports of the container, without the management port. */
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  readonly faults: readonly Fault[];
}

export type ProxyPart = Pick<KafkaProxySpec, 'network' | 'micrometer'>;

const MANAGEMENT: ManagementConfig = { endpoints: { prometheus: {} } };

/** Builds a configuration. It sorts clusters by name, and filter definitions by their first use. */
export function compose(proxy: ProxyPart | undefined, clusters: readonly ServedFragment[]): Composed {
  const fragments = clusters.map(({ fragment }) => fragment);
  const definitions = new Map<string, FilterDefinition>();
  for (const { filterDefinitions } of fragments)
    for (const definition of filterDefinitions)
      if (!definitions.has(definition.name)) definitions.set(definition.name, definition);
  const own = { management: MANAGEMENT, network: proxy?.network, micrometer: proxy?.micrometer };
  const ingresses = new Map(fragments.flatMap(({ ingresses: used }) => used.map((child) => [child.name, child.hash])));
  const children = [
    ...fragments.map(({ config, hash }) => ({ name: `VirtualKafkaCluster ${config.name}`, hash })),
    ...[...ingresses].map(([name, hash]) => ({ name: `KafkaProxyIngress ${name}`, hash })),
  ];
  const filterDefinitions = [...definitions.values()];
  return {
    text: fileText({ own, filterDefinitions, clusters }),
    id: shortHash(
      plainDigest(
        own,
        filterDefinitions,
        fragments.map(({ configId }) => configId),
      ),
    ),
    hash: combineHashes([own, filterDefinitions.map(({ name }) => name)], children),
    mounts: distinctMounts(fragments.flatMap(({ mounts }) => mounts)),
    // If two clusters mount the same source, use its present content, not the content that it had when one of them was last valid.
    volumes: mountedVolumes(
      clusters
        .toSorted((left, right) => Number(left.isStale ?? false) - Number(right.isStale ?? false))
        .flatMap(({ fragment }) => fragment.mounts),
    ),
    ports: portsOf(fragments),
    faults: [
      ...networkFaults(proxy),
      ...validateTogether({
        managementPort: MANAGEMENT_PORT,
        filterNames: filterDefinitions.map(({ name }) => name),
        defaultFilters: [],
        clusters: fragments.map(({ config }) => summaryOf(config)),
      }),
    ],
  };
}

/** Returns the faults in the network settings of the proxy. */
export function networkFaults(proxy: ProxyPart | undefined): readonly Fault[] {
  return proxy?.network === undefined ? [] : validateNetwork(proxy.network);
}

interface FileParts {
  readonly own: { management: ManagementConfig; network: ProxyPart['network']; micrometer: ProxyPart['micrometer'] };
  readonly filterDefinitions: readonly FilterDefinition[];
  readonly clusters: readonly ServedFragment[];
}

function fileText({ own, filterDefinitions, clusters }: FileParts): string {
  const lines = ['---', ...yamlLines({ management: own.management })];
  if (filterDefinitions.length > 0)
    lines.push('filterDefinitions:', ...filterDefinitions.flatMap((definition) => itemLines(definition, INDENT)));
  lines.push('virtualClusters:', ...clusters.map(({ text }) => text));
  if (own.micrometer !== undefined && own.micrometer.length > 0)
    lines.push(...yamlLines({ micrometer: own.micrometer }));
  if (own.network !== undefined && Object.keys(own.network).length > 0)
    lines.push(...yamlLines({ network: own.network }));
  return lines.join('\n');
}

const INDENT = '  ';

function portsOf(fragments: readonly ClusterFragment[]): { name: string; port: number }[] {
  const ports = fragments.flatMap(({ ways }) =>
    ways.flatMap(({ ports: block }) =>
      block === undefined
        ? []
        : [
            { name: `${block.bootstrap}-bootstrap`, port: block.bootstrap },
            ...Array.from({ length: block.count }, (_, i) => ({
              name: `${block.nodes + i}-node`,
              port: block.nodes + i,
            })),
          ],
    ),
  );
  ports.sort((left, right) => left.port - right.port);
  const hasSni = fragments.some(({ ways }) => ways.some(({ protocol }) => protocol === 'TLS'));
  return hasSni ? [...ports, { name: 'shared-sni-port', port: SNI_PORT }] : ports;
}
