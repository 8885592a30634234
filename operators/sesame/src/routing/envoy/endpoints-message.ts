// From a set of endpoints to Envoy's assignment.
import type { Envoy } from '../../envoy/index.ts';
import type { Endpoint, EndpointGroup, EndpointSet } from '../../model/endpoints.ts';
import { createResource, type Resource } from '../../xds/index.ts';
import { originTexts } from './cluster-message.ts';

export function endpointsMessage({ name, groups }: EndpointSet): Envoy.ClusterLoadAssignment {
  return { cluster_name: name, endpoints: groups.length > 0 ? groups.map(groupMessage) : undefined };
}

export function endpointsResource(set: EndpointSet): Resource {
  const { name, origin } = set;
  return createResource({ type: 'eds', name, value: endpointsMessage(set), origins: originTexts([origin]) });
}

function groupMessage({ zone, weight, endpoints }: EndpointGroup): Envoy.LocalityLbEndpoints {
  return {
    locality: zone === undefined ? undefined : { sub_zone: zone },
    lb_endpoints: endpoints.map(endpointMessage),
    load_balancing_weight: weight,
  };
}

function endpointMessage({ address, port }: Endpoint): Envoy.LbEndpoint {
  return { endpoint: { address: { socket_address: { address, port_value: port } } } };
}
