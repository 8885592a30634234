// The way in which a client fetches references, which is a part of the messages that have them.
import type { ConfigSource } from './gen/types.ts';

/**
 * The way in which a client fetches the references of a resource (routes, endpoints, secrets): over streams of their own, state of the
 * world or delta, or over the aggregated stream. The same resource is encoded differently for each.
 */
export type Delivery = 'grpc' | 'delta' | 'ads';

/** Stands for the ConfigSource of the delivery that a resource is encoded for. */
// Its only field is not one of the message: the encoder compares by identity.
export const CONFIG_SOURCE = Object.freeze({ '@source': true }) as ConfigSource;

/** A decoded message, to be encoded for another delivery: its sources are those of whatever delivery it is encoded for. */
export function withoutDelivery<Message extends object>(message: Message): Message {
  return withoutSources(message) as Message;
}

function withoutSources(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(withoutSources);
  if (isOurSource(value)) return CONFIG_SOURCE;
  return Object.fromEntries(Object.entries(value).map(([name, content]) => [name, withoutSources(content)]));
}

function isOurSource({ ads, resource_api_version: version, api_config_source: api }: ConfigSource): boolean {
  if (version === undefined) return false;
  return ads !== undefined || api?.grpc_services?.[0]?.envoy_grpc?.cluster_name === XDS_CLUSTER;
}

/** Name of the cluster in Envoy's bootstrap through which it reaches us. */
export const XDS_CLUSTER = 'sesame';
