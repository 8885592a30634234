// EndpointSlices as they are written here: in one canonical form, whatever order the remote side lists things in.
import type { Endpoint, EndpointPort, EndpointSlice } from '@capstan/kube/cluster';
import { GROUP } from '../../kinds/group.ts';
import { sliceName } from '../names/discovered-name.ts';
import { addressProblem } from './address.ts';
import { type Labels, mirroredMetadata, type Origin } from './metadata.ts';

/** Who writes and removes our slices, for the other writers of slices. */
export const MANAGED_BY = `discoverer.${GROUP}`;

export interface SliceParts {
  readonly origin: Origin;
  readonly namespace: string;
  /** The name of the Service here. */
  readonly service: string;
  /** Which part of the service's endpoints this is: the name follows from it. */
  readonly part: string;
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  readonly labels?: Labels | undefined;
  /** Beside those that every slice has. */
  readonly more?: Labels | undefined;
}

export function buildSlice(parts: SliceParts): EndpointSlice {
  const { labels, annotations } = mirroredMetadata(
    parts.origin,
    { labels: parts.labels },
    {
      ...parts.more,
      'kubernetes.io/service-name': parts.service,
      'endpointslice.kubernetes.io/managed-by': MANAGED_BY,
    },
  );
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: parts.namespace, name: sliceName(parts.service, parts.part), labels, annotations },
    addressType: parts.addressType,
    ports: parts.ports.map(canonicalPort).toSorted(byPort),
    endpoints: parts.endpoints.map(canonicalEndpoint).toSorted(byAddress),
  };
}

/** Returns the copied fields of a port, with defaults written out. */
function canonicalPort({ name, port, protocol, appProtocol }: EndpointPort): EndpointPort {
  return {
    name: name ?? '',
    protocol: protocol ?? 'TCP',
    ...(port !== undefined && { port }),
    ...(appProtocol !== undefined && { appProtocol }),
  };
}

/** Returns the copied fields of an endpoint. Hints are the remote side's own business. */
function canonicalEndpoint(endpoint: Endpoint): Endpoint {
  const { addresses, conditions, hostname, nodeName, zone, targetRef } = endpoint;
  const { ready, serving, terminating } = conditions ?? {};
  return {
    addresses: [...addresses],
    conditions: {
      ...(typeof ready === 'boolean' && { ready }),
      ...(typeof serving === 'boolean' && { serving }),
      ...(typeof terminating === 'boolean' && { terminating }),
    },
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
    ...(targetRef !== undefined && { targetRef: canonicalTarget(targetRef) }),
  };
}

function canonicalTarget({ kind, namespace, name, uid }: NonNullable<Endpoint['targetRef']>): Endpoint['targetRef'] {
  return {
    ...(kind !== undefined && { kind }),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(uid !== undefined && { uid }),
  };
}

const portKey = ({ name, protocol, port }: EndpointPort) => `${name}/${protocol}/${String(port).padStart(5, '0')}`;
const byPort = (a: EndpointPort, b: EndpointPort) => compare(portKey(a), portKey(b));
const endpointKey = ({ addresses, targetRef, hostname }: Endpoint) =>
  `${addresses.join()}/${targetRef?.name ?? ''}/${hostname ?? ''}`;
const byAddress = (a: Endpoint, b: Endpoint) => compare(endpointKey(a), endpointKey(b));

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export interface Checked {
  readonly usable: readonly Endpoint[];
  /** Addresses that cannot be used, with the reason. */
  readonly refused: readonly { readonly address: string; readonly why: string }[];
}

/** Endpoints whose every address may stand in a slice here, and the addresses that may not. */
export function checkEndpoints(endpoints: readonly Endpoint[]): Checked {
  const refused: { address: string; why: string }[] = [];
  const usable = endpoints.filter(({ addresses }) => {
    const problems = addresses.flatMap((address) => {
      const why = addressProblem(address);
      return why === undefined ? [] : [{ address, why }];
    });
    refused.push(...problems);
    return problems.length === 0 && addresses.length > 0;
  });
  return { usable: refused.length === 0 && usable.length === endpoints.length ? endpoints : usable, refused };
}
