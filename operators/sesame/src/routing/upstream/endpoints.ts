// EndpointSlices of a Service to one set of endpoints a port.
import type { Endpoint, EndpointSet } from '../../model/endpoints.ts';
import { endpointsName } from './upstream.ts';

export interface SliceView {
  readonly ports: readonly { readonly name: string; readonly port: number | undefined; readonly protocol: string }[];
  readonly addresses: readonly string[];
}

interface SliceObject {
  readonly addressType?: string | undefined;
  readonly ports?:
    | readonly {
        readonly name?: string | undefined;
        readonly port?: number | undefined;
        readonly protocol?: string | undefined;
      }[]
    | null
    | undefined;
  readonly endpoints?:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: { readonly ready?: boolean | undefined } | undefined;
      }[]
    | null
    | undefined;
}

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** A projection: other fields of a slice (node names, zones, hints) change nothing. */
export function sliceView({ addressType, ports, endpoints }: SliceObject): SliceView {
  return {
    ports: (ports ?? []).map(({ name = '', port, protocol = 'TCP' }) => ({ name, port, protocol })),
    addresses:
      addressType === 'FQDN'
        ? []
        : (endpoints ?? [])
            .filter(({ conditions }) => conditions?.ready !== false)
            .flatMap(({ addresses }) => addresses.slice(0, 1)),
  };
}

/** The endpoints of one port of a Service, in order, each once. */
export function readyEndpoints(portName: string, slices: readonly SliceView[]): Endpoint[] {
  const endpoints = new Map<string, Endpoint>();
  for (const slice of slices) {
    const port = slice.ports.find((each) => each.name === portName && each.protocol === 'TCP')?.port;
    if (port === undefined) continue;
    for (const address of slice.addresses) endpoints.set(`${address} ${port}`, { address, port });
  }
  return [...endpoints].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, endpoint]) => endpoint);
}

/** One for each port of the Service, empty where there are no endpoints: a cluster would wait for them otherwise. */
export function endpointSets(
  service: { namespace: string; name: string },
  portNames: readonly string[],
  slices: readonly SliceView[],
): EndpointSet[] {
  const origin = { kind: 'Service', ...service, path: 'spec.ports' };
  return portNames.map((portName) => {
    const endpoints = readyEndpoints(portName, slices);
    return {
      name: endpointsName(service, portName),
      groups: endpoints.length > 0 ? [{ weight: 1, endpoints }] : [],
      origin,
    };
  });
}
