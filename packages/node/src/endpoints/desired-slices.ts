// The desired EndpointSlices, built from the present ones: endpoints stay in their slice, new ones fill slices with room, and only the rest
// needs a new slice. So one pod's change is one slice's change.
import {
  canonicalJson,
  type Endpoint,
  type EndpointPort,
  type EndpointSlice,
  equal,
  type Service,
} from '@capstan/kube';
import { controllerReference } from '../controller/ownership.ts';
import { type Backend, isHeadless, portsOn } from './service-pods.ts';

export const SERVICE_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const MANAGER = 'endpointslice-controller.k8s.io';
const HEADLESS_LABEL = 'service.kubernetes.io/headless';
const MAX_ENDPOINTS = 100;

export interface SliceChanges {
  create: EndpointSlice[];
  update: EndpointSlice[];
  remove: EndpointSlice[];
}

export function sliceChanges(
  service: Service,
  backends: readonly Backend[],
  existing: readonly EndpointSlice[],
): SliceChanges {
  const changes: SliceChanges = { create: [], update: [], remove: [] };
  const groups = groupByPorts(service, backends);
  for (const slice of existing) {
    const isWanted = slice.addressType === 'IPv4' && groups.has(canonicalJson(slice.ports ?? []));
    if (!isWanted) changes.remove.push(slice);
  }
  for (const [id, { ports, endpoints }] of groups) {
    const slices = existing.filter((slice) => slice.addressType === 'IPv4' && canonicalJson(slice.ports ?? []) === id);
    fill(service, ports, endpoints, slices, changes);
  }
  return changes;
}

interface Group {
  ports: EndpointPort[];
  endpoints: Map<string, Endpoint>;
}

/** Pods of one Service may serve a named port on different numbers. A Service without pods has one group too. */
function groupByPorts(service: Service, backends: readonly Backend[]): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const backend of backends) {
    const ports = portsOn(service, backend.pod);
    const id = canonicalJson(ports);
    const group = groups.get(id) ?? { ports, endpoints: new Map<string, Endpoint>() };
    group.endpoints.set(backend.pod.metadata.uid ?? '', endpointOf(service, backend));
    groups.set(id, group);
  }
  if (groups.size === 0) groups.set(canonicalJson([]), { ports: [], endpoints: new Map() });
  return groups;
}

function fill(
  service: Service,
  ports: EndpointPort[],
  endpoints: ReadonlyMap<string, Endpoint>,
  slices: readonly EndpointSlice[],
  changes: SliceChanges,
): void {
  const left = new Map(endpoints);
  const kept = slices.map((slice) => ({
    slice,
    endpoints: (slice.endpoints ?? []).flatMap((endpoint) => {
      const uid = endpoint.targetRef?.uid ?? '';
      const current = left.get(uid);
      left.delete(uid);
      return current === undefined ? [] : [current];
    }),
  }));
  const rest = [...left.values()];
  // The fullest first: the emptiest may then go altogether.
  for (const one of kept.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    one.endpoints.push(...rest.splice(0, MAX_ENDPOINTS - one.endpoints.length));
  }
  let isEmpty = rest.length === 0 && kept.every((one) => one.endpoints.length === 0);
  for (const one of kept) {
    if (one.endpoints.length === 0 && !isEmpty) {
      changes.remove.push(one.slice);
      continue;
    }
    // One empty slice stays: it shows that the controller has evaluated the Service.
    isEmpty = one.endpoints.length > 0 ? isEmpty : false;
    const next = { ...one.slice, ...bodyOf(service, one.slice, ports, one.endpoints) };
    if (!equal(next, one.slice)) changes.update.push(next);
  }
  while (rest.length > 0 || (isEmpty && kept.length === 0)) {
    changes.create.push(newSlice(service, ports, rest.splice(0, MAX_ENDPOINTS)));
    isEmpty = false;
  }
}

function newSlice(service: Service, ports: EndpointPort[], endpoints: Endpoint[]): EndpointSlice {
  const { name = '', namespace } = service.metadata;
  const blank: EndpointSlice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${name}-`,
      ...(namespace === undefined ? {} : { namespace }),
      ownerReferences: [controllerReference(service)],
    },
    addressType: 'IPv4',
  };
  return { ...blank, ...bodyOf(service, blank, ports, endpoints) };
}

function bodyOf(service: Service, slice: EndpointSlice, ports: EndpointPort[], endpoints: Endpoint[]) {
  const labels: Record<string, string> = {
    ...service.metadata.labels,
    [SERVICE_LABEL]: service.metadata.name ?? '',
    [MANAGED_BY_LABEL]: MANAGER,
    ...(isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {}),
  };
  return { metadata: { ...slice.metadata, labels }, ports, endpoints };
}

function endpointOf(service: Service, { pod, address, ...conditions }: Backend): Endpoint {
  const { name, namespace, uid } = pod.metadata;
  const isNamed = pod.spec?.hostname !== undefined && pod.spec.subdomain === service.metadata.name;
  return {
    addresses: [address],
    conditions: {
      ready: conditions.isReady,
      serving: conditions.isServing,
      terminating: conditions.isTerminating,
    },
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
