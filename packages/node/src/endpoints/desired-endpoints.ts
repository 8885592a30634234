// The older form of endpoints: one object a Service, its addresses grouped by the ports they serve.
import { canonicalJson, type EndpointAddress, type EndpointSubset, type Endpoints, type Service } from '@capstan/kube';
import { type Backend, isHeadless, portsOn } from './service-pods.ts';

const MAX_ADDRESSES = 1000;

/** The Endpoints object as it should be; metadata that others put there is kept. */
export function desiredEndpoints(
  service: Service,
  backends: readonly Backend[],
  existing: Endpoints | undefined,
): Endpoints {
  const { name = '', namespace, labels } = service.metadata;
  const subsets = subsetsOf(service, backends);
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...(existing?.metadata ?? { name, ...(namespace === undefined ? {} : { namespace }) }),
      labels: {
        ...labels,
        'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
        ...(isHeadless(service) ? { 'service.kubernetes.io/headless': '' } : {}),
      },
    },
    ...(subsets.length > 0 ? { subsets } : {}),
  };
}

function subsetsOf(service: Service, backends: readonly Backend[]): EndpointSubset[] {
  const groups = new Map<string, EndpointSubset>();
  const publishesAll = service.spec?.publishNotReadyAddresses === true;
  for (const backend of backends.slice(0, MAX_ADDRESSES)) {
    if (backend.isTerminating && !publishesAll) continue;
    const ports = portsOn(service, backend.pod).map(({ name, ...rest }) => ({
      ...(name ? { name } : {}),
      port: rest.port ?? 0,
      ...(rest.protocol === undefined ? {} : { protocol: rest.protocol }),
      ...(rest.appProtocol === undefined ? {} : { appProtocol: rest.appProtocol }),
    }));
    if (ports.length === 0 && !isHeadless(service)) continue;
    const id = canonicalJson(ports);
    const group = groups.get(id) ?? (ports.length > 0 ? { ports } : {});
    const place = backend.isReady ? 'addresses' : 'notReadyAddresses';
    group[place] = [...(group[place] ?? []), addressOf(service, backend)];
    groups.set(id, group);
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, subset]) => subset);
}

function addressOf(service: Service, { pod, address }: Backend): EndpointAddress {
  const { name, namespace, uid } = pod.metadata;
  const isNamed = pod.spec?.hostname !== undefined && pod.spec.subdomain === service.metadata.name;
  return {
    ip: address,
    ...(isNamed ? { hostname: pod.spec?.hostname ?? '' } : {}),
    ...(pod.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
    targetRef: {
      kind: 'Pod',
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
    },
  };
}
