// The Routes of OpenShift that lead to a virtual cluster: one for the bootstrap address and one for each broker. They pass TLS through. The
// proxy identifies brokers by host name.
import { type AppliedChild, apply } from '@capstan/reconcile';
import { SNI_PORT } from '../configuration/schema.ts';
import { OpenShiftRoute } from '../kinds/index.ts';
import { BOOTSTRAP_ANNOTATION, FROM_UPSTREAM, ROUTE_FOR_LABEL, workloadLabels } from '../kinds/labels.ts';
import { type ClusterWay, routeName, routeServiceName } from '../tree/cluster-fragment.ts';
import { bootstrapText, type ServiceParts } from './services.ts';

export function clusterRoutes(parts: ServiceParts): AppliedChild[] {
  return parts.ways
    .filter(({ type }) => type === 'Route')
    .flatMap((way) => [
      route(parts, way, 'bootstrap', 'bootstrap'),
      ...way.nodeIds.map((id) => route(parts, way, String(id), 'node')),
    ]);
}

function route(
  { namespace, cluster, workload, annotations }: ServiceParts,
  way: ClusterWay,
  suffix: string,
  routeFor: 'bootstrap' | 'node',
): AppliedChild {
  const name = routeName(cluster, suffix);
  return apply(
    OpenShiftRoute,
    {
      metadata: {
        namespace,
        name,
        labels: { ...workloadLabels({ proxy: workload.proxy }), [ROUTE_FOR_LABEL]: routeFor },
        annotations: {
          ...annotations[way.ingress],
          ...(way.bootstrapServer === undefined ? {} : { [BOOTSTRAP_ANNOTATION]: bootstrapText([[cluster, way]]) }),
        },
      },
      spec: {
        // The host consists of the subdomain and the router's domain.
        subdomain: name,
        port: { targetPort: SNI_PORT },
        tls: { termination: 'passthrough' },
        to: { kind: 'Service', name: routeServiceName(cluster, way.ingress) },
      },
    },
    FROM_UPSTREAM,
  );
}
