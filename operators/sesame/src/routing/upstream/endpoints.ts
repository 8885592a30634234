// EndpointSlices of a Service to one assignment a port.
import { interned } from '@capstan/kube';
import type { Envoy } from '../../envoy/index.ts';
import { createResource, type Resource } from '../../xds/index.ts';
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

/** A projection: what else is in a slice (node names, zones, hints) changes nothing. */
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

/** One for each port of the Service, empty where there are no endpoints: a cluster would wait for them otherwise. */
export function endpointResources(
  service: { namespace: string; name: string },
  portNames: readonly string[],
  slices: readonly SliceView[],
): Resource[] {
  return portNames.map((portName) => {
    const name = endpointsName(service, portName);
    const endpoints = new Map<string, Envoy.LbEndpoint>();
    for (const slice of slices) {
      const port = slice.ports.find((each) => each.name === portName && each.protocol === 'TCP')?.port;
      if (port === undefined) continue;
      for (const address of slice.addresses)
        endpoints.set(`${address} ${port}`, {
          endpoint: { address: { socket_address: { address, port_value: port } } },
        });
    }
    const sorted = [...endpoints].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, endpoint]) => endpoint);
    return createResource({
      type: 'eds',
      name,
      value: {
        cluster_name: name,
        endpoints: sorted.length > 0 ? [{ lb_endpoints: sorted, load_balancing_weight: 1 }] : undefined,
      },
      origins: [interned(`Service ${service.namespace}/${service.name}`)],
    });
  });
}
