// The ingress half of Sesame: from routes to Envoy.
export { ExtensionService } from '../kinds/extension-service.ts';
export { HTTPProxy } from '../kinds/http-proxy.ts';
export { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
export { httpProxyStatus } from '../reconcilers/http-proxy-status.ts';
export { testSettings } from '../routing/default-settings.ts';
export type { RoutingSettings } from '../routing/settings.ts';
export { connectXds, type XdsClient, type XdsResponse, type XdsServer, type XdsStream } from '../xds/index.ts';
export { type IngressComponents, type IngressPartsOptions, ingressComponents } from './ingress-components.ts';
export { type RouteGraph, routeGraph } from './pieces.ts';
export { type XdsSinkOptions, xdsSink } from './xds-sink.ts';
