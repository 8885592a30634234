// The leaf of a KafkaProxyIngress: the settings that it adds to a cluster's gateway. The hash does not cover annotations for Services.
import { derivation } from '@capstan/reconcile';
import { SNI_PORT } from '../configuration/schema.ts';
import { validateHostNames } from '../configuration/validate.ts';
import { KafkaProxy, KafkaProxyIngress, OpenShiftRoute } from '../kinds/index.ts';
import { notFound, type Problem, problem } from '../resolution/problem.ts';
import { LOAD_BALANCER_PORT } from './cluster-fragment.ts';
import { exists, refOfKey, specOf } from './keys.ts';

export type IngressWay =
  | { readonly type: 'ClusterIP'; readonly protocol: 'TCP'; readonly bootstrapPort?: number }
  | { readonly type: 'ClusterIP'; readonly protocol: 'TLS' }
  | {
      readonly type: 'LoadBalancer';
      readonly protocol: 'TLS';
      readonly bootstrapAddress: string;
      readonly brokerAddress: string;
    }
  | { readonly type: 'Route'; readonly protocol: 'TLS' };

export interface IngressNode {
  readonly problems: readonly Problem[];
  readonly proxy: string;
  readonly way: IngressWay;
  readonly hash: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Returns the part of an ingress on which a cluster's configuration depends. */
export const ingressPartOf = (node: IngressNode | undefined) =>
  node && { problems: node.problems, proxy: node.proxy, way: node.way, hash: node.hash };
export const ingressWayOf = (node: IngressNode | undefined) => node?.way;
export const ingressAnnotationsOf = (node: IngressNode | undefined) => node?.annotations;

/** Undefined if the ingress does not exist. */
export const ingressNode = derivation<IngressNode | undefined>({
  name: 'KafkaProxyIngress',
  compute({ key, read, digest }) {
    const { namespace, name } = refOfKey(key);
    const spec = specOf(read, KafkaProxyIngress, { namespace, name });
    if (spec === undefined) return undefined;
    const problems: Problem[] = [];
    const proxy = { namespace, name: spec.proxyRef.name };
    if (read.get(KafkaProxy, proxy, exists) === undefined) {
      const missing = notFound('spec.proxyRef', 'KafkaProxy', proxy);
      problems.push(missing, { ...missing, about: 'Accepted', reason: 'Invalid' });
    }
    const way = wayOf(spec);
    if (way.type === 'LoadBalancer') problems.push(...addressProblems(way));
    const access = way.type === 'Route' ? read.access(OpenShiftRoute) : 'served';
    if (access !== 'served')
      problems.push(
        problem(
          'RequestedResourceKindNotSupported',
          'spec.openShiftRoute',
          access === 'forbidden'
            ? 'this operator may not read Routes of route.openshift.io; give it that right or use spec.loadBalancer'
            : 'this cluster has no Routes (route.openshift.io), which come with OpenShift; use spec.loadBalancer',
          'Accepted',
        ),
      );
    const annotations = spec.infrastructure?.annotations ?? {};
    return { problems, proxy: spec.proxyRef.name, way, hash: digest(spec.proxyRef.name, way), annotations };
  },
});

/** Reports faulty addresses on the ingress itself, not on every cluster that uses it. */
function addressProblems({
  bootstrapAddress,
  brokerAddress,
}: Extract<IngressWay, { type: 'LoadBalancer' }>): Problem[] {
  const hosts = {
    bootstrapAddress: `${bootstrapAddress}:${SNI_PORT}`,
    advertisedBrokerAddressPattern: `${brokerAddress}:${LOAD_BALANCER_PORT}`,
  };
  return validateHostNames(hosts, 'spec.loadBalancer').map(({ path, problem: wrong }) =>
    problem('Invalid', path, `with its port ${wrong}; write a host name that a certificate can hold`, 'Accepted'),
  );
}

function wayOf({ clusterIP, loadBalancer }: KafkaProxyIngress['spec']): IngressWay {
  if (clusterIP?.protocol === 'TLS') return { type: 'ClusterIP', protocol: 'TLS' };
  if (clusterIP !== undefined)
    return {
      type: 'ClusterIP',
      protocol: 'TCP',
      ...(clusterIP.bootstrapPort === undefined ? {} : { bootstrapPort: clusterIP.bootstrapPort }),
    };
  if (loadBalancer !== undefined)
    return {
      type: 'LoadBalancer',
      protocol: 'TLS',
      bootstrapAddress: loadBalancer.bootstrapAddress,
      brokerAddress: loadBalancer.advertisedBrokerAddressPattern,
    };
  return { type: 'Route', protocol: 'TLS' };
}
