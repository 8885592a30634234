import type { Service } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { envoySelector, type Instance, metadataOf, names, publishingOf, sesameSelector } from './instance.ts';

/** The Service from which Envoy gets its configuration. */
export function sesameService(instance: Instance): ChildObject<Service> {
  const { port } = instance.configuration.xdsServer;
  return {
    metadata: metadataOf(instance, names.sesame(instance)),
    spec: {
      type: 'ClusterIP',
      selector: sesameSelector(instance),
      ports: [{ name: 'xds', port, targetPort: 'xds', protocol: 'TCP' }],
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
  const { gateway } = instance;
  const metadata = metadataOf(instance, names.envoy(instance));
  const [address] = gateway?.addresses ?? [];
  return {
    metadata: {
      ...metadata,
      // Annotations of others are kept: a cloud's controller has annotations of its own.
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
            // By name: while pods are replaced, each is reached at the port that it declares.
            { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' },
            { name: 'https', port: 443, targetPort: 'https', protocol: 'TCP' },
            ...(instance.configuration.envoy.http3.enabled
              ? [{ name: 'http3', port: 443, targetPort: 'http3', protocol: 'UDP' }]
              : []),
          ],
    },
  };
}
