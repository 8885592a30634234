// Gateway API: Gateways and their routes to Envoy, and their statuses.
export { SUPPORTED_FEATURES } from './api/features.ts';
export {
  type BackendTLSPolicy,
  type Gateway,
  type GatewayClass,
  type GatewayKinds,
  type GRPCRoute,
  gatewayKinds,
  type HTTPRoute,
  type ReferenceGrant,
  type TCPRoute,
  type TLSRoute,
} from './api/objects.ts';
export type { Placement } from './envoy/port-listener.ts';
export { type GatewayComponents, type GatewayPartsOptions, gatewayComponents } from './graph/gateway-components.ts';
export type { Publication } from './reconcilers/gateway-status.ts';
