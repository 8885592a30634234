// The Services by which clients reach a virtual cluster.
import { childName, Service } from '@capstan/kube';
import { type AppliedChild, apply } from '@capstan/reconcile';
import { SNI_PORT } from '../configuration/schema.ts';
import { BOOTSTRAP_ANNOTATION, FROM_UPSTREAM, type Workload, workloadLabels, workloadName } from '../kinds/labels.ts';
import {
  bootstrapServiceName,
  type ClusterFragment,
  type ClusterWay,
  LOAD_BALANCER_PORT,
  nodeServiceName,
  routeServiceName,
  TLS_CLIENT_PORT,
} from '../tree/cluster-fragment.ts';

export interface ServiceParts {
  readonly namespace: string;
  /** The workload whose pods serve the cluster. */
  readonly workload: Workload;
  readonly cluster: string;
  readonly ways: readonly ClusterWay[];
  /** Annotations for Services, by ingress. */
  readonly annotations: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Returns the Services of a virtual cluster: one with all ports, or one for each broker by host name. */
export function clusterServices(parts: ServiceParts): AppliedChild[] {
  return parts.ways.flatMap((way) => {
    if (way.type === 'LoadBalancer') return [];
    if (way.type === 'Route') return [routeService(parts, way)];
    return way.protocol === 'TCP' ? [portService(parts, way)] : sniServices(parts, way);
  });
}

function portService(parts: ServiceParts, way: ClusterWay): AppliedChild {
  const { bootstrap = 0, nodes = 0, count = 0 } = way.ports ?? {};
  const numbers = [bootstrap, ...Array.from({ length: count }, (_, i) => nodes + i)];
  return service(parts, way, bootstrapServiceName(parts.cluster, way.ingress), {
    ports: numbers.map((port) => ({ name: `${parts.cluster}-${port}`, port, targetPort: port, protocol: 'TCP' })),
    isBootstrap: true,
  });
}

function sniServices(parts: ServiceParts, way: ClusterWay): AppliedChild[] {
  const ports = [
    { name: `${parts.cluster}-${TLS_CLIENT_PORT}`, port: TLS_CLIENT_PORT, targetPort: SNI_PORT, protocol: 'TCP' },
  ];
  return [
    service(parts, way, bootstrapServiceName(parts.cluster, way.ingress), { ports, isBootstrap: true }),
    ...way.nodeIds.map((id) => service(parts, way, nodeServiceName(parts.cluster, way.ingress, id), { ports })),
  ];
}

/** Returns the Service that the Routes of a cluster lead to. */
function routeService(parts: ServiceParts, way: ClusterWay): AppliedChild {
  const ports = [{ name: `${parts.cluster}-${SNI_PORT}`, port: SNI_PORT, targetPort: SNI_PORT, protocol: 'TCP' }];
  return service(parts, way, routeServiceName(parts.cluster, way.ingress), { ports, isBootstrap: true });
}

interface ServiceShape {
  readonly ports: { name: string; port: number; targetPort: number; protocol: string }[];
  readonly isBootstrap?: boolean;
}

function service(
  { namespace, workload, cluster, annotations }: ServiceParts,
  way: ClusterWay,
  name: string,
  { ports, isBootstrap }: ServiceShape,
): AppliedChild {
  const reported = {
    ...annotations[way.ingress],
    ...(isBootstrap && way.bootstrapServer !== undefined
      ? { [BOOTSTRAP_ANNOTATION]: bootstrapText([[cluster, way]]) }
      : {}),
  };
  return apply(
    Service,
    {
      metadata: { namespace, name, labels: workloadLabels({ proxy: workload.proxy }), annotations: reported },
      spec: { type: 'ClusterIP', selector: workloadLabels(workload), ports },
    },
    FROM_UPSTREAM,
  );
}

/**
 * Returns the load balancer of a workload for all clusters that it serves to the outside by TLS host name. Returns undefined if there are
 * none.
 */
export function loadBalancer(
  namespace: string,
  workload: Workload,
  fragments: readonly ClusterFragment[],
  annotations: ServiceParts['annotations'],
): AppliedChild | undefined {
  const served = fragments.flatMap(({ config, ways }) =>
    ways.filter(({ type }) => type === 'LoadBalancer').map((way): [string, ClusterWay] => [config.name, way]),
  );
  if (served.length === 0) return undefined;
  const ingresses = [...new Set(served.map(([, { ingress }]) => ingress))].toSorted();
  const reported = Object.assign({}, ...ingresses.map((ingress) => annotations[ingress] ?? {})) as Record<
    string,
    string
  >;
  return apply(
    Service,
    {
      metadata: {
        namespace,
        name: loadBalancerName(workload),
        labels: workloadLabels({ proxy: workload.proxy }),
        annotations: { ...reported, [BOOTSTRAP_ANNOTATION]: bootstrapText(served) },
      },
      spec: {
        type: 'LoadBalancer',
        selector: workloadLabels(workload),
        ports: [{ name: `sni-${LOAD_BALANCER_PORT}`, port: LOAD_BALANCER_PORT, targetPort: SNI_PORT, protocol: 'TCP' }],
      },
    },
    FROM_UPSTREAM,
  );
}

export function loadBalancerName(workload: Workload): string {
  return childName(workloadName(workload), 'sni');
}

/** Returns the annotation from which consoles read the clusters of a Service. */
export function bootstrapText(served: readonly (readonly [string, ClusterWay])[]): string {
  const bootstrapServers = served
    .map(([clusterName, { ingress, bootstrapServer = '' }]) => ({
      clusterName,
      ingressName: ingress,
      bootstrapServers: bootstrapServer,
    }))
    .toSorted((left, right) =>
      `${left.clusterName} ${left.ingressName}` < `${right.clusterName} ${right.ingressName}` ? -1 : 1,
    );
  return JSON.stringify({ version: '0.13.0', bootstrapServers });
}
