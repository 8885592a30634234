import type { Messages } from './gen/types.ts';
import type { MessageName } from './message-types.ts';
import { TYPE_URL_PREFIX } from './tables.ts';

/** The short names by which the discovery services are known. */
export type ResourceType = 'cds' | 'eds' | 'lds' | 'rds' | 'vhds' | 'sds' | 'rtds';

/** The message of each type, in the order in which changes are sent: references before the resources that use them. */
export const RESOURCE_MESSAGES = {
  rtds: 'envoy.service.runtime.v3.Runtime',
  sds: 'envoy.extensions.transport_sockets.tls.v3.Secret',
  cds: 'envoy.config.cluster.v3.Cluster',
  eds: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  lds: 'envoy.config.listener.v3.Listener',
  rds: 'envoy.config.route.v3.RouteConfiguration',
  vhds: 'envoy.config.route.v3.VirtualHost',
} as const satisfies Readonly<Record<ResourceType, MessageName>>;

/** The message of a resource of this type. */
export type ResourceMessage<Type extends ResourceType = ResourceType> = Messages[(typeof RESOURCE_MESSAGES)[Type]];

export const RESOURCE_TYPES = Object.keys(RESOURCE_MESSAGES) as ResourceType[];

export function typeUrl(type: ResourceType): string {
  return TYPE_URL_PREFIX + RESOURCE_MESSAGES[type];
}

const byUrl = new Map(RESOURCE_TYPES.map((type) => [typeUrl(type), type]));

export function typeOfUrl(url: string): ResourceType | undefined {
  return byUrl.get(url);
}
