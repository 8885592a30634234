// Endpoints, for the one that still reads them (`--write-endpoints`). They carry the label that keeps the cluster from making
// slices out of them: ours are there already.
import type { EndpointAddress, EndpointSlice, EndpointSubset, Endpoints } from '@capstan/kube/cluster';
import { type Labels, mirroredMetadata, type Origin } from './metadata.ts';
import { compare } from './slice.ts';

export interface EndpointsParts {
  readonly origin: Origin;
  readonly namespace: string;
  readonly name: string;
  readonly slices: readonly EndpointSlice[];
  readonly labels?: Labels | undefined;
  readonly annotations?: Labels | undefined;
}

export interface BuiltEndpoints {
  readonly endpoints: Endpoints;
  /** Addresses that were left out: an Endpoints object has at most 1000, as those that Kubernetes makes. */
  readonly leftOut: number;
}

export function buildEndpoints(parts: EndpointsParts): BuiltEndpoints {
  const { labels, annotations } = mirroredMetadata(parts.origin, parts, {
    'endpointslice.kubernetes.io/skip-mirror': 'true',
  });
  const groups = new Map<
    string,
    { ports: EndpointSubset['ports']; ready: EndpointAddress[]; waiting: EndpointAddress[] }
  >();
  let room = MAX_ADDRESSES;
  let leftOut = 0;
  for (const slice of parts.slices) {
    const [ports, endpoints] = [slice.ports ?? [], slice.endpoints ?? []];
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports: subsetPorts(ports), ready: [], waiting: [] };
    groups.set(key, group);
    for (const { addresses, conditions, hostname, nodeName, targetRef } of endpoints) {
      for (const ip of addresses) {
        if (room === 0) {
          leftOut++;
          continue;
        }
        room--;
        const address = {
          ip,
          ...(hostname !== undefined && { hostname }),
          ...(nodeName !== undefined && { nodeName }),
          ...(targetRef !== undefined && { targetRef }),
        };
        (conditions?.ready === false ? group.waiting : group.ready).push(address);
      }
    }
  }
  const subsets = [...groups.entries()]
    .toSorted(([a], [b]) => compare(a, b))
    .map(([, { ports, ready, waiting }]) => ({
      ...(ready.length > 0 && { addresses: ready.toSorted(byIp) }),
      ...(waiting.length > 0 && { notReadyAddresses: waiting.toSorted(byIp) }),
      ...(ports !== undefined && ports.length > 0 && { ports }),
    }))
    .filter(({ addresses, notReadyAddresses }) => addresses !== undefined || notReadyAddresses !== undefined);
  return {
    endpoints: {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { namespace: parts.namespace, name: parts.name, labels, annotations },
      subsets,
    },
    leftOut,
  };
}

const byIp = (a: EndpointAddress, b: EndpointAddress) =>
  compare(`${a.ip}/${a.targetRef?.name}`, `${b.ip}/${b.targetRef?.name}`);

function subsetPorts(ports: NonNullable<EndpointSlice['ports']>): EndpointSubset['ports'] {
  return ports.flatMap(({ name = '', port, protocol = 'TCP', appProtocol }) =>
    port === undefined
      ? []
      : [{ ...(name !== '' && { name }), port, protocol, ...(appProtocol !== undefined && { appProtocol }) }],
  );
}

const MAX_ADDRESSES = 1000;
