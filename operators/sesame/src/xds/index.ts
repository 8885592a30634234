export type { DiscoveryMethod } from './discovery-stream.ts';
export { SocketErrors } from './grpc/errors.ts';
export type { CertificateFiles } from './grpc/server-certificates.ts';
export { REFUSAL_REASONS, XDS_LIMITS, type XdsLimits } from './limits.ts';
export { BIND_VARIABLE, boundAddress, placeMetadata } from './listener-place.ts';
export type { Refused, Rejection } from './refusals/client-refusals.ts';
export { PART_MARKER, PART_MARKER_CONFIG } from './refusals/isolation.ts';
export { type RefusedResource, RefusedResources } from './refusals/refused-resources.ts';
export {
  createResource,
  type EncodedContent,
  encodedResource,
  isSameResource,
  type Resource,
  type ResourceContent,
  type ResourceKey,
  resourceKey,
  type Shape,
} from './resource.ts';
export { createResourceStore, type ResourceChange, type ResourceStore } from './resource-store.ts';
export {
  connectXds,
  type ReceivedResource,
  type XdsClient,
  type XdsRequest,
  type XdsResponse,
  type XdsStream,
} from './xds-client.ts';
export type { NodeReport } from './xds-node.ts';
export { startXdsServer, type XdsServer, type XdsServerOptions, type XdsStatistics } from './xds-server.ts';
