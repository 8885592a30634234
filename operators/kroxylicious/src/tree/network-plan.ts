// Plans the network of a proxy: the ports and host names of each cluster. One plan covers all clusters of a proxy, including broken ones,
// so that a repair moves nothing. Earlier clusters keep their ports and host names.
import { aside, derivation, index } from '@capstan/reconcile';
import { MANAGEMENT_PORT, SNI_PORT } from '../configuration/schema.ts';
import { KafkaProxy, VirtualKafkaCluster } from '../kinds/index.ts';
import { allocatePorts, type PortBlock, type PortMemory, type PortRequest } from '../ports/allocate-ports.ts';
import { type IngressWay, ingressNode, ingressWayOf } from './ingress-node.ts';
import { keyIn, keyOfAny, refOfKey } from './keys.ts';
import { nodeIdRangesOf, serviceNode } from './service-node.ts';

export interface NetworkPlan extends PortMemory {
  readonly byCluster: Readonly<Record<string, ClusterNetwork>>;
}

/** The network of one cluster, by ingress. */
export interface ClusterNetwork {
  readonly ports: Readonly<Record<string, PortBlock>>;
  readonly refused: Readonly<Record<string, string>>;
}

/**
 * The clusters of a proxy: those that name it, and those whose last good configuration it serves. A cluster whose reference was broken by
 * an edit is still served there.
 */
export const clustersOfProxy = index(VirtualKafkaCluster, 'clusters of a proxy', ({ metadata, spec, status }) => {
  const lastGood = status?.memory?.lastGood as { proxy?: string } | undefined;
  const proxies = new Set([spec.proxyRef.name, ...(lastGood?.proxy === undefined ? [] : [lastGood.proxy])]);
  return [...proxies].map((proxy) => `${metadata.namespace}/${proxy}`);
});

/** The ports that earlier plans allocated. They follow from other inputs, so they are never the reason of a rollout. */
const portMemoryOf = aside(
  ({ status }: KafkaProxy): PortMemory => ({
    ports: status?.memory?.ports ?? {},
    ...(status?.memory?.nextPort === undefined ? {} : { nextPort: status.memory.nextPort }),
  }),
);

const namesOf = ({ metadata, spec }: VirtualKafkaCluster) => ({
  name: metadata.name ?? '',
  created: metadata.creationTimestamp ?? '',
  service: spec.targetKafkaServiceRef.name,
  ingresses: [...new Set(spec.ingresses.map(({ ingressRef }) => ingressRef.name))],
});

/** The network that a cluster requests from its proxy. */
interface ClusterDemand {
  readonly name: string;
  readonly created: string;
  readonly ways: readonly {
    readonly ingress: string;
    /** Undefined while the ingress does not exist. */
    readonly way: IngressWay | undefined;
    /** The number of ports for nodes. Undefined if it is unknown or zero. */
    readonly nodes: number | undefined;
  }[];
}

/** The cluster's own node, so that the proxy's plan reads the demand of clusters and no services. */
const clusterDemand = derivation<ClusterDemand | undefined>({
  name: 'demand of VirtualKafkaCluster',
  compute({ key, read }) {
    const ref = refOfKey(key);
    const named = read.get(VirtualKafkaCluster, ref, namesOf);
    if (named === undefined) return undefined;
    const { name, created, service, ingresses } = named;
    const ways = ingresses.map((ingress) => {
      const way = read.derived(ingressNode, keyIn(ref, ingress), ingressWayOf);
      const isByPort = way?.type === 'ClusterIP' && way.protocol === 'TCP';
      const ranges = isByPort ? read.derived(serviceNode, keyIn(ref, service), nodeIdRangesOf) : undefined;
      const nodes = ranges?.reduce((sum, range) => sum + range.end - range.start + 1, 0);
      return { ingress, way, nodes: nodes === 0 ? undefined : nodes };
    });
    return { name, created, ways };
  },
});

export const networkPlan = derivation<NetworkPlan>({
  name: 'network of KafkaProxy',
  compute({ key, read }) {
    const proxy = refOfKey(key);
    const demands = read
      .by(clustersOfProxy, key, keyOfAny)
      .flatMap((cluster) => read.derived(clusterDemand, cluster) ?? [])
      .toSorted((left, right) => compare(left.created, right.created) || compare(left.name, right.name));
    const requests: PortRequest[] = [];
    const refused: Record<string, string> = {};
    const hosts = new Map<string, string>();
    for (const { name, ways } of demands) {
      for (const { ingress, way, nodes } of ways) {
        const id = `${name}/${ingress}`;
        const fixed = way?.type === 'ClusterIP' && way.protocol === 'TCP' ? way.bootstrapPort : undefined;
        // A cluster that needs no ports now, or whose nodes are unknown, keeps its ports, so that a reverted edit moves nothing.
        requests.push({ name: id, nodes, ...(fixed === undefined ? {} : { fixed }) });
        if (way?.type !== 'LoadBalancer') continue;
        const wanted = [way.bootstrapAddress, way.brokerAddress].map((address) =>
          address.replaceAll('$(virtualClusterName)', name).toLowerCase(),
        );
        const clash = wanted.find((host) => hosts.has(host));
        if (clash === undefined) for (const host of wanted) hosts.set(host, id);
        else
          refused[id] =
            `the address ${clash} is used by ${hosts.get(clash)} too; put $(virtualClusterName) into the addresses of the ingress`;
      }
    }
    const memory = read.get(KafkaProxy, proxy, portMemoryOf) ?? { ports: {} };
    const planned = allocatePorts(requests, memory, [MANAGEMENT_PORT, SNI_PORT]);
    for (const [id, why] of Object.entries(planned.refused))
      refused[id] = `${why}; give the ingress another bootstrapPort, or none`;
    const { ports, nextPort = 0 } = planned;
    return { ports, nextPort, byCluster: byCluster(ports, refused) };
  },
});

const proxyNameOf = ({ spec }: VirtualKafkaCluster) => spec.proxyRef.name;

/** The part of one cluster, so that a change for one cluster does not trigger the others. */
export const clusterNetwork = derivation<ClusterNetwork>({
  name: 'network of VirtualKafkaCluster',
  compute({ key, read }) {
    const ref = refOfKey(key);
    const proxy = read.get(VirtualKafkaCluster, ref, proxyNameOf);
    if (proxy === undefined) return { ports: {}, refused: {} };
    return read.derived(networkPlan, keyIn(ref, proxy)).byCluster[ref.name] ?? { ports: {}, refused: {} };
  },
});

function byCluster(
  ports: Readonly<Record<string, PortBlock>>,
  refused: Readonly<Record<string, string>>,
): Record<string, ClusterNetwork> {
  const found: Record<string, { ports: Record<string, PortBlock>; refused: Record<string, string> }> = {};
  const of = (id: string) => {
    const [cluster = '', ingress = ''] = id.split('/');
    found[cluster] ??= { ports: {}, refused: {} };
    return { network: found[cluster], ingress };
  };
  for (const [id, block] of Object.entries(ports)) {
    const { network, ingress } = of(id);
    network.ports[ingress] = block;
  }
  for (const [id, why] of Object.entries(refused)) {
    const { network, ingress } = of(id);
    network.refused[ingress] = why;
  }
  return found;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
