import type { Service } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { envoySelector, type Instance, metadataOf, names, publishingOf, sesameSelector } from './instance.ts';

/** What Envoy gets its configuration from. */
export function sesameService(instance: Instance): ChildObject<Service> {
  const { port } = instance.configuration.xdsServer;
  return {
    metadata: metadataOf(instance, names.sesame(instance)),
    spec: {
      type: 'ClusterIP',
      selector: sesameSelector(instance),
      ports: [{ name: 'xds', port, targetPort: port, protocol: 'TCP' }],
    },
  };
}

const TYPES: Readonly<Record<string, string>> = {
  LoadBalancerService: 'LoadBalancer',
  NodePortService: 'NodePort',
  ClusterIPService: 'ClusterIP',
};

/** Where requests arrive. */
export function envoyService(instance: Instance): ChildObject<Service> {
  const {
    type: publishing = 'LoadBalancerService',
    externalTrafficPolicy,
    ipFamilyPolicy,
    serviceAnnotations,
  } = publishingOf(instance);
  const type = TYPES[publishing] ?? 'LoadBalancer';
  const { http, https } = instance.configuration.envoy;
  const { gateway } = instance;
  const metadata = metadataOf(instance, names.envoy(instance));
  const [address] = gateway?.addresses ?? [];
  return {
    metadata: {
      ...metadata,
      // Merged with what others add: a cloud's controller has annotations of its own.
      ...(serviceAnnotations && { annotations: { ...serviceAnnotations, ...metadata.annotations } }),
    },
    spec: {
      type,
      ...(type !== 'ClusterIP' && { externalTrafficPolicy: externalTrafficPolicy ?? 'Local' }),
      ipFamilyPolicy: ipFamilyPolicy ?? 'SingleStack',
      selector: envoySelector(instance),
      ...(type === 'LoadBalancer' && address !== undefined && { loadBalancerIP: address }),
      ports: gateway
        ? gateway.ports.map((port) => ({ ...port, protocol: 'TCP' }))
        : [
            { name: 'http', port: 80, targetPort: http.port, protocol: 'TCP' },
            { name: 'https', port: 443, targetPort: https.port, protocol: 'TCP' },
          ],
    },
  };
}
