// The strict validator finds every problem that would keep the proxy from starting, before anything is applied. One bad virtual cluster in
// the file would stop all the others. Here it is left out or keeps its last valid configuration, and the others continue.
//
// Each part (one virtual cluster, one filter definition) is validated where it is created, so that a change costs the validation of one
// part. `validateTogether` checks the rules that span parts. `validateConfiguration` checks a whole file.
import type { PortIdentifiesNode, ProxyConfiguration, SniHostIdentifiesNode, VirtualClusterConfig } from './schema.ts';
import { LAST_PORT, MANAGEMENT_PORT } from './schema.ts';
import {
  all,
  anyObject,
  bool,
  type Check,
  exactlyOne,
  type Fault,
  fault,
  integer,
  list,
  object,
  oneOf,
  optional,
  required,
  text,
} from './validate-value.ts';

/** Returns all faults of a configuration. The list is empty if the proxy would accept it. */
export function validateConfiguration(configuration: unknown): readonly Fault[] {
  const faults = whole(configuration, '');
  if (faults.length > 0) return faults;
  const {
    management,
    filterDefinitions = [],
    defaultFilters = [],
    virtualClusters,
  } = configuration as ProxyConfiguration;
  return validateTogether({
    managementPort: management?.port ?? MANAGEMENT_PORT,
    filterNames: filterDefinitions.map(({ name }) => name),
    defaultFilters,
    clusters: virtualClusters.map(summaryOf),
  });
}

/** Returns the faults of one virtual cluster by itself. */
export function validateVirtualCluster(cluster: unknown, path = 'virtualClusters[0]'): readonly Fault[] {
  return virtualCluster(cluster, path);
}

export function validateFilterDefinition(definition: unknown, path = 'filterDefinitions[0]'): readonly Fault[] {
  return filterDefinition(definition, path);
}

/** Returns the faults in the addresses of a Kafka cluster: `host:port`, separated by commas. */
export function validateBootstrapServers(servers: string, path = 'bootstrapServers'): readonly Fault[] {
  return bootstrapServers(servers, path);
}

/** Returns the faults in the addresses of a gateway that identifies nodes by TLS host name. */
export function validateHostNames(hosts: SniHostIdentifiesNode, path: string): readonly Fault[] {
  return sniHostIdentifiesNode(hosts, path);
}

export function validateNetwork(settings: unknown, path = 'network'): readonly Fault[] {
  return network(settings, path);
}

/** The part of a cluster that can conflict with other clusters. */
export interface ClusterSummary {
  readonly name: string;
  readonly filters: readonly string[] | undefined;
  /** Ports that only this cluster uses. */
  readonly exclusive: readonly PortRange[];
  /** Ports that clusters share because clients select the cluster by TLS host name. */
  readonly shared: readonly number[];
}

export interface PortRange {
  readonly start: number;
  readonly end: number;
}

export function summaryOf({ name, filters, gateways }: VirtualClusterConfig): ClusterSummary {
  return {
    name,
    filters,
    exclusive: gateways.flatMap(({ portIdentifiesNode }) => (portIdentifiesNode ? portsOf(portIdentifiesNode) : [])),
    shared: gateways.flatMap(({ sniHostIdentifiesNode: sni }) => (sni ? [portOf(sni.bootstrapAddress)] : [])),
  };
}

export interface Together {
  readonly managementPort: number;
  readonly filterNames: readonly string[];
  readonly defaultFilters: readonly string[];
  readonly clusters: readonly ClusterSummary[];
}

/** Returns the conflicts between parts that are valid by themselves. */
export function validateTogether({
  managementPort,
  filterNames,
  defaultFilters,
  clusters,
}: Together): readonly Fault[] {
  const faults: Fault[] = [];
  if (clusters.length === 0) faults.push(...fault('virtualClusters', 'must have at least 1 item'));
  const names = new Set<string>();
  const used = new Set(defaultFilters);
  const known = new Set(filterNames);
  if (known.size < filterNames.length) faults.push(...fault('filterDefinitions', 'two definitions have one name'));
  const taken: (PortRange & { by: string })[] = [{ start: managementPort, end: managementPort, by: 'management' }];
  const shared = new Set<number>();
  for (const [i, cluster] of clusters.entries()) {
    const path = `virtualClusters[${i}]`;
    if (names.has(cluster.name.toLowerCase())) faults.push(...fault(path, `"${cluster.name}" is there twice`));
    names.add(cluster.name.toLowerCase());
    for (const name of cluster.filters ?? []) {
      used.add(name);
      if (!known.has(name)) faults.push(...fault(`${path}.filters`, `there is no filter definition "${name}"`));
    }
    for (const range of cluster.exclusive) taken.push({ ...range, by: path });
    for (const port of cluster.shared) shared.add(port);
  }
  for (const name of known) if (!used.has(name)) faults.push(...fault('filterDefinitions', `"${name}" is not used`));
  for (const name of defaultFilters)
    if (!known.has(name)) faults.push(...fault('defaultFilters', `there is no filter definition "${name}"`));
  for (const port of shared) taken.unshift({ start: port, end: port, by: 'the listener shared by TLS host name' });
  taken.sort((left, right) => left.start - right.start);
  for (const [i, range] of taken.entries()) {
    const before = taken[i - 1];
    if (before !== undefined && before.end >= range.start)
      faults.push(...fault(range.by, `port ${range.start} is used by ${before.by} too`));
  }
  return faults;
}

const HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$|^\[[0-9A-Fa-f:.]+\]$/;
const DURATION = /^([0-9]+(d|h|m|s|ms|us|μs|ns))+$/;
const NODE_ID = '$(nodeId)';
const CLUSTER_NAME = '$(virtualClusterName)';

const fileName = text(/^\/./, 'must be an absolute path');
const allowedDenied = object({ allowed: optional(list(text())), denied: optional(list(text())) });
const storeType = oneOf('PEM', 'JKS', 'PKCS12');

const tls = object({
  key: optional(object({ privateKeyFile: required(fileName), certificateFile: required(fileName) })),
  trust: optional(
    object({
      storeFile: required(fileName),
      storeType: optional(storeType),
      trustOptions: optional(object({ clientAuth: required(oneOf('REQUIRED', 'REQUESTED', 'NONE')) })),
    }),
  ),
  cipherSuites: optional(allowedDenied),
  protocols: optional(allowedDenied),
});

/** Checks an address with or without a port, which may contain `tokens`. */
function address({
  port,
  tokens,
  needs,
}: {
  port: 'required' | 'optional' | 'none';
  tokens: readonly string[];
  needs?: string;
}): Check {
  return (value, path) => {
    if (typeof value !== 'string') return fault(path, 'must be a string');
    if (needs !== undefined && !value.includes(needs)) return fault(path, `"${value}" must hold ${needs}`);
    let plain = value;
    for (const token of tokens) plain = plain.replaceAll(token, 'x');
    if (plain.includes('$(')) return fault(path, `"${value}" may hold no token but ${tokens.join(' and ') || 'none'}`);
    const match = /^(.*?)(?::([0-9]+))?$/.exec(plain);
    const [, host = '', digits] = match ?? [];
    if (!HOST.test(host)) return fault(path, `"${value}" has no valid host`);
    if (digits === undefined) return port === 'required' ? fault(path, `"${value}" needs a port`) : [];
    if (port === 'none') return fault(path, `"${value}" must have no port`);
    return Number(digits) >= 1 && Number(digits) <= LAST_PORT ? [] : fault(path, `"${value}" has no valid port`);
  };
}

const nodeIdRange = object(
  { name: required(text()), start: required(integer(0)), end: required(integer(0)) },
  (value, path) => {
    const { start, end } = value as { start: number; end: number };
    return start <= end ? [] : fault(path, 'start is above end');
  },
);

const portIdentifiesNode = object(
  {
    bootstrapAddress: required(address({ port: 'required', tokens: [] })),
    advertisedBrokerAddressPattern: optional(address({ port: 'none', tokens: [NODE_ID] })),
    nodeStartPort: optional(integer(1, LAST_PORT)),
    nodeIdRanges: optional(list(nodeIdRange, { min: 1, unique: (range) => (range as { name: string }).name })),
  },
  (value, path) => {
    const found: Fault[] = [];
    const ranges = [...((value as PortIdentifiesNode).nodeIdRanges ?? [])].toSorted(
      (left, right) => left.start - right.start,
    );
    for (const [i, range] of ranges.entries())
      if ((ranges[i - 1]?.end ?? -1) >= range.start)
        found.push(...fault(`${path}.nodeIdRanges`, `"${range.name}" overlaps another range`));
    const [bootstrap, nodes] = portsOf(value as PortIdentifiesNode);
    if (bootstrap === undefined || nodes === undefined) return found;
    if (nodes.end > LAST_PORT)
      found.push(...fault(path, `its nodes need ports up to ${nodes.end}, and ${LAST_PORT} is the last`));
    if (nodes.start <= bootstrap.start && bootstrap.start <= nodes.end)
      found.push(...fault(path, `the bootstrap port ${bootstrap.start} is among the ports of its nodes`));
    return found;
  },
);

const sniHostIdentifiesNode = object({
  bootstrapAddress: required(address({ port: 'required', tokens: [CLUSTER_NAME] })),
  advertisedBrokerAddressPattern: required(
    address({ port: 'optional', tokens: [CLUSTER_NAME, NODE_ID], needs: NODE_ID }),
  ),
});

const gateway = object(
  {
    name: required(text()),
    portIdentifiesNode: optional(portIdentifiesNode),
    sniHostIdentifiesNode: optional(sniHostIdentifiesNode),
    tls: optional(tls),
  },
  all(exactlyOne('portIdentifiesNode', 'sniHostIdentifiesNode'), (value, path) => {
    const { sniHostIdentifiesNode: sni, tls: secured } = value as {
      sniHostIdentifiesNode?: object;
      tls?: { key?: object };
    };
    return sni !== undefined && secured?.key === undefined
      ? fault(`${path}.tls`, 'a key is needed to distinguish nodes by TLS host name')
      : [];
  }),
);

const bootstrapServers: Check = (value, path) =>
  typeof value === 'string'
    ? value.split(',').flatMap((server) => address({ port: 'required', tokens: [] })(server.trim(), path))
    : fault(path, 'must be a string');

const targetCluster = object({
  bootstrapServers: required(bootstrapServers),
  bootstrapServerSelection: optional(object({ strategy: required(oneOf('round-robin', 'random')) })),
  tls: optional(tls),
});

const byName = (value: unknown) => (value as { name: string }).name;

const virtualCluster = object({
  name: required(text(/^[a-z0-9A-Z]([-a-z0-9A-Z]{0,61}[a-z0-9A-Z])?$/, 'must be a DNS label of at most 63 characters')),
  targetCluster: required(targetCluster),
  gateways: required(list(gateway, { min: 1, unique: byName })),
  filters: optional(list(text())),
  logNetwork: optional(bool),
  logFrames: optional(bool),
});

const filterDefinition = object({
  name: required(
    text(
      /^[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,251}[a-zA-Z0-9])?$/,
      'must begin and end with a letter or digit, with at most 253 characters',
    ),
  ),
  type: required(text()),
  config: optional(anyObject),
});

const managementNetty = {
  workerThreadCount: optional(integer(1)),
  shutdownQuietPeriod: optional(text(DURATION, 'must be a duration such as 30s')),
  shutdownTimeout: optional(text(DURATION, 'must be a duration such as 30s')),
};
const network = object({
  management: optional(object(managementNetty)),
  proxy: optional(
    object({
      ...managementNetty,
      authenticatedIdleTimeout: optional(text(DURATION, 'must be a duration such as 30s')),
      unauthenticatedIdleTimeout: optional(text(DURATION, 'must be a duration such as 30s')),
    }),
  ),
});

const whole = object({
  management: optional(
    object({
      bindAddress: optional(text()),
      port: optional(integer(1, LAST_PORT)),
      endpoints: optional(object({ prometheus: optional(object({})) })),
    }),
  ),
  filterDefinitions: optional(list(filterDefinition, { unique: byName })),
  defaultFilters: optional(list(text())),
  virtualClusters: required(list(virtualCluster, { min: 1, unique: (value) => byName(value).toLowerCase() })),
  micrometer: optional(list(object({ type: required(text()), config: optional(anyObject) }))),
  useIoUring: optional(bool),
  network: optional(network),
});

const DEFAULT_RANGES = [{ start: 0, end: 2 }];

/** Returns the bootstrap port and the ports of the nodes, which are consecutive in the order of the node ids. */
function portsOf({ bootstrapAddress, nodeStartPort, nodeIdRanges }: PortIdentifiesNode): PortRange[] {
  const bootstrap = portOf(bootstrapAddress);
  const start = nodeStartPort ?? bootstrap + 1;
  const count = (nodeIdRanges ?? DEFAULT_RANGES).reduce((sum, range) => sum + range.end - range.start + 1, 0);
  return [
    { start: bootstrap, end: bootstrap },
    { start, end: start + count - 1 },
  ];
}

function portOf(hostAndPort: string): number {
  return Number(hostAndPort.slice(hostAndPort.lastIndexOf(':') + 1));
}
